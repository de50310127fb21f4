"""Safetensors files of gemsnn: arrays, and a JSON header with a format version and a checksum over everything.

The header is the value of the key ``gemsnn`` in the file's metadata:

    {"format": "gemsnn model, version 1", "version": 1, "sha256": "...", ...}

The checksum covers the header without it, and each array's name, dtype, shape and bytes in order of name. Reading
never runs code from the file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from gemsnn.common.files import read_regular, write_whole
from gemsnn.common.words import shown
from gemsnn.errors import CheckpointError

KEY = "gemsnn"


class DamagedFileError(CheckpointError):
    """The file's bytes are not what was written."""


def write_tensors(
    path: Path, file_format: str, version: int, header: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]]
) -> None:
    """Write arrays and a JSON header, atomically."""
    arrays = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    # The version is written twice, so that a flipped bit is not mistaken for a newer version. There is one entry in the
    # metadata because safetensors writes several in random order, and equal content must give equal bytes.
    full = {"format": f"{file_format}, version {version}", "version": version, **header}
    full["sha256"] = _checksum(full, arrays)
    write_whole(path, save(arrays, {KEY: json.dumps(full, allow_nan=False)}))


def read_tensors(path: Path, file_format: str, version: int) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Header and arrays of a file of this format and at most this version; their content is not validated."""
    try:
        content = read_regular(path)
    except FileNotFoundError:
        raise CheckpointError(f"{path}: there is no such file") from None
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read: {error.strerror or error}") from None
    # From memory: truncating a mapped file while it is read would kill the process.
    try:
        arrays = load(content)
        metadata = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")]).get("__metadata__") or {}
    except (SafetensorError, ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise DamagedFileError(f"{path}: damaged, or not a safetensors file: {error}") from None
    header = _header(path, metadata, file_format, version)
    written = header.pop("sha256")
    try:
        fits = _checksum(header, arrays) == written
    except (ValueError, TypeError, RecursionError):  # NaN, which is never written, or invalid characters
        fits = False
    if not fits:
        raise DamagedFileError(f"{path}: damaged: the content does not fit its checksum")
    return header, arrays


def _header(path: Path, metadata: dict[str, Any], file_format: str, version: int) -> dict[str, Any]:
    """The JSON header, not yet checked against the checksum."""
    if KEY not in metadata:
        raise DamagedFileError(f"{path}: a safetensors file, but not one of ours, or damaged")
    try:
        header: dict[str, Any] = json.loads(metadata[KEY])
        found, found_version, _ = header["format"], header["version"], header["sha256"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise DamagedFileError(f"{path}: damaged: its header cannot be read") from None
    if found != f"{file_format}, version {found_version}":
        raise DamagedFileError(f"{path}: holds a {shown(found)}, where a {file_format!r} should be, or it is damaged")
    if not isinstance(found_version, int) or found_version > version:
        raise CheckpointError(
            f"{path}: {file_format} version {found_version} is from the future: this gemsnn reads up to version "
            f"{version}; install a newer gemsnn"
        )
    return header


def _checksum(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256(json.dumps(header, sort_keys=True, allow_nan=False).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        digest.update(array.data if array.size else b"")
    return digest.hexdigest()

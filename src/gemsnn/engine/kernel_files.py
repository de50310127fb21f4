"""Compiled kernels on disk: each in a file of its own, whose name says what it was compiled from.

Numba numbers its files and keeps the numbers in an index. Processes that compile at the same time read the index before
the others have written it, and give one number to two kernels: the one for double precision can then be found where the
one for single precision should be. And Numba asks only whether the kernel's own source file is as it was, but a kernel
contains the functions of other files that it calls: after an upgrade it could be one of the old version.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from numba import __version__ as numba_version
from numba.core.caching import FunctionCache
from numba.core.serialize import dumps

from gemsnn.common.files import read_regular, write_whole
from gemsnn.errors import WriteError


class KernelFiles(FunctionCache):
    """Where Numba keeps what it compiles of one function; RuntimeError if there is no folder that it can write to."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        made_of = (numba_version, self._impl.locator.get_source_stamp(), all_sources())
        self._cache_file: Any = _Files(Path(self._cache_path) / self._impl.filename_base, made_of)


class _Files:
    """Takes the place of Numba's index and numbered files."""

    def __init__(self, base: Path, made_of: tuple[Any, ...]) -> None:
        self._base = base
        self._made_of = made_of

    def save(self, key: Any, compiled: Any) -> None:
        with suppress(WriteError):  # a full disk: it will be compiled again
            write_whole(self._path(key), dumps((self._made_of, key, compiled)))  # type: ignore[no-untyped-call]

    def load(self, key: Any) -> Any:
        """None if there is none, or if the file is not what its name says."""
        try:
            made_of, found, compiled = pickle.loads(read_regular(self._path(key)))
        except Exception:  # whatever became of a file: it will be compiled again
            return None
        return compiled if made_of == self._made_of and found == key else None

    def flush(self) -> None:
        for path in self._base.parent.glob(f"{self._base.name}-*.nbc"):
            path.unlink(missing_ok=True)

    def _path(self, key: Any) -> Path:
        name = sha256(repr((self._made_of, key)).encode()).hexdigest()[:16]
        return self._base.with_name(f"{self._base.name}-{name}.nbc")


@lru_cache(maxsize=1)
def all_sources() -> str:
    """What all files contain from which kernels are made."""
    files = sorted(path for folder in ("engine", "rules") for path in Path(__file__).parents[1].glob(f"{folder}/*.py"))
    return sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:16]

"""Compiled kernels on disk: each in a file of its own in the user's cache folder, loaded only if its signature is ours.

The folder is ``gemsnn`` in ``NUMBA_CACHE_DIR``, if that is set, or else in ``XDG_CACHE_HOME``, or else in ``~/.cache``.
A kernel is machine code in a pickle: whoever can change one can run any code, and a flipped bit makes results wrong.
So the folder and each file must belong to the user and be writable by nobody else, and each file begins with a
signature of its content and of all that it was compiled from, made with a secret that is stored beside it. A file whose
signature does not match is not loaded; the kernel is recompiled. Without such a folder, kernels are compiled in memory
at every start.

Numba's own files have no checksum. It numbers them in an index; processes that compile at the same time can read the
index before the others have written it, and give the same number to two kernels. And Numba checks only whether the
kernel's own source file has changed, but a kernel contains functions from other files.
"""

from __future__ import annotations

import hmac
import os
import pickle
import secrets
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from hashlib import blake2b, sha256
from inspect import getfile
from pathlib import Path
from typing import Any, NamedTuple

from llvmlite import __version__ as llvmlite_version
from numba import __version__ as numba_version
from numba import config
from numba.core.caching import FunctionCache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from gemsnn.common.files import open_regular, write_whole
from gemsnn.errors import WriteError

LARGEST = 500_000_000
"""Bytes: beyond these, the least recently used kernels are removed."""
_N_SECRET = 32
_N_SIGNATURE = 32


class Folder(NamedTuple):
    """Where kernels are kept."""

    path: Path
    secret: bytes | None
    """Key of the signatures; None where no file can be trusted."""
    problem: str
    """Why kernels cannot be kept; empty if they can."""


class KernelFiles(FunctionCache):
    """Numba's cache of one function; ``also`` distinguishes several of the same name."""

    def __init__(self, function: Callable[..., Any], also: Any = None) -> None:  # instead of Numba's own
        self._py_func = function
        self._also = also

    @property
    def cache_path(self) -> str:
        return str(folder().path)

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """None if there is no file, or if it does not match its name."""
        target_context.refresh()
        kept = self._load(self._index_key(signature, target_context.codegen()))  # type: ignore[no-untyped-call]
        return None if kept is None else CompileResult._rebuild(target_context, *kept)  # type: ignore[no-untyped-call]

    def save_overload(self, signature: Any, compiled: Any) -> None:
        if not (compiled.lifted or compiled.library.has_dynamic_globals):  # those belong to this process only
            self._save(self._index_key(signature, compiled.codegen), compiled._reduce())  # type: ignore[no-untyped-call]

    def flush(self) -> None:
        for path in folder().path.glob(f"{self._title}-*.nbc"):
            path.unlink(missing_ok=True)

    def _load(self, key: Any) -> Any:
        where, made_of = folder(), self._made_of(key)
        if where.secret is None or made_of is None:
            return None
        path = self._path(made_of)
        try:
            content = _read_own(path)
        except FileNotFoundError:
            return None
        except OSError as problem:
            _Warning.show(f"{path}: {problem.strerror}")
            return None
        signature, data = content[:_N_SIGNATURE], content[_N_SIGNATURE:]
        if not hmac.compare_digest(signature, _signature(where.secret, made_of, data)):
            _Warning.show(f"{path}: is damaged")
            return None
        with suppress(OSError):
            os.utime(path)
        found, kept = pickle.loads(data)
        return kept if found == key else None

    def _save(self, key: Any, kept: Any) -> None:
        where, made_of = folder(), self._made_of(key)
        if where.secret is None or where.problem or made_of is None:
            return
        _remove_unused(where.path)
        data = dumps((key, kept))  # type: ignore[no-untyped-call]
        with suppress(WriteError):  # a full disk: it will be compiled again
            write_whole(self._path(made_of), _signature(where.secret, made_of, data) + data, mode=0o600)

    @property
    def _title(self) -> str:
        name = f"{self._py_func.__module__}.{self._py_func.__qualname__}"
        return "".join(c for c in name if c.isalnum() or c in "._")[-150:]

    def _made_of(self, key: Any) -> bytes | None:
        """All that a kernel depends on; None if that is unknown, because the function is not in a file."""
        function = self._py_func
        source = _source(getfile(function))
        if source is None:
            return None
        ours = function.__module__.startswith("gemsnn.")
        where = "" if ours else os.path.abspath(getfile(function))  # one in another place may call other functions
        python = (sys.implementation.cache_tag, sys.abiflags)
        made_of = (numba_version, llvmlite_version, python, self._title, where, source, all_sources(), self._also, key)
        return repr(made_of).encode()

    def _path(self, made_of: bytes) -> Path:
        return folder().path / f"{self._title}-{sha256(made_of).hexdigest()[:32]}.nbc"


def _signature(secret: bytes, made_of: bytes, data: bytes) -> bytes:
    """Signature of a file's content and of what it was compiled from."""
    name = sha256(made_of).digest()  # of a fixed length, so that the boundary between the two parts is unambiguous
    return blake2b(name + data, key=secret, digest_size=_N_SIGNATURE).digest()


def folder() -> Folder:
    """The folder of this user's kernels."""
    try:
        home = Path.home()
    except RuntimeError:
        home = None
    xdg = os.environ.get("XDG_CACHE_HOME", "")
    if config.CACHE_DIR:  # type: ignore[attr-defined]
        base = Path(config.CACHE_DIR).absolute()  # type: ignore[attr-defined]
    elif os.path.isabs(xdg):  # the standard says to ignore relative paths
        base = Path(xdg)
    elif home is not None and home.is_absolute():
        base = home / ".cache"
    else:
        return Folder(Path(os.devnull), None, "no home folder is known; set NUMBA_CACHE_DIR to a folder of yours")
    return _prepared(base / "gemsnn")


@lru_cache
def _prepared(path: Path) -> Folder:
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        problem = _foreign(path.stat())
        if problem:
            return Folder(path, None, f"{path} {problem}; set NUMBA_CACHE_DIR to a folder of yours")
        try:
            secret = _read_secret(path / "secret")
        except OSError:
            secret = _write_secret(path / "secret")
        problem = "" if os.access(path, os.W_OK) else f"{path} is not writable"
        return Folder(path, secret, problem)
    except OSError as error:
        return Folder(path, None, f"{path} is not writable ({error.strerror})")


def _foreign(status: os.stat_result) -> str:
    """Why a file or folder cannot be trusted: its owner, or who may write to it; empty if it can."""
    if status.st_uid != os.geteuid():
        return "belongs to someone else"
    return "is writable by others" if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH) else ""


def _read_own(path: Path, readable: bool = True) -> bytes:
    """The content of a file; OSError if others may have written it or, unless ``readable``, may read it."""
    with open_regular(path) as stream:
        status = os.fstat(stream.fileno())
        problem = _foreign(status)
        if not problem and not readable and status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            problem = "is readable by others"
        if problem:
            raise OSError(0, problem)
        return stream.read()


def _read_secret(path: Path) -> bytes:
    secret = _read_own(path, readable=False)
    if len(secret) != _N_SECRET:
        raise OSError(0, "is incomplete")
    return secret


def _write_secret(path: Path) -> bytes:
    """Write a new secret, unless another process has just done so; an invalid one is replaced."""
    mine = path.with_name(f"secret.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        with open(os.open(mine, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as stream:
            stream.write(secrets.token_bytes(_N_SECRET))
        try:
            os.link(mine, path)
        except FileExistsError:
            with suppress(OSError):
                return _read_secret(path)
            os.replace(mine, path)
    finally:
        mine.unlink(missing_ok=True)
    return _read_secret(path)


@lru_cache
def _remove_unused(path: Path) -> None:
    """Once per process: kernels of old sources and versions would stay for ever."""
    with suppress(OSError):
        files = sorted(((file.stat(), file) for file in path.glob("*.nbc")), key=lambda each: -each[0].st_mtime)
        held = 0
        for status, file in files:
            held += status.st_size
            if held > LARGEST:
                file.unlink(missing_ok=True)


class _Warning:
    shown = False

    @classmethod
    def show(cls, problem: str) -> None:
        """Once per process: many files may have the same problem."""
        if not cls.shown:
            cls.shown = True
            print(f"gemsnn: {problem}; this compiled kernel is not used, but compiled anew", file=sys.stderr)


@lru_cache
def _source(file: str) -> str | None:
    """A hash of a file's content."""
    try:
        return sha256(Path(file).read_bytes()).hexdigest()
    except OSError:
        return None


@lru_cache(maxsize=1)
def all_sources() -> str:
    """A hash of all files from which kernels are compiled."""
    files = sorted(
        path
        for room in ("compiling", "rules", "objectives", "engine")
        for path in Path(__file__).parents[1].glob(f"{room}/*.py")
    )
    return sha256(b"".join(path.read_bytes() for path in files)).hexdigest()

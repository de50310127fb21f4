"""Decorators: Numba with a cache on disk, where one can be written, and a message to the user when it compiles."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar, cast

import numpy as np
from numba import config, njit
from numba.core import event

from gemsnn.compiling.kernel_files import KernelFiles, folder

Function = TypeVar("Function", bound=Callable[..., Any])

# A product may be fused with a sum; infinities and NaN keep their meaning. Sums keep their order: otherwise the last
# bit of a result could depend on whether a loop is vectorised, and so on the addresses of the arrays.
FASTMATH = {"contract", "nsz"}

IN_PYTHON: bool = config.DISABLE_JIT  # type: ignore[attr-defined]
"""NUMBA_DISABLE_JIT=1: nothing is compiled, so that a debugger can step through the kernels."""
if IN_PYTHON:  # compiled code does not warn
    np.seterr(over="ignore", divide="ignore", invalid="ignore")


def jit(**options: Any) -> Callable[[Function], Function]:
    """``numba.njit`` without the interpreter's lock, cached on disk if possible."""

    options = {"nogil": True, "no_cfunc_wrapper": True, **options}  # they are not called from C

    def decorate(function: Function) -> Function:
        return cast(Function, kept_on_disk(njit(**options)(function), function))

    return decorate


def kernel(**options: Any) -> Callable[[Function], Function]:
    """:func:`jit` for functions that allocate no arrays and return none.

    The caller holds all arrays, so that references need not be counted while they run. Where steps are small, and each
    uses dozens of arrays, reference counting (an atomic operation each time) took a fifth of a kernel's time or more.
    """
    return jit(_nrt=False, **options)


def part(**options: Any) -> Callable[[Function], Function]:
    """:func:`kernel` for functions that are inlined in one and cannot be called from Python.

    With a hundred arrays as arguments, the wrapper that Python calls takes as long to compile as the function itself.
    """
    return kernel(forceinline=True, no_cpython_wrapper=True, **options)


def inlined(function: Callable[..., Any]) -> Any:
    """Compiled for other compiled functions only, and inlined in them."""
    options: Any = {"forceinline": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return njit(nogil=True, error_model="numpy", **options)(function)


def kept_on_disk(dispatcher: Any, function: Callable[..., Any], also: Any = None) -> Any:
    """The dispatcher, its kernels kept on disk under the function's name if possible; ``also`` tells several apart."""
    if (
        not IN_PYTHON and function.__module__ in sys.modules
    ):  # a function of an interactive session would be kept and not found again
        dispatcher._cache = KernelFiles(function, also)
    return dispatcher


def _is_ours(function: Callable[..., Any]) -> bool:
    return (function.__module__ or "").startswith("gemsnn.")  # a function that exec() made has no module


class _Announcer(event.Listener):
    """Prints once per process, when Numba compiles one of our kernels (not when it loads one from its cache)."""

    announced = False

    def on_start(self, happening: Any) -> None:
        if not self.announced and _is_ours(happening.data["dispatcher"].py_func):
            self.announced = True
            problem = folder().problem
            how_often = f"at every start: {problem}" if problem else "once; the result is kept on disk"
            print(f"gemsnn: compiling the engine for this machine ({how_often})", file=sys.stderr)

    def on_end(self, happening: Any) -> None:
        pass


@lru_cache(maxsize=1)
def announce_compilation() -> None:
    """From now on, compiling a kernel is announced on standard error."""
    event.register("numba:compile", _Announcer())  # type: ignore[no-untyped-call]


announce_compilation()

_timed = event.TimingListener()  # type: ignore[no-untyped-call]
event.register("numba:compile", _timed)  # type: ignore[no-untyped-call]


def seconds_of_compiling() -> float:
    """The time that compiling has taken in this process so far."""
    return float(_timed.duration) if _timed.done else 0.0

"""Compiling: Numba with a cache on disk where one can be written, and a word to the user when it takes a while."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar, cast

from numba import njit
from numba.core import event
from numba.core.ccallback import CFunc

from gemsnn.engine.kernel_files import KernelFiles

Function = TypeVar("Function", bound=Callable[..., Any])

# A product may be fused with the sum that it goes into; infinities and NaN keep their meaning. Sums keep their order:
# else the last bit of a result could depend on whether a loop runs vectorised, and so on where arrays lie in memory.
FASTMATH = {"contract", "nsz"}
# Sums may be reordered, so that they use vector instructions: only for functions that add up and write nothing.
REORDERED = {"reassoc", "contract", "nsz"}


def jit(**options: Any) -> Callable[[Function], Function]:
    """``numba.njit`` without the interpreter's lock, cached on disk if that is possible."""

    options = {"nogil": True, "no_cfunc_wrapper": True, **options}  # nobody calls them from C

    def decorate(function: Function) -> Function:
        return cast(Function, _kept(njit(**options)(function), function))

    return decorate


def kernel(**options: Any) -> Callable[[Function], Function]:
    """:func:`jit` for functions that allocate no arrays and return none.

    Who calls them holds all arrays, so that references need not be counted while they run. Where steps are small, each
    touching dozens of arrays, the counting (an atomic operation each time) took a fifth of a kernel's time or more.
    """
    return jit(_nrt=False, **options)


def part(**options: Any) -> Callable[[Function], Function]:
    """:func:`kernel` for functions that are a part of one, written out in it: Python cannot call them.

    What Python needs to call a function takes as long to compile as the function, where it is given a hundred arrays.
    """
    return kernel(forceinline=True, no_cpython_wrapper=True, **options)


def pointer(signature: Any, function: Callable[..., Any]) -> Any:
    """A function of the given signature that a kernel can be handed as an argument, without being compiled anew.

    Its sums keep their order: what it gives for a neuron may not depend on which neurons a thread has beside it.
    """
    compiled: Any = CFunc(function, (signature.args, signature.return_type), {}, {"error_model": "numpy"})
    _kept(compiled, function).compile()
    return compiled


def _kept(dispatcher: Any, function: Callable[..., Any]) -> Any:
    """With its results kept on disk, if that is possible."""
    if function.__module__ not in sys.modules:  # run from a page or a text: it would be kept and not found again
        return dispatcher
    try:
        dispatcher._cache = KernelFiles(function)
    except RuntimeError:  # Numba finds no folder that it can write to, or the function is not in a file
        _Announcer.kept = _Announcer.kept and not _is_ours(function)
    return dispatcher


def _is_ours(function: Callable[..., Any]) -> bool:
    return (function.__module__ or "").startswith("gemsnn.")  # a function that exec() made has no module


class _Announcer(event.Listener):
    """Speaks once a process, and only when Numba really compiles one of our kernels (not when its cache has it)."""

    announced = False
    kept = True

    def on_start(self, happening: Any) -> None:
        if not self.announced and _is_ours(happening.data["dispatcher"].py_func):
            self.announced = True
            fate = "once; the result is kept on disk" if self.kept else "at every start: no folder for it is writable"
            print(f"gemsnn: compiling the engine for this machine ({fate})", file=sys.stderr)

    def on_end(self, happening: Any) -> None:
        pass


@lru_cache(maxsize=1)
def announce_compilation() -> None:
    """From now on, compiling a kernel is announced on standard error."""
    event.register("numba:compile", _Announcer())  # type: ignore[no-untyped-call]


announce_compilation()

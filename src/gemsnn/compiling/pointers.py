"""Compiled functions that kernels take as arguments, so that a new function needs no new kernel.

Numba accepts compiled functions as arguments, but asks Python for their addresses at each call of a kernel: that takes
twenty microseconds, and a Ctrl-C at that moment becomes a TypeError. A :class:`Pointer` stores its address.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

from numba import config, types
from numba.core import cgutils
from numba.core.ccallback import CFunc
from numba.core.errors import NumbaError
from numba.experimental.function_type import FunctionModel
from numba.extending import NativeValue, register_model, unbox

from gemsnn.compiling.jit import inlined, kept_on_disk
from gemsnn.errors import ConfigError


def pointer(signature: Any, function: Callable[..., Any], made_from: Callable[..., Any], also: Any = None) -> Any:
    """A function of the given signature that can be passed to a kernel without recompiling the kernel.

    Its sums keep their order: the result for a neuron may not depend on the neurons computed with it. It is kept on
    disk under the name of the function that it is ``made_from``, one for each ``also``.
    """
    return function if config.DISABLE_JIT else Pointer(signature, function, made_from, also)  # type: ignore[attr-defined]


class Pointer:
    """A compiled function with a signature, as an argument of kernels."""

    def __init__(self, signature: Any, function: Any, made_from: Any, also: Any) -> None:
        compiled: Any = CFunc(function, (signature.args, signature.return_type), {}, {"error_model": "numpy"})
        try:
            kept_on_disk(compiled, made_from, also).compile()
        except NumbaError as problem:
            raise ConfigError(f"{made_from.__qualname__} cannot be compiled: {problem}") from problem
        self.function = compiled  # has to live as long as its address is used
        self.address: int = compiled.address
        self._numba_type_ = PointerType(signature)


Layout = tuple[tuple[str, str], ...]
"""Name and type of each field of a named tuple of numbers: what a compiled function depends on."""


def layout_of(numbers: Any) -> Layout:
    """The layout of a named tuple of floats, ints and bools."""
    return tuple((name, type(value).__name__) for name, value in numbers._asdict().items())


def unpacking(layout: Layout) -> Any:
    """A compiled function that makes a named tuple of that layout from an array of float64."""
    values = ", ".join(f"{kind}(array[{index}])" for index, (_, kind) in enumerate(layout))
    names: dict[str, Any] = {"Numbers": namedtuple("Numbers", [name for name, _ in layout])}
    exec(f"def unpack(array): return Numbers({values})", names)
    return inlined(names["unpack"])


class PointerType(types.FunctionType):
    """Numba's type of a :class:`Pointer`: called like any function that is an argument."""


register_model(PointerType)(FunctionModel)


@unbox(PointerType)  # type: ignore[no-untyped-call,untyped-decorator]
def _unbox(kind: Any, pointer: Any, compiler: Any) -> Any:
    address = compiler.pyapi.object_getattr_string(pointer, "address")
    nothing = compiler.context.get_constant_null(kind)
    struct: Any = cgutils.create_struct_proxy(kind)  # type: ignore[no-untyped-call]
    function = struct(compiler.context, compiler.builder, value=nothing)
    field = "c_addr" if "c_addr" in compiler.context.data_model_manager[kind]._fields else "addr"  # in older Numba
    setattr(function, field, compiler.pyapi.long_as_voidptr(address))
    compiler.pyapi.decref(address)
    return NativeValue(function._getvalue())  # type: ignore[no-untyped-call]

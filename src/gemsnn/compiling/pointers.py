"""Compiled functions that kernels get as arguments, so that a new function needs no new kernel.

Numba itself takes compiled functions as arguments, but at each call of a kernel it asks Python for their addresses:
that takes twenty microseconds, and Ctrl-C then becomes a TypeError. Ours carry their addresses with them.
"""

from __future__ import annotations

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
    """A function of the given signature that a kernel can be handed as an argument, without being compiled anew.

    Its sums keep their order: what it gives for a neuron may not depend on which neurons a thread has beside it. It is
    kept on disk under the name of the function that it is ``made_from``, one for each ``also``.
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
        self.function = compiled  # to be kept for as long as its address
        self.address: int = compiled.address
        self._numba_type_ = PointerType(signature)


def unpacking(numbers: Any) -> Any:
    """A compiled function that makes a named tuple like the given one of an array of float64."""
    values = ", ".join(f"{type(value).__name__}(array[{index}])" for index, value in enumerate(numbers))
    names = {"Numbers": type(numbers)}
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

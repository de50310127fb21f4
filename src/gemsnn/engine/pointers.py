"""A rule's functions, compiled: kernels get them as arguments, so a new rule needs no new kernel.

Numba itself takes compiled functions as arguments, but at each call of a kernel it asks Python for their addresses:
that takes twenty microseconds, and Ctrl-C then becomes a TypeError. Ours carry their addresses with them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import from_dtype, types
from numba.core import cgutils
from numba.experimental.function_type import FunctionModel
from numba.extending import NativeValue, register_model, unbox

from gemsnn.engine.jit import pointer
from gemsnn.rules import Rule


class Pointer:
    """A compiled function with a signature, as an argument of kernels."""

    def __init__(self, signature: Any, function: Any) -> None:
        self.function = pointer(signature, function)  # to be kept for as long as its address
        self.address: int = self.function.address
        self._numba_type_ = PointerType(signature)


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


class RuleFunctions(NamedTuple):
    """Of one rule and precision; see :class:`gemsnn.rules.Rule`."""

    post: Any
    broadcast: Any
    local: Any


_compiled: dict[tuple[type[Rule], np.dtype[Any]], RuleFunctions] = {}


def rule_functions(rule: type[Rule], dtype: np.dtype[Any]) -> RuleFunctions:
    """A rule's functions for weights of a precision, compiled when first asked for."""
    if (rule, dtype) not in _compiled:
        _compiled[rule, dtype] = _compile(rule, dtype)
    return _compiled[rule, dtype]


def _compile(rule: type[Rule], dtype: np.dtype[Any]) -> RuleFunctions:
    f, f8 = from_dtype(dtype), types.float64
    numbers, table = f8[::1], f[:, ::1]
    return RuleFunctions(
        post=Pointer(types.void(types.boolean[:, ::1], f8[:, ::1], f8[:, ::1]), rule.post),
        broadcast=Pointer(types.void(numbers, numbers, numbers, numbers, numbers, numbers), rule.broadcast),
        local=Pointer(
            types.void(numbers, numbers, table, table, types.boolean[:, ::1], f8[:, ::1], table),
            _nothing if rule.local is None else rule.local,
        ),
    )


def _nothing(settings: Any, hidden: Any, errors: Any, reach: Any, spikes: Any, memory: Any, signals: Any) -> None:
    """In place of ``local`` where a rule has none; never called."""


def rule_numbers(rule: Rule, dtype: np.dtype[Any]) -> dict[str, Any]:
    """The numbers of a rule, as kernels read them."""
    return {
        "learning_rate": dtype.type(rule.learning_rate),
        "gamma": dtype.type(max(rule.gamma, np.finfo(dtype).tiny)),  # above 0 in float32 too
        "kappa": float(rule.kappa),
        "settings": np.array(rule.numbers()),
    }

"""Tuples of tuples of arrays, whose members a loop in a kernel accesses by number.

Numba copies a whole member, a hundred numbers or more, wherever a loop takes one from a tuple, which took a sixth of
the time of small steps. So ``laid_out(members)`` writes a tuple whose members have one type to the stack, once per
call, and ``member(laid_out, number)`` reads from there only what is used.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from gemsnn.compiling.instructions import instruction


@instruction(lambda members: members)
def _laid_out(typing_context: Any, members: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        model = context.data_model_manager[members.dtype]
        stack = cgutils.alloca_once(builder, model.get_data_type(), size=members.count)  # type: ignore[no-untyped-call]
        for number in range(members.count):
            value = model.as_data(builder, builder.extract_value(arguments[0], number))
            builder.store(value, builder.gep(stack, [ir.Constant(ir.IntType(64), number)]))
        return stack

    return types.CPointer(members.dtype)(members), generate  # type: ignore[no-untyped-call]


@instruction(lambda members, number: members[number])
def _member(typing_context: Any, members: Any, number: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        model = context.data_model_manager[members.dtype]
        return model.load_from_data_pointer(builder, builder.gep(arguments[0], [arguments[1]]))

    return members.dtype(members, types.intp), generate


laid_out: Any = _laid_out
member: Any = _member

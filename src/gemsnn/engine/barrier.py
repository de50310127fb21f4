"""A barrier that compiled threads wait at: one shared counter, atomic, without the interpreter.

A team of n threads runs the same kernel, each on its own neurons; after every time step all must have fired before any
goes on. Operating-system barriers cost as much as a whole time step of a small network; this one costs about a
microsecond. A thread that waits long gives its processor away.
"""

from __future__ import annotations

import sys
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from gemsnn.engine.jit import jit

_SPINS_BEFORE_YIELD = 2000


def _pointer(context: Any, builder: Any, array_type: Any, array: Any) -> Any:
    return context.make_array(array_type)(context, builder, array).data


@intrinsic
def _atomic_increment(typing_context: Any, array: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _pointer(context, builder, signature.args[0], arguments[0])
        return builder.atomic_rmw("add", pointer, ir.Constant(ir.IntType(64), 1), "seq_cst")

    return types.int64(array), generate


@intrinsic
def _atomic_load(typing_context: Any, array: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _pointer(context, builder, signature.args[0], arguments[0])
        return builder.load_atomic(pointer, "seq_cst", 8)

    return types.int64(array), generate


@intrinsic
def _yield_processor(typing_context: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        name = "SwitchToThread" if sys.platform == "win32" else "sched_yield"
        function = (
            ir.Function(builder.module, ir.FunctionType(ir.IntType(32), []), name)
            if (name not in builder.module.globals)
            else builder.module.globals[name]
        )
        builder.call(function, [])
        return context.get_dummy_value()

    return types.void(), generate


@jit()
def wait_for_all(counter: Any, arrivals: int) -> None:
    """Arrive, then wait until the (1,) int64 counter has reached ``arrivals``: n_threads for each barrier so far."""
    _atomic_increment(counter)  # type: ignore[call-arg]
    spins = 0
    while _atomic_load(counter) < arrivals:
        spins += 1
        if spins > _SPINS_BEFORE_YIELD:
            _yield_processor()

"""A barrier that compiled threads wait at: one shared counter, atomic, without the interpreter.

A team of n threads runs the same kernel, each on its own neurons; after every time step all must have fired before any
goes on. Operating-system barriers cost as much as a whole time step of a small network; this one costs about a
microsecond. A thread that waits long gives its processor away.
"""

from __future__ import annotations

import _thread
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from gemsnn.engine.jit import kernel

_SPINS_BEFORE_YIELD = 2000
_OPEN = 1 << 62  # more arrivals than there will ever be


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


@kernel()
def wait_for_all(counter: Any, arrivals: int) -> None:
    """Arrive, then wait until the (1,) int64 counter has reached ``arrivals``: n_threads for each barrier so far."""
    _atomic_increment(counter)  # type: ignore[call-arg]
    spins = 0
    while _atomic_load(counter) < arrivals:
        spins += 1
        if spins > _SPINS_BEFORE_YIELD:
            _yield_processor()


def run_team(run: Callable[[int, Any], None], size: int) -> None:
    """Call ``run(thread, counter)`` in this thread, number 0, and in ``size - 1`` others; barriers use the counter.

    Whoever leaves early (Ctrl-C between two starts, no memory) opens all barriers: the others run to their end, without
    waiting and without a meaningful result, and the exception goes on.

    Threads are started without the objects of ``threading``: when Python clears one of those away, a Ctrl-C is lost.
    """
    counter = np.zeros(1, dtype=np.int64)
    if size == 1:
        return run(0, counter)
    begun: list[int] = []
    ended: list[int] = []
    problems: list[BaseException] = []
    at_work = [_thread.allocate_lock() for _ in range(size)]  # locked until a helper has ended

    def help_out(thread: int) -> None:
        begun.append(thread)
        try:
            if counter[0] < _OPEN:
                run(thread, counter)
        except BaseException as problem:
            problems.append(problem)
            counter[0] = _OPEN
        finally:
            ended.append(thread)
            at_work[thread].release()

    try:
        for thread in range(1, size):
            at_work[thread].acquire()
            _thread.start_new_thread(help_out, (thread,))
        run(0, counter)
        for thread in range(1, size):
            at_work[thread].acquire()
    except BaseException:
        counter[0] = _OPEN
        those = set(begun)  # who begins only now, finds the barriers open and does nothing
        while not those.issubset(ended):
            time.sleep(0.001)
        raise
    if problems:
        raise problems[0]

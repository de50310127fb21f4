"""A rule's functions, compiled: kernels take them as arguments, so that a new rule needs no new kernel.

A rule's functions see one neuron, or the central processor, and settings by name. Those of a kernel see all hidden
neurons, and settings as an array, which has the same type for every rule.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import from_dtype, types

from gemsnn.compiling.jit import inlined
from gemsnn.compiling.pointers import Layout, layout_of, pointer, unpacking
from gemsnn.engine.arrays import Doubles
from gemsnn.engine.task import Task
from gemsnn.rules import Rule


class RuleNumbers(NamedTuple):
    """A rule, as kernels read it; f is the precision of the weights."""

    learning_rate: Any  # f
    gamma: Any  # f: factor by which the eligibility decays at each step
    kappa: float
    beta: float
    settings: Doubles  # the rule's own
    has_local: bool


def rule_numbers(task: Task, dtype: np.dtype[Any]) -> RuleNumbers:
    rule = task.rule
    return RuleNumbers(
        learning_rate=dtype.type(rule.step_size),
        gamma=dtype.type(max(task.gamma, np.finfo(dtype).tiny)),  # above 0 in float32 too
        kappa=float(rule.kappa),
        beta=float(rule.sharpness),
        settings=np.array(rule.settings(), dtype=np.float64),
        has_local=task.has_local,
    )


class RuleFunctions(NamedTuple):
    """Those of one rule, for weights of one precision; see :class:`gemsnn.rules.Rule`."""

    post: Any
    broadcast: Any
    local: Any


def rule_functions(rule: Rule, dtype: np.dtype[Any]) -> RuleFunctions:
    """A rule's functions for weights of a precision: compiled once, whatever the values of the settings."""
    kind: Any = type(rule)
    return _compile(kind, layout_of(rule.settings()), dtype)


@cache
def _compile(rule: Any, layout: Layout, dtype: np.dtype[Any]) -> RuleFunctions:
    f, f8 = from_dtype(dtype), types.float64
    numbers, table, spikes = f8[::1], f[:, ::1], types.boolean[:, ::1]
    unpack, post_of = unpacking(layout), inlined(rule.post)
    broadcast_of, local_of = inlined(rule.broadcast), inlined(rule.local or _nothing)

    def post(spikes: Any, probability: Any, factors: Any) -> None:
        for i in range(spikes.shape[0]):
            for k in range(spikes.shape[1]):
                factors[i, k] = post_of(1.0 if spikes[i, k] else 0.0, probability[i, k])

    def broadcast(settings: Any, log_weights: Any, importance: Any, memory: Any, visible: Any, hidden: Any) -> None:
        broadcast_of(unpack(settings), log_weights, importance, memory, visible, hidden)

    def local(settings: Any, hidden: Any, errors: Any, reach: Any, spikes: Any, memory: Any, signals: Any) -> None:
        by_name = unpack(settings)
        for i in range(signals.shape[0]):
            local_of(by_name, hidden, errors, reach[i], spikes[i], memory[i], signals[i])

    of_neurons = types.void(numbers, numbers, table, table, spikes, f8[:, ::1], table)
    return RuleFunctions(
        post=pointer(types.void(spikes, f8[:, ::1], f8[:, ::1]), post, rule.post),
        broadcast=pointer(types.void(*[numbers] * 6), broadcast, rule.broadcast, layout),
        local=pointer(of_neurons, local, rule.local or _nothing, layout),
    )


def _nothing(settings: Any, hidden: Any, errors: Any, reach: Any, spikes: Any, memory: Any, signals: Any) -> None:
    """In place of ``local`` where a rule has none; never called."""

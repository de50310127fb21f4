"""Each part of the event form's kernel, by itself, computes what its line of the NumPy mirror does.

A learner of the event form and the mirror go through the same random steps; then one part at a time is called on what
the learner holds, for the step that comes next.
"""

from typing import Any, NamedTuple

import event_mirror as mirror
import numpy as np
import pytest
from circuits import random_targets
from own_rule import Quiet
from problems import assert_close, random_parameters

import gemsnn
from gemsnn.compiling.by_number import laid_out
from gemsnn.compiling.jit import jit
from gemsnn.engine import event
from gemsnn.engine.event_drive import drive, take_in_again
from gemsnn.engine.event_learning import add_learned, own_drive
from gemsnn.engine.event_products import begin_finite_products, begin_recursive_products
from gemsnn.engine.event_writing import spikes_by_source, write_back, write_means
from gemsnn.engine.protocol import State
from gemsnn.engine.task import Task
from gemsnn.objectives import LIKELIHOOD

TOLERANCE = 1e-12


class Both(NamedTuple):
    """A learner and the mirror after the same T steps."""

    learner: Any
    mirror: mirror.EventMirror
    next: mirror.Step  # the mirror's step T, which the learner has not taken
    x: np.ndarray  # (T, K, n_sources)
    weights: np.ndarray  # W_0, (n, n_sources, n_basis)

    @property
    def populations(self):
        """Of the learner, each with its sources and its own compartments."""
        for p in self.learner.populations:
            first = p.first if p.of_inputs else self.learner.task.network.n_inputs + p.first
            yield p, slice(first, first + p.size), slice(0, len(p.products))

    def fed(self, p):
        """(n,) bool"""
        fed = np.zeros(self.learner.task.network.n_neurons, dtype=bool)
        for first, last, of_class in self.learner.plan.graph.rows:
            fed[first:last] = p.feeds[of_class]
        return fed


# (filters, K, whether visible neurons may run freely, whether means are taken off, the rule)
CASES = {
    "bumps, K = 1": (gemsnn.RaisedCosine(2, 6), 1, False, False, gemsnn.GEM(learning_rate=0.05)),
    "bumps, K = 3": (gemsnn.RaisedCosine(3, 40), 3, False, True, gemsnn.Feedback(learning_rate=0.02)),
    "bumps, free": (gemsnn.RaisedCosine(2, 9), 2, True, True, Quiet(learning_rate=0.05)),
    "exponentials, K = 1": (gemsnn.Exponential((2.0, 9.0), 12), 1, False, True, gemsnn.Feedback(learning_rate=0.02)),
    "exponentials, K = 4": (gemsnn.Exponential((3.0,), 50), 4, False, False, Quiet(learning_rate=0.05)),
    "exponentials, free": (gemsnn.Exponential((2.0, 5.0), 7), 3, True, True, gemsnn.GEM(0.05, gamma=1.0)),
}


@pytest.fixture(params=[(case, seed) for case in CASES for seed in range(2)], ids=str)
def both(request):
    case, seed = request.param
    filters, K, free, with_means, rule = CASES[case]
    rng = np.random.default_rng(seed)
    sizes = (int(rng.choice([3, 64, 70])), int(rng.choice([1, 5, 66])), int(rng.integers(1, 5)))  # words have 64 bits
    network = gemsnn.Network.fully_connected(
        *sizes, synaptic_filter=filters, somatic_filter=gemsnn.Exponential((4.0,), 9)
    )
    parameters, T = random_parameters(network, rng, 0.3), int(rng.integers(1, 17))
    inputs, targets = rng.random((T + 1, sizes[0])) < 0.3, random_targets(network, T + 1, rng)
    uniforms = rng.random((T + 1, K, network.n_neurons))
    means = rng.uniform(0, 0.5, (network.n_inputs, filters.n_basis)) if with_means else None
    task = Task(network, rule, K, LIKELIHOOD)
    silence = State.initial("compiled", task, parameters.dtype)
    learner = event.Learner(task, event.Weights.of(parameters), silence, free=free)
    other = mirror.EventMirror(network, parameters, rule, K, means)
    if with_means:
        learner.subtract_means(means)
    for t in range(T):
        target = targets[t] if not free or t % 4 else None
        if free:
            learner.step(inputs[t], target, uniforms[t])
        else:
            learner.run(inputs[t : t + 1], targets[t : t + 1], uniforms[t : t + 1, :, : network.n_hidden])
        other.step(inputs[t], target, uniforms[t])
    before = other.x, other.parameters(), other.a.copy()
    step = other.step(inputs[T], targets[T], uniforms[T])
    other.x, other.a = before[0], before[2]
    return Both(learner, other, step, before[0], parameters.synaptic)


@jit()
def called_drive(p, synapses, time, t, potentials, scratch):
    drive(p, synapses, time, t, potentials, scratch)


def test_drive(both):
    """Point 1: W_0 . R_t, and mean . R_t beside it."""
    w, taps, T = both.learner._arrays, both.mirror.taps, len(both.x)
    for p, sources, own in both.populations:
        w.scratch.potentials[:] = 0
        called_drive(p, w.graph.synapses, T, T, w.scratch.potentials, w.scratch.filters)
        expected = mirror.drive(taps, both.weights[:, sources], both.x[:, :, sources])[T]
        assert_close(w.scratch.potentials[:, : len(both.weights)], expected, TOLERANCE)
        if len(p.mean):
            traces = mirror.traces(taps, both.x[:, own, sources])
            assert_close(p.mean_trace[T], (traces[T, 0] * both.mirror.mean[sources]).sum(), TOLERANCE)


def test_drive_after_the_weights_have_changed(both):
    """Point 1, where what the filters hold is made anew."""
    w, T = both.learner._arrays, len(both.x)
    if w.graph.synapses.recursive:
        return  # begin_drive is called by everything that writes
    for p, sources, _ in both.populations:
        p.weights[:] *= 2
        take_in_again(p, w.graph.synapses, T, T, w.scratch.filters)
        w.scratch.potentials[:] = 0
        called_drive(p, w.graph.synapses, T, T, w.scratch.potentials, w.scratch.filters)
        expected = mirror.drive(both.mirror.taps, 2 * both.weights[:, sources], both.x[:, :, sources])[T]
        assert_close(w.scratch.potentials[:, : len(both.weights)], expected, TOLERANCE)


def test_products(both):
    """Point 2: R_s . R_t, step by step and made anew from the spikes."""
    w, taps, T = both.learner._arrays, both.mirror.taps, len(both.x)
    begin = int(w.window.begin[0])
    for p, sources, own in both.populations:
        counts = mirror.pair_counts(both.x[:, own, sources])
        expected = mirror.products(taps, counts)[:T, :, T]  # (s, K', K)

        def found(p=p):
            K = len(p.products)
            return p.products[:, : T * K].reshape(K, T, K).transpose(1, 2, 0)

        assert_close(found()[begin:], expected[begin:], TOLERANCE, "step by step")
        p.products[:] = np.nan
        if w.graph.synapses.recursive:
            begin_recursive_products(p, w.graph.synapses, T, w.scratch.filters.active)
        else:
            begin_finite_products(p, w.graph.synapses.taps, T, T, begin, w.scratch.filters)
        assert_close(found()[begin:], expected[begin:], TOLERANCE, "anew")


@jit()
def called_add_learned(w, all_populations, n_populations, t, begin):
    add_learned(w, laid_out(all_populations), n_populations, t, begin)


def test_learning(both):
    """Point 3: eta a, and what the scalar products make of it in the potentials."""
    w, n, T = both.learner._arrays, len(both.weights), len(both.x)
    begin = int(w.window.begin[0])
    for p in both.learner.populations:  # mean . R_t comes with the drive
        called_drive(p, w.graph.synapses, T, T, w.scratch.potentials, w.scratch.filters)
    w.scratch.potentials[:] = 0
    if begin < T:
        called_add_learned(w, both.learner._filled_up, len(both.learner.populations), T, begin)
    assert_close(w.scratch.potentials[:, :n], both.next.learned, TOLERANCE)


def test_a(both):
    """Point 3: a, of steps whose post factors are not all 0."""
    eta = both.mirror.rule.learning_rate
    both.learner.close()
    a = both.learner._arrays.window.changes[: both.mirror.a.size // len(both.weights), : len(both.weights)]
    begin = int(both.learner._arrays.window.begin[0])
    a = a.reshape(both.mirror.a.shape)
    assert_close(a[begin:], eta * both.mirror.a[begin:], TOLERANCE)


@jit()
def called_own_drive(w):
    own_drive(w)


def test_own_drive(both):
    """Point 4: self-memory, less the synapse that is not there."""
    w = both.learner._arrays
    called_own_drive(w)
    assert_close(w.scratch.own_drive[:, : len(both.weights)], both.next.own, TOLERANCE)


def test_writing_back(both):
    """Point 5: sum_s a_s (R_s - mean) for any a, for each population alone and by itself."""
    learner, w, n, rng = both.learner, both.learner._arrays, len(both.weights), np.random.default_rng(0)
    begin = int(w.window.begin[0])
    for p, sources, own in both.populations:
        K, T, columns = len(p.products), len(both.x), len(p.centre)
        a = np.zeros((T * K, columns))
        a[begin * K :, :n] = rng.normal(size=(len(a) - begin * K, n))
        spikes = spikes_by_source(
            p.bits, p.size, K, begin, max(learner._duration + T - 1, begin), w.scratch.filters.active
        )
        weights, centre = np.zeros_like(p.weights), a.sum(axis=0) * np.pad(both.fed(p), (0, columns - n))
        for first, last in ((0, p.size // 2), (p.size // 2, p.size)):  # as two threads do
            write_back(p, weights, w.graph.synapses, w.graph.rows, begin, T, a, *spikes, first, last)
            write_means(weights, p.mean, centre, first, last)
        expected = mirror.written(
            both.mirror.taps, both.x[:, own, sources], a.reshape(-1, K, a.shape[1])[:, :, :n], both.mirror.mean[sources]
        )
        expected *= both.fed(p)[:, None, None]
        if not p.of_inputs:
            for j in range(p.size):
                expected[p.first + j, j] = 0  # the synapse that is not there
        found = event.Weights(weights, *learner.weights[1:]).parameters(n).synaptic
        assert_close(found, expected, TOLERANCE)


def test_the_weights_at_any_time(both):
    """Point 5, of all that was learned."""
    found, expected = both.learner.parameters(), both.mirror.parameters()
    assert_close(found.synaptic, expected.synaptic, TOLERANCE)
    assert_close(found.bias, expected.bias, TOLERANCE)

"""Random networks with something to learn, for differential tests."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from scipy.special import expit

import gemsnn
from gemsnn.engine import reference
from gemsnn.engine.task import Task


def examples(number: int) -> settings:
    """How many cases hypothesis draws: ten times ``number`` when it is told to explore, else a third where it is large.

    ``make torture`` tries random networks for as long as one likes.
    """
    exploring = os.environ.get("HYPOTHESIS_PROFILE") == "explore"
    return settings(max_examples=10 * number if exploring else min(number, max(6, number // 3)))


@dataclass(frozen=True, eq=False)
class Problem:
    """A network, its parameters, a rule and a sequence."""

    network: gemsnn.Network
    parameters: gemsnn.Parameters  # float64
    rule: gemsnn.rules.Rule
    inputs: np.ndarray
    targets: np.ndarray
    K: int
    seed: int

    @property
    def T(self) -> int:
        return len(self.inputs)

    def __repr__(self) -> str:  # what hypothesis prints when a test fails
        return (
            f"Problem({self.network!r}, visible_memory={self.network.visible_memory}, {self.rule!r}, T={self.T}, "
            f"K={self.K}, seed={self.seed}, mask={self.network.topology.mask.astype(int).tolist()})"
        )

    def uniforms(self, n: int) -> np.ndarray:
        return np.random.default_rng(self.seed + 1).random((self.T, self.K, n))

    def learn(self, engine: str, *, parameters: gemsnn.Parameters | None = None, **options: object):
        return gemsnn.learn(
            self.network, parameters or self.parameters, self.rule, self.inputs, self.targets, self.K,
            engine=engine, **options,
        )  # fmt: skip


def filters(longest: int = 20) -> st.SearchStrategy[gemsnn.Filter]:
    """Of all families; from one step to more than the words of history that the engine packs spikes into."""

    def custom(n_basis: int, duration: int, seed: int) -> gemsnn.Filter:
        return gemsnn.Filter(np.random.default_rng(seed).normal(0, 0.5, (n_basis, duration)))

    durations = st.one_of(st.integers(1, 7), st.sampled_from([8, 9, 12, 13, 16, 17, 24, 25]), st.integers(1, longest))
    return st.one_of(
        durations.flatmap(
            lambda d: st.builds(
                gemsnn.RaisedCosine, n_basis=st.integers(1, min(3, d)), duration=st.just(d), offset=st.just(1.0 + d)
            )
        ),
        st.builds(
            gemsnn.Exponential,
            time_constants=st.lists(st.sampled_from([0.5, 2.0, 7.0]), min_size=1, max_size=3),
            duration=durations,
        ),
        st.builds(custom, st.integers(1, 3), durations, st.integers(0, 1000)),
    )


def topologies(n_inputs: int, n_hidden: int, n_visible: int) -> st.SearchStrategy[gemsnn.Topology]:
    """The constructors' graphs, and random ones with cycles, feedback and synapses between visible neurons."""
    random = st.builds(
        lambda density, seed: gemsnn.Topology.random(n_inputs, n_hidden, n_visible, density, seed),
        st.sampled_from([0.0, 0.3, 0.7, 1.0]),
        st.integers(0, 10_000),
    )
    return st.one_of(random, random, st.just(gemsnn.Topology.fully_connected(n_inputs, n_hidden, n_visible)))


BETA = st.sampled_from([0.0, 0.5, 1.0, 3.0])


def rules() -> st.SearchStrategy[gemsnn.rules.Rule]:
    """All built-in rules, each in all its forms."""
    memories = {
        "kappa": st.sampled_from([0.0, 1e-3, 0.5, 0.9, 1.0]),
        "gamma": st.sampled_from([1e-3, 0.5, 0.9, 0.99, 1.0]),
    }
    usual = {"learning_rate": st.sampled_from([0.0, 1e-3, 0.05]), **memories}
    # These signals are log-probabilities, which grow with the sequence, and not weights between 0 and 1.
    small = {"learning_rate": st.sampled_from([0.0, 1e-5, 5e-4]), **memories}
    return st.one_of(
        st.builds(gemsnn.GEM, centred=st.booleans(), beta=BETA, **usual),
        st.builds(
            gemsnn.Feedback, gain=st.sampled_from([0.0, 0.5, 4.0]), target_rate=st.sampled_from([0.05, 1.0]), **usual
        ),
        st.builds(gemsnn.MB, baseline=st.sampled_from([None, 0.0, 0.95, "leave-one-out"]), **small),
        st.builds(gemsnn.IW, baseline=st.sampled_from([None, 0.0, 0.95, "leave-one-out"]), beta=BETA, **small),
    )


SHORT = st.one_of(st.just(1), st.integers(2, 30))


@st.composite
def problems(draw: st.DrawFn, lengths: st.SearchStrategy[int] = SHORT, most_compartments: int = 7) -> Problem:
    n_inputs, n_hidden, n_visible = draw(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(1, 3)))
    same_filter = draw(st.booleans())
    synaptic = draw(filters())
    network = gemsnn.Network(
        draw(topologies(n_inputs, n_hidden, n_visible)),
        synaptic,
        synaptic if same_filter else draw(filters()),
        visible_memory=draw(st.booleans()),
    )
    rule = draw(rules())
    T, K = draw(lengths), draw(st.integers(1, most_compartments))
    seed, scale, rate = (
        draw(st.integers(0, 2**32 - 1)),
        draw(st.sampled_from([0.3, 1.0, 5.0])),
        draw(st.sampled_from([0.05, 0.5, 1.0])),
    )
    return make_problem(network, rule, T, K, seed, scale, rate)


def make_problem(
    network: gemsnn.Network,
    rule: gemsnn.rules.Rule,
    T: int,
    K: int,
    seed: int = 0,
    scale: float = 1.0,
    rate: float = 0.5,
) -> Problem:
    """Random parameters of the given scale, inputs and targets of the given spike rate."""
    rng = np.random.default_rng(seed)
    return Problem(
        network=network,
        parameters=random_parameters(network, rng, scale),
        rule=rule,
        inputs=(rng.random((T, network.n_inputs)) < rate).astype(np.uint8),
        targets=(rng.random((T, network.n_visible)) < rate).astype(np.uint8),
        K=K,
        seed=seed,
    )


def random_parameters(network: gemsnn.Network, rng: np.random.Generator, scale: float = 1.0) -> gemsnn.Parameters:
    """Every weight that exists is drawn, self-memory included."""
    mask = network.topology.mask
    return gemsnn.Parameters(
        synaptic=rng.normal(0, scale, (*mask.shape, network.synaptic_filter.n_basis)) * mask[:, :, None],
        somatic=rng.normal(0, scale, (network.n_neurons, network.somatic_filter.n_basis)) * network.has_memory[:, None],
        bias=rng.normal(-0.5, scale, network.n_neurons),
    )


def uniforms_off_threshold(
    problem: Problem, margin: float, free: bool = False, means: gemsnn.TraceMeans | None = None
) -> np.ndarray:
    """Draws that the reference run never meets closer than ``margin`` to a spike probability.

    Two engines whose probabilities differ by less than the margin then give the same spikes, so that what is left to
    compare is rounding.
    """
    network = problem.network
    uniforms = problem.uniforms(network.n_neurons if free else network.n_hidden)
    learner = reference.learner(Task(network, problem.rule, problem.K), problem.parameters)
    if means is not None:
        learner.subtract_means(means.value)
    for t in range(problem.T):
        p = expit(reference.potentials(network, learner.weights, learner.history)[0])[:, : uniforms.shape[2]]
        close = np.abs(uniforms[t] - p) < margin
        uniforms[t] = np.where(close, np.where(p < 0.5, p + margin, p - margin), uniforms[t])
        learner.step(problem.inputs[t], None if free else problem.targets[t], uniforms[t])
    return uniforms


def assert_close(actual: np.ndarray, desired: np.ndarray, tolerance: float, name: str = "") -> None:
    """Relative to the largest entry (at least 1): rounding of a sum is relative to its terms, not to its result."""
    scale = max(1.0, float(np.abs(desired).max(initial=0)))
    np.testing.assert_allclose(actual, desired, rtol=0, atol=tolerance * scale, err_msg=name)


def assert_parameters_close(actual: gemsnn.Parameters, desired: gemsnn.Parameters, tolerance: float) -> None:
    for name in ("synaptic", "somatic", "bias"):
        assert_close(getattr(actual, name), getattr(desired, name), tolerance, name)


def assert_results_close(actual: gemsnn.LearnResult, desired: gemsnn.LearnResult, tolerance: float) -> None:
    """Same hidden spikes; weights and what the steps tell to the tolerance."""
    np.testing.assert_array_equal(actual.hidden, desired.hidden)
    for name in ("log_likelihood", "report", "log_weights", "importance"):
        assert_close(getattr(actual, name), getattr(desired, name), tolerance, name)
    assert_parameters_close(actual.parameters, desired.parameters, tolerance)

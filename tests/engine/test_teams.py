"""A team of threads learns as one thread does, to the bit: whoever has which compartments, neurons and sources."""

from __future__ import annotations

import numpy as np
import pytest
from problems import Problem, make_problem

import gemsnn
from gemsnn.engine import compiled

COSINES, EXPONENTIALS = gemsnn.RaisedCosine(3, 10, 10), gemsnn.Exponential([2.0, 8.0], 24)
RULES = {
    "GEM": gemsnn.GEM(0.01, gamma=0.9),
    "Feedback": gemsnn.Feedback(0.01),
    "MB": gemsnn.MB(1e-4),
    "IW": gemsnn.IW(1e-4, baseline="leave-one-out"),
}
RESULTS = ("hidden", "log_likelihood", "log_weights", "importance")


def made(rule: str, filter: gemsnn.Filter, K: int, T: int, lateral: bool = False) -> Problem:
    """40 hidden neurons, so that several threads have some, with two circuits, one of them across their border."""
    topology = gemsnn.Topology.fully_connected(11, 40, 3, lateral=lateral)
    circuits = [gemsnn.Circuit((0, 3, 8), silent=True), gemsnn.Circuit((14, 15, 16, 17), silent=False)]
    network = gemsnn.Network(topology, filter, filter, circuits=circuits)
    return make_problem(network, RULES[rule], T, K, seed=3, scale=0.5, rate=0.2)


@pytest.fixture(autouse=True)
def in_the_event_form(monkeypatch):
    monkeypatch.setattr(compiled, "FORM", "event")


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("filter", [COSINES, EXPONENTIALS], ids=["cosines", "exponentials"])
def test_any_number_of_threads_gives_the_same_bits(rule, filter):
    problem = made(rule, filter, K=13, T=20)
    for dtype, threads in ((np.float32, (1, 2, 9)), (np.float64, (1, 2))):
        parameters = problem.parameters.astype(dtype)
        one, *others = (problem.learn("compiled", parameters=parameters, seed=1, threads=n) for n in threads)
        for other in others:
            assert other.parameters == one.parameters
            for name in RESULTS:
                np.testing.assert_array_equal(getattr(other, name), getattr(one, name), err_msg=name)
            for name, array in one.state.kept.items():
                np.testing.assert_array_equal(other.state.kept[name], array, err_msg=name)


@pytest.mark.parametrize(
    ("rule", "filter"), [("GEM", COSINES), ("Feedback", EXPONENTIALS)], ids=["cosines", "exponentials"]
)
def test_it_stays_so_when_the_window_moves_on_and_others_go_on_from_a_state(rule, filter):
    problem = made(rule, filter, K=8, T=300, lateral=True)
    means = gemsnn.TraceMeans.zero(problem.network).after(problem.network, problem.inputs)
    whole = problem.learn("compiled", seed=1, threads=1, means=means)
    assert problem.learn("compiled", seed=1, threads=2, means=means).parameters == whole.parameters
    runs = []
    for threads in ((1, 1), (2, 1), (1, 2)):
        parameters, state = problem.parameters, None
        for part, number in zip((slice(0, 140), slice(140, None)), threads, strict=True):
            found = gemsnn.learn(
                problem.network, parameters, problem.rule, problem.inputs[part], problem.targets[part], 8, seed=1,
                state=state, threads=number, means=means if state is None else None,
            )  # fmt: skip
            parameters, state = found.parameters, found.state
        runs.append(parameters)
    assert runs[1] == runs[0]
    assert runs[2] == runs[0]


def test_a_team_learns_what_the_reference_learns():
    problem = made("GEM", COSINES, K=12, T=20)
    fast, slow = problem.learn("compiled", seed=1, threads=3), problem.learn("reference", seed=1)
    np.testing.assert_array_equal(fast.hidden, slow.hidden)
    np.testing.assert_allclose(fast.parameters.synaptic, slow.parameters.synaptic, rtol=1e-11, atol=1e-13)

"""A stream that has forgotten its lessons only runs, and wakes up with the next."""

import numpy as np
import pytest
from problems import assert_close, assert_parameters_close, make_problem

import gemsnn
from gemsnn.engine import compiled
from gemsnn.engine.task import horizon

LESSONS = [(10, False), (20, True), (75, False), (15, True), (3, False), (4, True), (130, False), (9, True), (5, False)]
LEARNS = [learns for steps, learns in LESSONS for _ in range(steps)]
FILTERS = {
    "raised cosines": (gemsnn.RaisedCosine(2, 6), gemsnn.RaisedCosine(2, 6)),
    "exponentials": (gemsnn.Exponential((3.0, 30.0), 20), gemsnn.Exponential((5.0,), 9)),
    "a longer self-memory": (gemsnn.Exponential((2.0,), 4), gemsnn.RaisedCosine(3, 15)),
}


@pytest.mark.parametrize("filters", FILTERS)
@pytest.mark.parametrize("form", ["event", "sparse"])
def test_a_stream_that_rests_between_lessons_does_what_the_reference_does(form, filters, monkeypatch):
    monkeypatch.setattr(compiled, "FORM", form)
    topology = gemsnn.Topology.fully_connected(4, 5, 3)
    network = gemsnn.Network(topology, *FILTERS[filters], circuits=[gemsnn.Circuit((6, 7), silent=True)])
    problem = make_problem(network, gemsnn.MB(5e-4, 0.9, 0.5), T=len(LEARNS), K=2)
    targets = problem.targets.copy()
    targets[:, 1] &= 1 - targets[:, 2]  # a circuit's units never spike together
    fast, slow = (
        gemsnn.Stream(network, problem.parameters, problem.rule, 2, seed=4, engine=engine)
        for engine in ("compiled", "reference")
    )
    rested = 0
    for t, learns in enumerate(LEARNS):
        target = targets[t] if learns else None
        info, expected = fast.step(problem.inputs[t], target), slow.step(problem.inputs[t], target)
        np.testing.assert_array_equal(info.spikes, expected.spikes)
        for name in ("log_likelihood", "log_weights", "importance"):
            assert_close(getattr(info, name), getattr(expected, name), 1e-11, name)
        rested += fast._learner._awake is None
    assert_parameters_close(fast.parameters, slow.parameters, 1e-11)
    assert rested > 60  # else this would test nothing


def test_what_has_not_been_learned_is_not_forgotten():
    network = gemsnn.Network.fully_connected(3, 2, 2)
    problem = make_problem(network, gemsnn.GEM(0.01, gamma=1.0), T=40, K=1)
    stream = gemsnn.Stream(network, problem.parameters, problem.rule, 1)
    for t in range(40):
        stream.step(problem.inputs[t], problem.targets[t] if t == 5 else None)
    assert stream._learner._awake is not None  # eligibility that does not fade keeps the learner awake


def test_a_stream_rests_no_sooner_than_its_lessons_have_faded():
    """Half the time is too soon: the lesson after that still learns from what the first left eligible."""
    network = gemsnn.Network.fully_connected(3, 2, 2)
    problem = make_problem(network, gemsnn.MB(1.0, 0.9, 0.5), T=40, K=1)
    silence = horizon(problem.rule.gamma, np.dtype(np.float64)) // 2 + 1
    streams = [
        gemsnn.Stream(network, problem.parameters, problem.rule, 1, seed=4, engine=engine)
        for engine in ("compiled", "reference")
    ]
    for t in range(5 + silence + 1):
        target = problem.targets[t % 40] if t < 5 or t == 5 + silence else None
        for stream in streams:
            stream.step(problem.inputs[t] if t < 5 else 0 * problem.inputs[0], target)
    assert_parameters_close(streams[0].parameters, streams[1].parameters, 1e-12)

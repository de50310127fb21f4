"""The sizes choose the form of learning; whichever they choose, the result is the same."""

import numpy as np
import pytest
from problems import assert_results_close, make_problem

import gemsnn
from gemsnn.engine import compiled
from gemsnn.engine.compiled import suitable_form
from gemsnn.engine.task import Task
from gemsnn.objectives import LIKELIHOOD

PAPER = gemsnn.Network.fully_connected(676, 200, 3)
RULE = gemsnn.GEM()


def chosen(network, K, rule=RULE, steps=80, free=False):
    return suitable_form(Task(network, rule, K, LIKELIHOOD), np.dtype(np.float32), free, steps)


def test_neurons_that_share_their_sources_are_learned_from_events():
    assert {chosen(PAPER, K, steps=steps) for K in (1, 5, 50) for steps in (80, 400)} == {"event"}


def test_a_toy_with_many_compartments_is_learned_synapse_by_synapse():
    toy = gemsnn.Network.fully_connected(20, 20, 3)
    assert [chosen(toy, K) for K in (1, 5, 20)] == ["event", "event", "sparse"]


@pytest.mark.parametrize("density", [0.02, 0.1, 0.5])
def test_a_graph_without_order_is_learned_synapse_by_synapse(density):
    network = gemsnn.Network(gemsnn.Topology.random(50, 300, 3, density))
    assert chosen(network, 1) == chosen(network, 50) == "sparse"


def test_an_eligibility_that_hardly_fades_is_kept_synapse_by_synapse():
    assert chosen(PAPER, 1, gemsnn.GEM(gamma=1.0), steps=5000) == "sparse"
    assert chosen(PAPER, 1, gemsnn.GEM(gamma=1.0), steps=80) == "event"


@pytest.mark.parametrize("rule", [gemsnn.GEM(0.01), gemsnn.Feedback(0.01), gemsnn.IW(1e-3), gemsnn.MB(1e-3)])
def test_all_forms_give_the_same_result(rule, monkeypatch):
    network = gemsnn.Network.fully_connected(12, 9, 3, gemsnn.Exponential((2.0, 9.0), 12))
    problem = make_problem(network, rule, T=70, K=5, seed=3)
    uniforms = problem.uniforms(network.n_hidden)
    results = []
    for form in ("event", "sparse"):
        monkeypatch.setattr(compiled, "FORM", form)
        results.append(problem.learn("compiled", uniforms=uniforms))
    assert_results_close(*results, 1e-11)

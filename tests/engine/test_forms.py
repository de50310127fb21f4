"""The sizes choose the form of learning; whichever they choose, the result is the same."""

import numpy as np
import pytest
from problems import assert_results_close, make_problem

import gemsnn
from gemsnn.engine import compiled
from gemsnn.engine.compiled import suitable_form

PAPER = gemsnn.Network.fully_connected(676, 200, 3)
RULE = gemsnn.GEM()


def chosen(network, K, rule=RULE, steps=80, free=False):
    return suitable_form(network, gemsnn.Parameters(np.zeros(1, np.float32), *np.zeros((2, 1))), rule, K, free, steps)


def test_few_compartments_are_learned_from_events_and_many_directly():
    forms = [chosen(PAPER, K) for K in (1, 5, 20, 50, 120, 200)]
    assert forms == ["event", "event", "event", "event", "direct", "direct"]
    small = gemsnn.Network.fully_connected(100, 50, 3)
    assert [chosen(small, K) for K in (5, 20)] == ["event", "direct"]
    assert [chosen(PAPER, K, steps=400) for K in (10, 20)] == ["event", "direct"]  # a long window


def test_a_graph_of_few_synapses_is_learned_synapse_by_synapse():
    sparse = gemsnn.Network(gemsnn.Topology.random(50, 300, 3, 0.02))
    assert chosen(sparse, 1) == chosen(sparse, 50) == "sparse"


def test_an_eligibility_that_hardly_fades_is_kept_directly():
    assert chosen(PAPER, 1, gemsnn.GEM(gamma=1.0), steps=5000) == "direct"
    assert chosen(PAPER, 1, gemsnn.GEM(gamma=1.0), steps=80) == "event"


@pytest.mark.parametrize("rule", [gemsnn.GEM(0.01), gemsnn.Feedback(0.01), gemsnn.IW(1e-3), gemsnn.MB(1e-3)])
def test_all_forms_give_the_same_result(rule, monkeypatch):
    network = gemsnn.Network.fully_connected(12, 9, 3, gemsnn.Exponential((2.0, 9.0), 12))
    problem = make_problem(network, rule, T=70, K=5, seed=3)
    uniforms = problem.uniforms(network.n_hidden)
    results = []
    for form in ("event", "direct", "sparse"):
        monkeypatch.setattr(compiled, "FORM", form)
        results.append(problem.learn("compiled", uniforms=uniforms))
    for other in results[1:]:
        assert_results_close(other, results[0], 1e-11)

"""What learning costs in messages: counted on the reference engine, and as formulas."""

import circuits
import numpy as np
import pytest
from circuits import RULES

import gemsnn


def network(readout="bernoulli", n_hidden=4, n_visible=3):
    return gemsnn.Network.fully_connected(2, n_hidden, n_visible, readout=readout)


NETWORKS = {
    "paper": network(),
    "winner-take-all read-out": network("winner-take-all"),
    "no hidden neurons": network(n_hidden=0),
    "sparse": gemsnn.Network(gemsnn.Topology.random(2, 5, 4, 0.4, seed=2), circuits=[[5, 6], [0, 1]]),
}


@pytest.mark.parametrize("K", [1, 2, 7])
@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@pytest.mark.parametrize("name", NETWORKS)
def test_the_reference_engine_sends_as_many_numbers_as_the_rule_says(name, rule, K):
    network, T = NETWORKS[name], 4
    targets = circuits.random_targets(network, T, np.random.default_rng(0))
    arguments = (network, network.init(), rule, np.ones((T, 2)), targets, K)
    counted = gemsnn.learn(*arguments, engine="reference").messages
    assert counted == tuple(T * load for load in rule.communication(network, K))
    assert gemsnn.metrics.communication(network, rule, K) == rule.communication(network, K)


@pytest.mark.parametrize("K", [1, 2, 20])
def test_the_formulas_of_the_rules(K):
    X, H = 3, 4
    loads = {name: rule.communication(network(n_hidden=H, n_visible=X), K) for name, rule in RULES.items()}
    for name in RULES:  # every visible neuron reports K losses, whatever the rule
        assert loads[name].to_processor == K * X
    for name in ("gem", "gem, centred"):
        assert loads[name] == (K * X, K * (X + H), 0)
    for name in ("mb", "mb, no baseline"):
        assert loads[name] == (K * X, K * H, 0)
    assert loads["iw"] == (K * X, K * X + K * H, 0)
    for name in ("iw, running mean", "iw, no baseline"):
        assert loads[name] == (K * X, K * X + H, 0)
    assert loads["feedback"] == (K * X, K * (X + H), K * H * X)


def test_a_winner_take_all_circuit_reports_one_loss_per_compartment():
    assert gemsnn.GEM().communication(network("winner-take-all"), 5) == (5, 5 * 7, 0)


def test_errors_come_back_only_through_synapses_that_exist():
    mask = np.zeros((3, 4), dtype=bool)  # 1 input, 2 hidden, 1 visible
    mask[2, 1] = True  # one hidden neuron reaches the visible one
    sparse = gemsnn.Network(gemsnn.Topology(1, 2, 1, mask))
    assert gemsnn.Feedback().communication(sparse, 6).sent_back == 6


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_running_freely_sends_nothing(rule):
    from gemsnn.engine import reference
    from gemsnn.engine.task import Task

    learner = reference.learner(Task(network(), rule, 3), network().init(dtype=np.float64))
    learner.step(np.ones(2), None, np.full((3, 7), 0.5))
    assert learner.messages == (0, 0, 0)

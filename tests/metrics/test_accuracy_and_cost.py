"""Accuracy, spikes and messages."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score

import gemsnn
from gemsnn import ConfigError, DataError, ShapeError
from gemsnn.metrics import accuracy, communication, hidden_spikes_per_step


def test_accuracy_is_the_share_that_is_right():
    assert accuracy([0, 1, 2, 2], [0, 2, 2, 2]) == 0.75
    rng = np.random.default_rng(0)
    labels, predicted = rng.integers(0, 3, 100), rng.integers(0, 3, 100)
    assert accuracy(labels, predicted) == pytest.approx(accuracy_score(labels, predicted))


def test_accuracy_of_nothing_or_of_other_shapes_is_refused():
    with pytest.raises(DataError, match="empty"):
        accuracy([], [])
    with pytest.raises(ShapeError, match=r"\(2,\) and predictions \(3,\)"):
        accuracy([0, 1], [0, 1, 1])
    with pytest.raises(ShapeError, match=r"\(1, 1\)"):
        accuracy([[0]], [[0]])


def test_communication_grows_with_compartments_visible_and_hidden_neurons_as_the_formulas_say():
    load = communication(gemsnn.Network.fully_connected(676, 200, 3), gemsnn.GEM(), 20)
    assert load.to_processor == 20 * 3
    assert load.to_neurons == 20 * (3 + 200)
    with pytest.raises(ConfigError, match="n_compartments"):
        communication(gemsnn.Network.fully_connected(1, 1, 1), gemsnn.GEM(), 0)


def test_each_rule_sends_what_it_needs():
    network = gemsnn.Network.fully_connected(676, 200, 3)
    assert communication(network, gemsnn.MB(), 20) == (20 * 3, 20 * 200, 0)  # visible neurons know 1 / K
    assert communication(network, gemsnn.IW(), 20) == (20 * 3, 20 * 203, 0)
    assert communication(network, gemsnn.Feedback(), 20) == (20 * 3, 20 * 203, 20 * 200 * 3)
    circuit = gemsnn.Network.fully_connected(676, 200, 3, readout="winner-take-all")
    assert communication(circuit, gemsnn.GEM(), 20).to_processor == 20  # one loss for the circuit


def test_hidden_spikes_are_summed_over_neurons_and_compartments_and_averaged_over_time():
    hidden = np.zeros((4, 2, 3), dtype=bool)  # T, K, n_hidden
    hidden[0, 0, :] = True
    hidden[2, 1, 1] = True
    assert hidden_spikes_per_step(hidden) == 1.0  # four spikes in four steps
    assert hidden_spikes_per_step(np.stack([hidden, ~hidden])) == 3.0  # 4 and 20 in two sequences of four steps
    with pytest.raises(ShapeError, match=r"hidden has shape \(2, 3\)"):
        hidden_spikes_per_step(np.zeros((2, 3)))

"""What would be said after every step, and when to stop."""

from __future__ import annotations

import numpy as np
import pytest
from problems import make_problem

import gemsnn
from gemsnn import ConfigError
from gemsnn.engine import engine_named
from gemsnn.inference import DECODERS, AnytimePrediction, Confident, recording_key
from gemsnn.inference.evidence import run_for
from gemsnn.inference.sequences import Sequences

TOPOLOGIES = {
    "paper": gemsnn.Topology.fully_connected(4, 5, 3),
    "feedback": gemsnn.Topology.random(4, 5, 3, 0.8, seed=1),
}
INPUTS = np.random.default_rng(0).integers(0, 2, (6, 9, 4))


@pytest.mark.parametrize("decoder", ["vote", "likelihood", "per-step"])
@pytest.mark.parametrize("graph", TOPOLOGIES)
@pytest.mark.parametrize("memory", [True, False])
def test_every_answer_is_that_of_a_run_that_ends_there(decoder: str, graph: str, memory: bool) -> None:
    network = gemsnn.Network(TOPOLOGIES[graph], visible_memory=memory)
    parameters = make_problem(network, gemsnn.GEM(), T=1, K=1).parameters
    anytime = gemsnn.predict_anytime(network, parameters, INPUTS, 4, decoder=decoder, seed=3)
    spent = anytime.hidden_spikes.cumsum(axis=1)
    running = engine_named("compiled").running(network, parameters)
    how, keys = DECODERS[decoder], [recording_key(inputs) for inputs in INPUTS]
    for t in range(1, 10):
        evidence = run_for(how, network, parameters, INPUTS[:, :t].astype(np.uint8), 4, None, 3, keys, 1, running)
        state = how.start((6, 4, 3))
        for step in evidence.steps:
            state = how.update(state, step)
        whole = how.answer(state)
        np.testing.assert_array_equal(anytime.classes[:, t - 1], whole.classes)
        np.testing.assert_allclose(anytime.probabilities[:, t - 1], whole.probabilities, atol=1e-10)
        np.testing.assert_allclose(anytime.hidden_spikes[:, :t], evidence.fired.hidden_spikes)
    last = gemsnn.predict(network, parameters, INPUTS, 4, decoder=decoder, seed=3)
    np.testing.assert_array_equal(anytime.confidence[:, -1], last.confidence)
    np.testing.assert_allclose(spent[:, -1] / 9, last.hidden_spikes_per_step, rtol=1e-12)


def test_more_sequences_than_a_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    network = gemsnn.Network(TOPOLOGIES["paper"])
    parameters = network.init(seed=0)
    inputs = np.random.default_rng(0).integers(0, 2, (50, 5, 4))
    together = gemsnn.predict_anytime(network, parameters, inputs, 3)
    monkeypatch.setattr("gemsnn.inference.sequences.AT_ONCE", 20 * 5 * 3 * network.n_neurons)
    sizes = [len(piece.places) for piece in Sequences(inputs, 4).pieces(3, network.n_neurons)]
    assert sizes == [20, 20, 10]
    in_pieces = gemsnn.predict_anytime(network, parameters, inputs, 3)
    for one, other in zip(together, in_pieces, strict=True):
        np.testing.assert_array_equal(one, other)


def _two_sequences() -> AnytimePrediction:
    right = np.array([[0.5, 0.7, 0.95, 0.6], [0.6, 0.55, 0.4, 0.8]])
    return AnytimePrediction(
        classes=(right < 0.5).astype(np.int64),
        probabilities=np.stack([right, 1 - right], axis=2),
        hidden_spikes=np.array([[1.0, 2.0, 3.0, 4.0], [10.0, 20.0, 30.0, 40.0]]),
    )


def test_stops_at_the_first_step_that_is_sure_enough_or_at_the_end() -> None:
    found = _two_sequences().stop(confidence=0.9)
    np.testing.assert_array_equal(found.steps, [3, 4])
    np.testing.assert_array_equal(found.classes, [0, 0])
    np.testing.assert_allclose(found.confidence, [0.95, 0.8])
    np.testing.assert_array_equal(found.hidden_spikes, [6, 100])


def test_does_not_stop_before_it_may() -> None:
    assert _two_sequences().stop(0.0).steps.tolist() == [1, 1]
    found = _two_sequences().stop(0.55, min_steps=3)
    assert found.steps.tolist() == [3, 3]
    assert found.classes.tolist() == [0, 1]


def test_a_confidence_exactly_at_the_threshold_is_enough_and_one_just_below_is_not() -> None:
    exactly, below = np.array([0.25, 0.75]), np.array([0.25, np.nextafter(0.75, 0)])
    for p, stops in ((exactly, True), (below, False)):
        _, verdict = Confident(0.75).update(None, 1, p)
        assert bool(verdict.stop) == stops
    answers = AnytimePrediction(
        classes=np.ones((2, 2), dtype=np.int64),
        probabilities=np.array([[exactly, below], [below, exactly]]),
        hidden_spikes=np.zeros((2, 2)),
    )
    assert answers.stop(0.75).steps.tolist() == [1, 2]
    _, verdict = Confident(0.0, min_steps=2).update(None, 2, exactly)  # and so is the first step that may stop
    assert verdict.stop


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"confidence": 1.5}, r"confidence must lie in \[0, 1\], got 1.5"),
        ({"confidence": 0.9, "min_steps": 0}, "min_steps"),
        ({"confidence": 0.9, "min_steps": 5}, "min_steps is 5, but the sequences have 4 steps"),
    ],
)
def test_impossible_rules_are_refused(arguments: dict[str, float], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        _two_sequences().stop(**arguments)


def test_an_unknown_decoder_is_refused() -> None:
    network = gemsnn.Network(TOPOLOGIES["paper"])
    with pytest.raises(ConfigError, match="unknown decoder 'loudest'"):
        gemsnn.predict_anytime(network, network.init(seed=0), INPUTS, decoder="loudest")

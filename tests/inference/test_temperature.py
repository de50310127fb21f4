"""Temperatures: probabilities that mean what they say, at any time and with any number of input spikes."""

from __future__ import annotations

import numpy as np
import pytest

import gemsnn
from gemsnn import ConfigError, DataError, ShapeError
from gemsnn.inference import AnytimePrediction, Temperature, fit_temperature, spikes_left_out
from gemsnn.metrics import expected_calibration_error, negative_log_likelihood

T, C = 40, 4
FLAT = Temperature(T, tuple(np.arange(1, 21.0) * 10), ((0.0,) * 6,) * 6, 1)


def answers_that_are_wrongly_sure(n: int, seed: int, power: float = 3.0, thin: float = 1.0) -> tuple[
    AnytimePrediction, np.ndarray
]:  # fmt: skip
    """Honest probabilities to a power; they grow surer with time, and less so the more spikes are left out."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, C, n)
    evidence = rng.normal(0, 1, (n, T, C)) * np.sqrt(thin) + thin * 0.6 * np.eye(C)[labels][:, None]
    honest = np.exp(0.6 * evidence.cumsum(axis=1))  # the posterior of this normal model
    said = honest**power
    said /= said.sum(axis=-1, keepdims=True)
    spikes = rng.poisson(5 * thin, (n, T)).cumsum(axis=1)
    return AnytimePrediction(said.argmax(axis=-1), said, np.ones((n, T)), input_spikes=spikes), labels


def test_what_was_too_sure_is_calibrated_at_any_time():
    answers, labels = answers_that_are_wrongly_sure(600, seed=0)
    temperature = fit_temperature(answers, labels)
    fresh, truth = answers_that_are_wrongly_sure(4000, seed=1)
    found = temperature(fresh.probabilities, np.arange(1, T + 1), fresh.input_spikes)
    for t in (4, 10, 20, 40):
        before = expected_calibration_error(truth, fresh.probabilities[:, t - 1])
        after = expected_calibration_error(truth, found[:, t - 1])
        assert before > 0.05 or t == 40
        assert after < 0.03


def test_what_was_calibrated_stays_so():
    answers, labels = answers_that_are_wrongly_sure(600, seed=0, power=1.0)
    fresh, truth = answers_that_are_wrongly_sure(4000, seed=1, power=1.0)
    found = fit_temperature(answers, labels)(fresh.probabilities, np.arange(1, T + 1), fresh.input_spikes)
    for t in (4, 20, 40):
        assert expected_calibration_error(truth, found[:, t - 1]) < 0.035


def test_few_recordings_do_little_harm():
    fresh, truth = answers_that_are_wrongly_sure(2000, seed=1, power=1.0)
    before = negative_log_likelihood(truth, fresh.probabilities[:, 19])
    for seed in range(5):
        temperature = fit_temperature(*answers_that_are_wrongly_sure(12, seed=10 + seed, power=1.0))
        found = temperature(fresh.probabilities[:, 19], 20, fresh.input_spikes[:, 19])
        assert negative_log_likelihood(truth, found) < before + 0.06


def test_answers_from_few_spikes_are_calibrated_by_thinned_copies():
    answers, labels = answers_that_are_wrongly_sure(600, seed=0, power=1.0)
    rng = np.random.default_rng(5)
    # With a tenth of the spikes the answers are noise that is as sure as ever.
    noise = answers._replace(
        probabilities=rng.permutation(answers.probabilities), input_spikes=answers.input_spikes // 10
    )
    temperature = fit_temperature(answers, labels, [noise])
    few = temperature(answers.probabilities[:, -1], T, answers.input_spikes[:, -1] // 10)
    many = temperature(answers.probabilities[:, -1], T, answers.input_spikes[:, -1])
    assert few.max(axis=1).mean() < 0.45
    assert many.max(axis=1).mean() > 0.9


def test_without_a_spike_all_classes_are_alike():
    np.testing.assert_array_equal(FLAT(np.array([0.97, 0.01, 0.01, 0.01]), 30, 0), np.full(4, 0.25))


def test_the_order_of_the_classes_stays():
    rng = np.random.default_rng(0)
    wild = Temperature(T, FLAT.median_spikes, tuple(map(tuple, rng.uniform(-3, 1, (6, 6)))), 1)
    p = rng.dirichlet(np.ones(C), (50, T))
    found = wild(p, np.arange(1, T + 1), rng.integers(1, 300, (50, T)))
    np.testing.assert_array_equal(found.argsort(axis=-1), p.argsort(axis=-1))
    np.testing.assert_allclose(found.sum(axis=-1), 1)


def test_many_answers_at_once_are_those_of_one_after_the_other():
    rng = np.random.default_rng(0)
    wild = Temperature(T, FLAT.median_spikes, tuple(map(tuple, rng.uniform(-3, 1, (6, 6)))), 1)
    p, spikes = rng.dirichlet(np.ones(C), (3, 60)), rng.integers(0, 300, (3, 60))
    together = wild(p, np.arange(1, 61), spikes)
    for n in range(3):
        for t in range(60):
            np.testing.assert_allclose(wild(p[n, t], t + 1, int(spikes[n, t])), together[n, t])


def test_beyond_the_longest_recording_nothing_changes_but_by_the_share_of_spikes():
    power = tuple((float(row),) * 6 for row in np.linspace(-2, 1, 6))
    temperature, p = Temperature(T, FLAT.median_spikes, power, 1), np.array([0.7, 0.1, 0.1, 0.1])
    np.testing.assert_allclose(temperature(p, T, 10**6), temperature(p, 100 * T, 10**6))


@pytest.mark.parametrize("decoder", ["vote", "likelihood", "per-step"])
def test_bulk_and_stream_apply_it_alike(decoder: str):
    network = gemsnn.Network.fully_connected(n_inputs=6, n_hidden=5, n_visible=3)
    parameters, rng = network.init(seed=0), np.random.default_rng(0)
    inputs = rng.integers(0, 2, (4, 12, 6)).astype(np.uint8)
    wild = Temperature(12, FLAT.median_spikes, tuple(map(tuple, rng.uniform(-2, 1, (6, 6)))), 1)
    how = {"decoder": decoder, "temperature": wild}
    anytime = gemsnn.predict_anytime(network, parameters, inputs, 3, **how)
    np.testing.assert_array_equal(anytime.input_spikes, inputs.sum(axis=2).cumsum(axis=1))
    np.testing.assert_allclose(
        gemsnn.predict(network, parameters, inputs, 3, **how).probabilities, anytime.probabilities[:, -1], rtol=1e-12
    )
    raw = gemsnn.predict_anytime(network, parameters, inputs, 3, decoder=decoder)
    np.testing.assert_array_equal(raw.classes, anytime.classes)
    np.testing.assert_allclose(
        wild(raw.probabilities, np.arange(1, 13), raw.input_spikes), anytime.probabilities, rtol=1e-12
    )


def test_recordings_of_different_lengths_are_fitted():
    answers, labels = answers_that_are_wrongly_sure(60, seed=0)
    each = []
    for n in range(60):
        classes, probabilities, hidden, spikes = (
            field[n, : 10 + n % 30] for field in (*answers[:3], answers.input_spikes)
        )
        each.append(AnytimePrediction(classes, probabilities, hidden, input_spikes=spikes))
    assert fit_temperature(each, labels).n_steps == 39


def test_impossible_values_are_refused():
    answers, labels = answers_that_are_wrongly_sure(10, seed=0)
    with pytest.raises(ShapeError, match="one is needed for each of the 10"):
        fit_temperature(answers, labels[:9])
    with pytest.raises(DataError, match="from 0 to 3"):
        fit_temperature(answers, labels + 4)
    with pytest.raises(ConfigError, match="log_power must be 6 x 6"):
        Temperature(T, FLAT.median_spikes, ((float("nan"),) * 6,) * 6, 1)
    assert Temperature(**FLAT.to_dict()) == FLAT


def test_thinned_copies_lose_spikes_and_gain_none():
    spikes = np.random.default_rng(0).random((50, 20)) < 0.3
    copies = [spikes_left_out(spikes, np.random.default_rng(seed)) for seed in range(200)]
    assert all(not (copy & ~spikes).any() for copy in copies)
    shares = np.array([copy.sum() / spikes.sum() for copy in copies])
    assert shares.min() < 0.02
    assert 0.5 < shares.max() < 0.8

"""From signals and measurements to spikes, and back."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from gemsnn import ConfigError, DataError, ShapeError, encode

RNG = np.random.default_rng(0)

# ---- delta modulation


def delta_one_by_one(x, threshold):
    """The equations, a sample at a time."""
    reference, off, on = x[0], [], []
    for value in x:
        change = value - reference
        on.append(change >= threshold)
        off.append(change <= -threshold)
        reference += threshold * (int(on[-1]) - int(off[-1]))
    return np.array([off, on]).T


@given(
    x=st.lists(st.integers(-40, 40), min_size=1, max_size=50),
    threshold=st.sampled_from([0.25, 1.0, 3.5]),
)
def test_delta_modulation_is_what_its_equations_say(x, threshold):
    signal = np.array(x, dtype=float)
    found = encode.delta_modulation(signal[:, None], threshold)
    np.testing.assert_array_equal(found, delta_one_by_one(signal, threshold))
    assert not (found[:, 0] & found[:, 1]).any()


@settings(max_examples=50)
@given(seed=st.integers(0, 1000), steepest=st.floats(0.01, 1.0))
def test_a_signal_that_changes_by_a_threshold_at_most_comes_back_within_a_threshold(seed, steepest):
    changes = np.random.default_rng(seed).uniform(-1, 1, (3, 200, 4)) * steepest * 0.999
    signals, threshold = np.cumsum(changes, axis=1), np.array([1.0, 1.5, 2.0, 3.0])
    spikes = encode.delta_modulation(signals, threshold)
    back = encode.delta_demodulation(spikes, threshold, signals[:, 0])
    assert (np.abs(back - signals) < threshold).all()


def test_a_batch_is_its_signals_one_by_one_and_off_comes_before_on():
    signals = RNG.normal(size=(2, 5, 30, 3)).cumsum(axis=2)
    spikes = encode.delta_modulation(signals, 0.5)
    assert spikes.shape == (2, 5, 30, 6)
    np.testing.assert_array_equal(spikes[1, 4], encode.delta_modulation(signals[1, 4], 0.5))
    rising = encode.delta_modulation(np.arange(10.0)[:, None], 1)
    np.testing.assert_array_equal(rising.sum(axis=0), [0, 9])


def test_a_jump_is_followed_a_threshold_per_step():
    spikes = encode.delta_modulation([[0.0], *[[5.0]] * 9], 1)
    assert spikes[:, 1].tolist() == [False] + [True] * 5 + [False] * 4


# ---- rate and latency


def test_rates_are_those_that_were_asked_for():
    """Binomial, each within 99.99 % of its distribution; independent between channels."""
    values, n, highest = np.array([0.0, 0.2, 0.7, 1.0]), 20_000, 0.4
    spikes = encode.rate(values, n, seed=3, highest=highest)
    for count, value in zip(spikes.sum(axis=0), values, strict=True):
        low, high = stats.binom.interval(0.9999, n, highest * value)
        assert low <= count <= high
    assert abs(np.corrcoef(spikes[:, 2], spikes[:, 3])[0, 1]) < 0.03
    np.testing.assert_array_equal(spikes, encode.rate(values, n, seed=3, highest=highest))
    assert (spikes != encode.rate(values, n, seed=4, highest=highest)).any()
    assert encode.rate(values, 5, seed=0, highest=1.0)[:, 3].all()


@given(n_steps=st.integers(2, 40), values=st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_latency_comes_back_within_half_a_step(n_steps, values):
    spikes = encode.latency(values, n_steps)
    assert spikes.shape == (n_steps, len(values))
    assert set(spikes.sum(axis=0).tolist()) <= {0, 1}
    back = encode.latency_inverse(spikes)
    assert np.abs(back - values).max() <= 0.5 / (n_steps - 1) + 1e-12


def test_larger_values_come_earlier_and_small_ones_not_at_all():
    spikes = encode.latency([[0.05, 0.1, 0.5, 0.9]], 11, least=0.1)
    assert spikes.any(axis=1).tolist() == [[False, False, True, True]]
    assert spikes.argmax(axis=1)[0, 2:].tolist() == [5, 1]


# ---- receptive fields


@pytest.mark.parametrize("n_fields", [2, 3, 8])
@pytest.mark.parametrize("width", [0.4, 1.0, 3.0])
def test_receptive_fields_are_bell_curves_and_tell_the_value_exactly(n_fields, width):
    fields = encode.ReceptiveFields(-2.0, 3.0, n_fields, width)
    values = RNG.uniform(-2, 3, (7, 4))
    activity = fields.encode(values)
    expected = stats.norm.pdf(values[..., None], fields.centres, fields.deviation)
    expected /= stats.norm.pdf(0, 0, fields.deviation)
    np.testing.assert_allclose(activity, expected.reshape(7, -1), rtol=1e-12)
    np.testing.assert_allclose(fields.decode(activity), values, atol=1e-9)


@pytest.mark.parametrize(("low", "high"), [(-1e99, 1e99), (0.0, 1e-300), (0.0, 1e-310)])
def test_a_range_may_be_as_large_or_small_as_numbers_are(low, high):
    fields = encode.ReceptiveFields(low, high)
    values = low + np.linspace(0, 1, 20) * (high - low)
    np.testing.assert_allclose(fields.encode(values), encode.ReceptiveFields(0, 1).encode(np.linspace(0, 1, 20)))
    np.testing.assert_allclose(fields.decode(fields.encode(values)), values, rtol=1e-9, atol=1e-9 * (high - low))


def test_values_beyond_the_range_are_taken_to_its_ends():
    fields = encode.ReceptiveFields(0, 1, 4)
    np.testing.assert_array_equal(fields.encode([[-5.0, 9.0]]), fields.encode([[0.0, 1.0]]))


def test_the_fields_of_a_value_stand_side_by_side():
    fields = encode.ReceptiveFields(0, 2, 3)
    assert fields.encode([0.0, 2.0]).argmax() == 0
    assert fields.encode([0.0, 2.0]).reshape(2, 3).argmax(axis=1).tolist() == [0, 2]


# ---- at the door

GOOD = np.zeros((5, 2))


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: encode.delta_modulation([[1.0], [np.nan]], 1), DataError, r"signals\[1, 0\] is nan; fill gaps in"),
        (lambda: encode.delta_modulation([1.0, 2.0], 1), ShapeError, r"signals has shape \(2,\), but \(\.\.\., T, n\)"),
        (lambda: encode.delta_modulation(np.zeros((0, 2)), 1), ShapeError, "at least one of each"),
        (lambda: encode.delta_modulation([["a"]], 1), DataError, "must be an array of numbers"),
        (lambda: encode.delta_modulation([[1], [1, 2]], 1), DataError, "must be an array of numbers"),
        (lambda: encode.delta_modulation(GOOD, 0), ConfigError, "threshold must be a number above 0"),
        (lambda: encode.delta_modulation(GOOD, np.inf), ConfigError, "threshold must be"),
        (lambda: encode.delta_modulation(GOOD, True), ConfigError, "threshold must be"),
        (lambda: encode.delta_modulation(GOOD, [1, 2, 3]), ShapeError, r"threshold has shape \(3,\).* 2 channels"),
        (lambda: encode.delta_demodulation(np.zeros((5, 3)), 1), ShapeError, "come in pairs"),
        (lambda: encode.delta_demodulation(np.full((5, 2), 2), 1), DataError, "0 or 1"),
        (lambda: encode.delta_demodulation(np.zeros((5, 4)), 1, [1, 2, 3]), ShapeError, "start has shape"),
        (lambda: encode.rate([0.5, 1.5], 5, seed=0), DataError, r"must be in \[0, 1\], but ranges from 0.5 to 1.5"),
        (lambda: encode.rate([0.5], 0, seed=0), ConfigError, "n_steps"),
        (lambda: encode.rate([0.5], 5, seed=-1), ConfigError, "seed"),
        (lambda: encode.rate([0.5], 5, seed=0, highest=0), ConfigError, "highest must be a probability"),
        (lambda: encode.latency([-0.5], 5), DataError, "values must be in"),
        (lambda: encode.latency([0.5], 1), ConfigError, "n_steps"),
        (lambda: encode.latency([0.5], 5, least=1.0), ConfigError, "least"),
        (lambda: encode.ReceptiveFields(1, 1), ConfigError, "two ends of a range"),
        (lambda: encode.ReceptiveFields(0, np.inf), DataError, "high"),
        (lambda: encode.ReceptiveFields(0, 1, 1), ConfigError, "n_fields"),
        (lambda: encode.ReceptiveFields(0, 1, width=-1), ConfigError, "width"),
        (lambda: encode.ReceptiveFields(0, 1, width=1e200), ConfigError, "width"),
        (lambda: encode.ReceptiveFields(-1.7e308, 1.7e308), DataError, r"low has numbers beyond 1e\+100"),
        (lambda: encode.delta_modulation([[-1.7e308], [1.7e308]], 1), DataError, r"beyond 1e\+100; scale it"),
        (lambda: encode.delta_demodulation(np.ones((9, 2)), 1.7e308), ConfigError, r"up to 1e\+100"),
        (lambda: encode.ReceptiveFields(0, 1, 4).decode(np.zeros(7)), ShapeError, "not a multiple of 4 fields"),
    ],
)
def test_what_cannot_be_encoded_is_refused_with_what_is_wrong(call, kind, words):
    with pytest.raises(kind, match=words):
        call()


def test_arguments_are_never_changed():
    signal = RNG.normal(size=(9, 2))
    before = signal.copy()
    encode.delta_modulation(signal, 0.3)
    encode.ReceptiveFields(-3, 3).encode(signal)
    np.testing.assert_array_equal(signal, before)

"""Filters: how a neuron remembers spikes."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gemsnn
from gemsnn import ConfigError, Exponential, Filter, RaisedCosine


@given(st.integers(1, 4), st.integers(4, 40), st.floats(1, 50))
def test_every_raised_cosine_has_unit_area_and_weighs_nothing_negatively(n_basis, duration, offset):
    taps = RaisedCosine(n_basis, duration, offset).taps
    assert taps.shape == (n_basis, duration)
    np.testing.assert_allclose(taps.sum(axis=1), 1, rtol=1e-12)
    assert (taps >= 0).all()


@pytest.mark.parametrize(("n_basis", "duration", "offset"), [(3, 10, 1.0), (1, 1, 1.0), (2, 20, 4.0), (4, 30, 1.0)])
def test_raised_cosines_follow_their_formula_point_by_point(n_basis, duration, offset):
    taps = RaisedCosine(n_basis, duration, offset).taps
    spacing = math.log((duration + offset) / offset) / (n_basis + 1)
    for b in range(n_basis):
        bump = []
        for tau in range(duration):
            distance = (math.log(tau + offset) - math.log(offset) - b * spacing) / spacing  # in spacings
            bump.append(math.cos(math.pi * distance / 4) ** 2 if abs(distance) < 2 else 0.0)
        np.testing.assert_allclose(taps[b], np.array(bump) / sum(bump), atol=1e-14)


def test_the_first_bump_peaks_at_the_most_recent_spike_and_later_ones_later():
    peaks = RaisedCosine(3, 20).taps.argmax(axis=1)
    assert peaks[0] == 0
    assert peaks[0] < peaks[1] < peaks[2]


def test_a_large_offset_spaces_the_bumps_evenly_in_time():
    def centres(offset):
        return RaisedCosine(3, 201, offset).taps.argmax(axis=1)

    early, even = centres(1.0), centres(1e4)
    assert abs((even[2] - even[1]) - (even[1] - even[0])) <= 1
    assert (early[2] - early[1]) > 2 * (early[1] - early[0])


@given(st.lists(st.floats(0.1, 100), min_size=1, max_size=4), st.integers(1, 30))
def test_exponentials_have_unit_area_and_their_decay(time_constants, duration):
    filter_ = Exponential(time_constants, duration)
    np.testing.assert_allclose(filter_.taps.sum(axis=1), 1, rtol=1e-12)
    for constant, basis in zip(time_constants, filter_.taps, strict=True):
        for lag in range(2, duration + 1):
            assert basis[lag - 1] == pytest.approx(basis[0] * math.exp(-(lag - 1) / constant), rel=1e-9, abs=1e-300)


def test_a_single_time_constant_needs_no_list():
    assert Exponential(2.0, 5) == Exponential([2.0], 5)


def test_a_filter_keeps_the_taps_it_is_given():
    taps = np.array([[2.0, -1.0], [0.5, 0.0]])
    filter_ = Filter(taps)
    taps[:] = 7
    np.testing.assert_array_equal(filter_.taps, [[2.0, -1.0], [0.5, 0.0]])
    assert (filter_.n_basis, filter_.duration) == (2, 2)


def test_taps_cannot_be_changed_afterwards():
    with pytest.raises(ValueError, match="read-only"):
        RaisedCosine().taps[0, 0] = 1


def test_filters_with_the_same_taps_are_equal_and_hash_alike():
    assert Filter(RaisedCosine(2, 5).taps) == RaisedCosine(2, 5)
    assert hash(Filter(RaisedCosine(2, 5).taps)) == hash(RaisedCosine(2, 5))
    assert RaisedCosine(2, 5) != RaisedCosine(2, 6)
    assert RaisedCosine(2, 5) != "a filter"


def test_the_first_tap_weighs_the_spike_just_before():
    # A neuron whose only source spikes at step 0: its potential at step t is the tap of lag t.
    taps = [[0.1, 0.7, 0.2]]
    network = gemsnn.Network(gemsnn.Topology(1, 0, 1, [[1, 0]]), Filter(taps), Filter([[1.0]]))
    parameters = gemsnn.Parameters(np.array([[[3.0], [0.0]]]), np.zeros((1, 1)), np.zeros(1))
    inputs = np.zeros((5, 1))
    inputs[0] = 1
    for engine in ("compiled", "reference"):
        result = gemsnn.learn(
            network, parameters, gemsnn.GEM(learning_rate=0.0), inputs, np.ones((5, 1)), engine=engine
        )
        u = -np.log(np.expm1(-result.log_likelihood[:, 0]))  # log sigmoid(u), turned round
        np.testing.assert_allclose(u, [0, 0.3, 2.1, 0.6, 0], atol=1e-9)


@pytest.mark.parametrize("filter_", [RaisedCosine(), Exponential((1.0, 4.0), 8), Filter([[1.0, 2.0]])], ids=repr)
def test_the_plot_shows_every_basis_against_the_lag(filter_):
    import matplotlib.pyplot as plt

    axes = filter_.plot()
    try:
        assert len(axes.lines) == filter_.n_basis
        for line, basis in zip(axes.lines, filter_.taps, strict=True):
            np.testing.assert_array_equal(line.get_xdata(), np.arange(1, filter_.duration + 1))
            np.testing.assert_array_equal(line.get_ydata(), basis)
        assert "lag" in axes.get_xlabel()
        axes.figure.canvas.draw()  # with every text and marker
        assert filter_.plot(ax=axes, color="red") is axes
        assert axes.lines[-1].get_color() == "red"
    finally:
        plt.close(axes.figure)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: RaisedCosine(n_basis=0), "n_basis must be a whole number of at least 1, got 0"),
        (lambda: RaisedCosine(n_basis=4, duration=3), "n_basis=4, duration=3"),
        (lambda: RaisedCosine(n_basis=2.5), "n_basis .*2.5"),
        (lambda: RaisedCosine(duration=10.5), "duration .*10.5"),
        (lambda: RaisedCosine(offset=0), "offset .* got 0"),
        (lambda: RaisedCosine(offset=float("nan")), "offset .* got nan"),
        (lambda: RaisedCosine(n_basis=10, duration=10, offset=1e-6), "use fewer bases"),
        (lambda: Exponential(time_constants=()), "time_constants"),
        (lambda: Exponential(time_constants=(1.0, -1.0)), "time_constants must be positive"),
        (lambda: Exponential(time_constants=(float("inf"),)), "time_constants"),
        (lambda: Exponential(duration=0), "duration .* got 0"),
        (lambda: Exponential(duration=2.5), "duration .*2.5"),
        (lambda: Filter([1.0, 2.0]), r"taps must have shape \(n_basis, duration\).* got \(2,\)"),
        (lambda: Filter(np.zeros((0, 3))), r"got \(0, 3\)"),
        (lambda: Filter([[1.0, float("nan")]]), "taps must be finite"),
    ],
)
def test_an_impossible_filter_is_refused_with_the_reason(build, message):
    with pytest.raises(ConfigError, match=message):
        build()


def test_exponentials_are_known_by_their_taps_wherever_these_come_from():
    made = Exponential(time_constants=(0.01, 2.0, 80.0), duration=90)
    np.testing.assert_allclose(made.decay, np.exp(-1 / np.array([0.01, 2.0, 80.0])), rtol=1e-12)
    np.testing.assert_array_equal(Filter(made.taps).decay, made.decay)
    for taps in ([[1.0, 1.0]], [[0.5, 0.7]], [[1.0, -0.5]], [[0.0, 0.0]], [[0.4, 0.2, 0.1001]], [[1.0]]):
        assert Filter(taps).decay is None
    assert RaisedCosine(3, 10).decay is None

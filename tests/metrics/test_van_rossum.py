"""The distance of spike trains, against a direct convolution and cases known by heart."""

import numpy as np
import pytest

import gemsnn
from gemsnn import ConfigError, ShapeError
from gemsnn.metrics import van_rossum_distance


def train(length, *times):
    spikes = np.zeros((length, 1))
    spikes[list(times)] = 1
    return spikes


@pytest.mark.parametrize("tau", [0.3, 1.0, 5.0, 40.0])
def test_it_is_the_distance_of_the_trains_convolved_with_an_exponential(tau):
    rng = np.random.default_rng(0)
    spikes, targets = rng.integers(0, 2, (2, 30, 4))
    long = 2000  # until nothing is left of the last spike
    kernel = np.exp(-np.arange(long) / tau)
    f, g = (np.stack([np.convolve(x[:, i], kernel) for i in range(4)], axis=1) for x in (spikes, targets))
    expected = np.sqrt((1 - np.exp(-2 / tau)) / 2 * ((f - g) ** 2).sum(axis=0))
    np.testing.assert_allclose(van_rossum_distance(spikes, targets, tau), expected, rtol=1e-9)


@pytest.mark.parametrize("tau", [0.5, 5.0, 20.0])
def test_known_cases(tau):
    silence = train(400)
    assert van_rossum_distance(train(400, 3, 7), train(400, 3, 7), tau) == 0
    for time in (0, 100, 399):  # wherever it is, also at the end
        assert van_rossum_distance(train(400, time), silence, tau) ** 2 == pytest.approx(0.5)
    assert van_rossum_distance(train(400, 0), train(400, 399), tau) ** 2 == pytest.approx(1.0, abs=1e-6)
    near, far = (van_rossum_distance(train(400, 50), train(400, 50 + lag), tau)[0] for lag in (1, 3))
    assert 0 < near < far < 1
    assert near**2 == pytest.approx(1 - np.exp(-1 / tau))


def test_neurons_are_apart_and_shapes_broadcast():
    spikes = np.zeros((2, 5, 10, 3))
    spikes[1, :, 4, 2] = 1
    found = van_rossum_distance(spikes, np.zeros((10, 3)))
    assert found.shape == (2, 5, 3)
    np.testing.assert_allclose(found[1, :, 2] ** 2, 0.5)
    assert np.count_nonzero(found) == 5


def test_impossible_arguments_are_refused():
    with pytest.raises(ConfigError, match="tau must be a number of steps above 0, got 0"):
        van_rossum_distance(train(5), train(5), 0)
    with pytest.raises(ShapeError, match=r"spikes have shape \(5, 1\) and targets \(6, 1\)"):
        van_rossum_distance(train(5), train(6))
    assert issubclass(ConfigError, gemsnn.GemsnnError)

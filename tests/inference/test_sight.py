"""When there is something in sight: from how quiet training recordings ever are."""

import numpy as np
import pytest

from gemsnn.inference.sight import Sight, fit_sight
from gemsnn.model.spike_list import SpikeList


def steady(rate, T=80, n=50, seed=0):
    return SpikeList.from_array(np.random.default_rng(seed).random((T, n)) < rate, "recording")


def test_half_of_what_is_there_at_the_quietest_is_not_enough():
    sight = fit_sight([steady(0.2, seed=seed) for seed in range(50)], 80)
    assert sight.window == 10
    assert sight.least == pytest.approx(10 * 10 / 2, rel=0.3)  # ten spikes a step
    assert sight.first_window == 2
    assert sight.first_least == pytest.approx(10, rel=0.3)


def test_silence_before_the_first_spike_and_after_the_last_says_nothing():
    framed = np.zeros((200, 50), dtype=bool)
    framed[60:140] = steady(0.2).to_array(50)
    assert fit_sight([SpikeList.from_array(framed, "x")], 80) == fit_sight([steady(0.2)], 80)


def test_recordings_that_pause_are_looked_at_for_longer():
    pausing = np.zeros((80, 50), dtype=bool)
    pausing[:20] = pausing[35:] = True  # silent for fifteen steps
    assert fit_sight([SpikeList.from_array(pausing, "x")], 80).window == 20


def test_where_nothing_is_known_only_silence_of_a_whole_recording_is_nothing():
    empty = SpikeList.from_array(np.zeros((80, 5)), "x")
    rare = np.zeros((80, 5))
    rare[[0, 79], 0] = 1
    for recordings in ([], [empty], [SpikeList.from_array(rare, "x")]):
        assert fit_sight(recordings, 80) == Sight(80, 1)
    assert fit_sight([], 1) == Sight(1, 1)

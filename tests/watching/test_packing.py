import base64

import numpy as np
import pytest
from watched import frames_of, unpacked

from gemsnn.watching.packing import pack_numbers, pack_shares, pack_spikes


def test_whole_numbers_of_any_size_come_back():
    values = np.array([0, 1, 127, 128, 300, 16383, 16384, 2**21, 2**28, 2**31, 2**40])
    assert unpacked(pack_numbers(values)) == values.tolist()
    assert pack_numbers(np.zeros(0, dtype=int)) == ""


@pytest.mark.parametrize("width", [5, 300, 2 * 1280 * 720])
def test_spikes_come_back_frame_by_frame_in_order_and_once(width):
    rng = np.random.default_rng(0)
    frames, places = rng.integers(0, 7, 200), rng.integers(0, width, 200)
    frames[frames == 3] = 4  # a frame without any
    found = frames_of(pack_spikes(np.append(frames, frames[0]), np.append(places, places[0]), 8))
    assert found == [sorted(set(places[frames == f].tolist())) for f in range(8)]


def test_no_spikes_at_all():
    nothing = np.zeros(0, dtype=np.int64)
    assert unpacked(pack_spikes(nothing, nothing, 3)) == [0, 0, 0]


def test_a_spike_takes_a_byte_or_two():
    rng = np.random.default_rng(0)
    frames, places = np.divmod(np.flatnonzero(rng.random(20 * 20_000) < 0.02), 20_000)
    assert len(base64.b64decode(pack_spikes(frames, places, 20))) < 1.5 * len(frames)


def test_shares_are_told_to_sixteen_bits():
    values = np.array([0.0, 0.25, 1.0, 1 / 3])
    told = np.frombuffer(base64.b64decode(pack_shares(values)), "<u2") / 65535
    np.testing.assert_allclose(told, values, atol=1e-5)

"""The real recordings decode to what is known of them."""

import warnings
from pathlib import Path

import numpy as np
import pytest

from gemsnn.events import bin_events, mnist_dvs_preprocessing, nmnist_preprocessing, read_aedat, read_nmnist
from gemsnn.events.records import Events


@pytest.fixture(scope="module")
def zeros(real_data: Path) -> list[Events]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return [read_aedat(file) for file in sorted((real_data / "mnist-dvs/grabbed_data0/scale4").glob("*.aedat"))]


@pytest.fixture(scope="module")
def digits(real_data: Path) -> dict[int, list[Events]]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        folder = real_data / "n-mnist/Train"
        return {d: [read_nmnist(file) for file in sorted((folder / str(d)).glob("*.bin"))] for d in range(10)}


def test_mnist_dvs_counts_durations_and_polarities(zeros: list[Events]) -> None:
    counts = np.array([len(e) for e in zeros])
    durations = np.array([e["t"][-1] for e in zeros]) / 1000
    assert len(zeros) == 100
    assert counts.min() >= 10_076
    assert counts.max() <= 23_434
    assert abs(np.median(counts) - 17_059) < 1_000
    assert durations.min() >= 1_936
    assert durations.max() <= 2_492.5
    assert abs(np.median(durations) - 2_273) < 50
    assert all(e["t"][0] == 0 for e in zeros)
    assert all((np.diff(e["t"]) >= 0).all() for e in zeros)
    off = np.mean(np.concatenate([e["p"] for e in zeros]) == 0)
    assert off == pytest.approx(0.49, abs=0.01)


def test_mnist_dvs_crop_and_density(zeros: list[Events]) -> None:
    inside = [((e["x"] >= 48) & (e["x"] <= 73) & (e["y"] >= 48) & (e["y"] <= 73)).mean() for e in zeros]
    assert np.mean(inside) == pytest.approx(0.82, abs=0.02)
    density = np.mean([mnist_dvs_preprocessing().planes(e).any(axis=1).mean() for e in zeros])  # polarities merged
    assert density == pytest.approx(0.117, abs=0.005)


def test_mnist_dvs_zeros_stand_upright_and_lean_right_as_handwriting_does(zeros: list[Events]) -> None:
    choices = mnist_dvs_preprocessing()
    slants, tall = [], []
    for e in zeros:
        picture = choices.upright(choices.planes(e).sum(axis=(0, 1))).astype(float)
        row, column = np.mgrid[:26, :26]
        (vertical, mixed), (_, horizontal) = np.cov(row.ravel(), column.ravel(), fweights=picture.ravel().astype(int))
        slants.append(mixed)
        tall.append(vertical / horizontal)
    assert np.mean(slants) < -3  # the top is to the right of the bottom
    assert np.mean(tall) > 1


def test_nmnist_counts_and_durations(digits: dict[int, list[Events]]) -> None:
    assert [len(digits[d]) for d in range(10)] == [97, 116, 99, 93, 105, 92, 94, 117, 87, 100]
    everything = [e for d in range(10) for e in digits[d]]
    counts = np.array([len(e) for e in everything])
    durations = np.array([e["t"][-1] - e["t"][0] for e in everything]) / 1000
    assert counts.min() >= 1_069
    assert counts.max() == 7_152
    assert durations.min() >= 290.9
    assert durations.max() < 314
    assert max(e["x"].max() for e in everything) == max(e["y"].max() for e in everything) == 33


def test_nmnist_density_and_upright_ones(digits: dict[int, list[Events]]) -> None:
    choices = nmnist_preprocessing()
    density = np.mean([choices.planes(e).any(axis=1).mean() for d in range(10) for e in digits[d][:20]])
    assert 0.03 < density < 0.08
    ones = sum(choices.planes(e).sum(axis=(0, 1)) for e in digits[1])
    row, column = np.mgrid[:34, :34]
    vertical, horizontal = np.cov(row.ravel(), column.ravel(), fweights=ones.ravel()).diagonal()
    assert vertical > 1.5 * horizontal


def test_tonic_reads_and_bins_nmnist_alike(real_data: Path) -> None:
    """The other library as an oracle, where it is installed."""
    io = pytest.importorskip("tonic.io")
    transforms = pytest.importorskip("tonic.transforms")
    frames_of = transforms.ToFrame(sensor_size=(34, 34, 2), time_window=5000)
    dtype = np.dtype([("x", int), ("y", int), ("t", int), ("p", int)])
    for file in sorted((real_data / "n-mnist/Train").rglob("*.bin"))[::50]:
        theirs = io.read_mnist_file(str(file), dtype=dtype)
        ours = read_nmnist(file)
        assert all((ours[field] == theirs[field]).all() for field in "xytp")
        frames = frames_of(theirs) > 0
        spikes = bin_events(theirs, sensor_size=(34, 34), bin_us=5000, n_steps=len(frames), polarity="separate")
        assert (spikes.reshape(frames.shape) == frames).all()

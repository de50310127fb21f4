"""What simulated and real recordings of zeros are compared by: used by fit_simulator.py and report_simulator.py."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import binary_fill_holes, gaussian_filter, gaussian_filter1d, label

from gemsnn.events import find_mnist_dvs, mnist_dvs_preprocessing, read_aedat
from gemsnn.events.records import Events
from gemsnn.events.simulated import mnist_images
from gemsnn.events.simulator import DVS, path_of, simulate_recording

SETTINGS = mnist_dvs_preprocessing(4).model_copy(update={"polarity": "merged"})
NEAR = slice(40, 88)
"""Rows and columns that the digit can reach; what happens elsewhere is background noise."""
INTERVALS_US = np.geomspace(300, 2_000_000, 61)
RATE_BIN_US = 25_000
LAGS_MS = 60
FINE = 3
"""Samples a sensor pixel when a digit's outline is put together from events along the path."""


@dataclass
class Summary:
    """What one recording looks like in numbers."""

    n_events: int
    duration_ms: float
    on_share: float
    density: float
    """Share of the 80 x 26 x 26 cells that hold a spike, polarities merged."""
    density_off: float
    density_on: float
    crop_share: float
    far_events: int
    """Events where the digit never comes."""
    per_cell: NDArray[np.float64]
    """Share of the occupied cells that hold 1, 2, ... 8 events."""
    occupancy: NDArray[np.float64]
    """(128, 128) events of each pixel, upright."""
    rate: NDArray[np.float64]
    """(80,) events a ms, in 25 ms."""
    autocorrelation: NDArray[np.float64]
    """(60,) of the event rate in 1 ms bins."""
    same: NDArray[np.int64]
    """Intervals between a pixel's successive events of the same polarity, counts in INTERVALS_US."""
    other: NDArray[np.int64]
    """The same for successive events of opposite polarity."""
    locked_on: float
    locked_off: float
    """How strongly ON and OFF events are locked to the screen's frames: 0 is not at all, 1 is entirely."""


def summarise(events: Events, frame_rate: float) -> Summary:
    t, x, y, p = (events[name].astype(np.int64) for name in ("t", "x", "y", "p"))
    planes = SETTINGS.planes(events)
    row, column = x, 127 - y
    occupancy = np.zeros((128, 128))
    np.add.at(occupancy, (row, column), 1)
    far = occupancy.sum() - occupancy[NEAR, NEAR].sum()

    first, last = SETTINGS.columns
    inside = (x >= first) & (x <= last) & (y >= first) & (y <= last)
    early = inside & (t < SETTINGS.n_steps * SETTINGS.bin_us)
    cells = (t // SETTINGS.bin_us * 128 + x) * 128 + y
    _, per_cell = np.unique(cells[early], return_counts=True)

    pixel = x * 128 + y
    order = np.lexsort((t, pixel))
    pair = np.diff(pixel[order]) == 0
    intervals = np.diff(t[order])[pair]
    repeated = (np.diff(p[order]) == 0)[pair]

    rate = np.bincount(np.minimum(t // RATE_BIN_US, 80), minlength=81)[:80] / (RATE_BIN_US / 1000)
    fine = np.bincount(t // 1000)[:1900].astype(float)
    fine -= gaussian_filter1d(fine, 100)
    spectrum = np.abs(np.fft.rfft(fine, 4096)) ** 2
    autocorrelation = np.fft.irfft(spectrum)[:LAGS_MS]
    turn = np.exp(2j * np.pi * frame_rate * t / 1e6)
    return Summary(
        n_events=len(t),
        duration_ms=float(t[-1] - t[0]) / 1000,
        on_share=float(p.mean()),
        density=float(planes.any(axis=1).mean()),
        density_off=float(planes[:, 0].mean()),
        density_on=float(planes[:, 1].mean()),
        crop_share=float(inside.mean()),
        far_events=int(far),
        per_cell=np.bincount(np.minimum(per_cell, 8), minlength=9)[1:] / len(per_cell),
        occupancy=occupancy,
        rate=rate,
        autocorrelation=autocorrelation / autocorrelation[0],
        same=np.histogram(intervals[repeated], INTERVALS_US)[0],
        other=np.histogram(intervals[~repeated], INTERVALS_US)[0],
        locked_on=float(np.abs(turn[p == 1].mean())),
        locked_off=float(np.abs(turn[p == 0].mean())),
    )


def simulate_zeros(dvs: DVS, images: Sequence[int], seed: int = 0) -> list[Events]:
    zeros = mnist_images()[0]
    return [simulate_recording(zeros[i], np.random.SeedSequence([seed, i]), dvs) for i in images]


def read_zeros(folder: Path) -> list[Events]:
    return [read_aedat(recording.path) for recording in find_mnist_dvs(folder, [0]).recordings]


def roughness(summaries: list[Summary]) -> float:
    """How unequal neighbouring pixels are: the spread of their events around the local mean, where the digit is."""
    occupancy = np.mean([s.occupancy for s in summaries], axis=0)
    local = gaussian_filter(occupancy, 2.0)
    busy = local > 0.5 * local.max()
    return float((occupancy[busy] / local[busy]).std())


def outline(events: Events, dvs: DVS, shift: float = 0.0) -> NDArray[np.float64]:
    """Where a recording's events lie relative to the moving picture's centre, FINE samples a pixel, smoothed."""
    near = (np.abs(events["x"] - 62) < 22) & (np.abs(events["y"] - 63) < 22)
    some = events[near]
    centre = path_of(dvs, some["t"] / 1e6 + shift)
    row = np.round((some["x"] - centre[:, 0] + 32) * FINE).astype(int)
    column = np.round((127 - some["y"] - centre[:, 1] + 32) * FINE).astype(int)
    image = np.zeros((64 * FINE, 64 * FINE))
    np.add.at(image, (row.clip(0, 64 * FINE - 1), column.clip(0, 64 * FINE - 1)), 1)
    return gaussian_filter(image, 0.55 * FINE)


def silhouette(image: NDArray[np.float64]) -> NDArray[np.float64]:
    """Area, centre row, centre column, and the three second moments of a filled outline, in sensor pixels."""
    filled = binary_fill_holes(image > 0.12 * np.percentile(image, 99))
    parts, _ = label(filled)
    largest = parts == 1 + np.argmax(np.bincount(parts.ravel())[1:])
    row, column = np.nonzero(largest)
    moments = np.cov(row / FINE, column / FINE)
    return np.array(
        [len(row) / FINE**2, row.mean() / FINE - 32, column.mean() / FINE - 32, *moments[[0, 1, 0], [0, 1, 1]]]
    )

"""A simulated event camera: a DVS watching an MNIST digit move along a slow closed path on a screen.

It gives events, so that everything after it is the same code as for real recordings. Its constants are fitted to the
real MNIST-DVS recordings of digit 0 (`gemsnn.events.calibration`); what it gets right
and what wrong is in docs/simulator.md.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gemsnn.errors import ShapeError
from gemsnn.events.aedat import SENSOR_SIZE
from gemsnn.events.calibration import MNIST_DVS_SCALE_4
from gemsnn.events.dvs import DVS
from gemsnn.events.records import Events, make_events

__all__ = ["DVS", "simulate_recording"]

_OVERSAMPLING = 6
_MARGIN = 4
"""Black image pixels around the picture, for the blur."""
_WARM_UP = 15
"""Screen frames before a recording begins."""


def simulate_recording(image: ArrayLike, seed: int | np.random.SeedSequence, dvs: DVS | None = None) -> Events:
    """Simulate the recording of one picture, as `read_aedat` would return it.

    Parameters
    ----------
    image
        (28, 28), upright, brightness 0..1 or 0..255.
    seed
        The same seed gives the same events, whatever else is simulated.
    dvs
        The camera and the scene; fitted to real MNIST-DVS recordings of scale 4 if not given.

    Returns
    -------
    (n,) structured array
        Fields x, y, t in microseconds from 0, p (1 for ON).
    """
    from scipy.ndimage import gaussian_filter, zoom

    from gemsnn.events.pixels import watch

    dvs = dvs or MNIST_DVS_SCALE_4
    pixels = np.asarray(image, dtype=np.float64)
    if pixels.shape != (28, 28):
        raise ShapeError(f"an MNIST image of shape (28, 28) is needed, got {pixels.shape}")
    if pixels.max() > 1:
        pixels = pixels / 255
    rng = np.random.default_rng(seed)

    duration = float(np.clip(rng.normal(dvs.duration, dvs.duration_spread), dvs.duration_least, dvs.duration_most))
    shift = rng.normal(0.0, dvs.start_jitter)
    # The scene runs before the recording does, so that pixels are in the midst of it; the screen keeps its own clock.
    first_frame = -rng.uniform(_WARM_UP, _WARM_UP + 1) / dvs.frame_rate
    n_frames = int(np.ceil((duration - first_frame) * dvs.frame_rate))
    starts = first_frame + np.arange(n_frames) / dvs.frame_rate
    n_ticks = int((starts[-1] - starts[0]) * dvs.animation_rate) + 2
    schedule = starts[0] + (np.arange(n_ticks) + rng.uniform()) / dvs.animation_rate
    ticks = np.sort(schedule + rng.normal(0.0, dvs.animation_jitter, n_ticks))
    shown = np.maximum(np.searchsorted(ticks, starts, side="right") - 1, 0)
    path = path_of(dvs, schedule[shown] + shift)

    picture = zoom(np.pad(pixels, _MARGIN), _OVERSAMPLING, order=1, grid_mode=True, mode="grid-constant")
    picture = np.clip(0.5 + dvs.edge_gain * (picture - dvs.edge_level), 0.0, 1.0)
    scales = np.array([dvs.scale, dvs.scale * dvs.stretch])
    picture = gaussian_filter(picture, dvs.blur / scales * _OVERSAMPLING, mode="constant")
    reach = 0.5 * 28 * scales + 2.0
    low = np.maximum(np.floor(path.min(axis=0) - reach), 0).astype(np.int64)
    high = np.minimum(np.ceil(path.max(axis=0) + reach), 127).astype(np.int64)
    block = (slice(low[0], high[0] + 1), slice(low[1], high[1] + 1))
    on, off, refractory, noise = _specimen(dvs)

    times, rows, columns, polarities, count = watch(
        picture,
        _OVERSAMPLING / scales,
        path,
        np.append(starts, duration) * 1e6,
        low,
        dvs.dark,
        on[block],
        off[block],
        dvs.threshold_noise,
        dvs.tau_on_us,
        dvs.tau_off_us,
        refractory[block],
        rng,
    )
    n_noise = rng.poisson(noise * duration)
    noisy = np.repeat(np.arange(noise.size), n_noise.ravel())
    times = np.concatenate([times[:count], rng.uniform(0.0, duration * 1e6, len(noisy))])
    rows = np.concatenate([rows[:count], noisy // SENSOR_SIZE[1]])
    columns = np.concatenate([columns[:count], noisy % SENSOR_SIZE[1]])
    polarities = np.concatenate([polarities[:count], rng.random(len(noisy)) < dvs.noise_on_share])

    seen = np.flatnonzero(times >= 0.0)
    order = seen[np.argsort(times[seen], kind="stable")]
    stamps = times[order].astype(np.int64)
    if len(stamps):
        stamps -= stamps[0]  # real recordings begin with their first event, too
    return make_events(rows[order], 127 - columns[order], stamps, polarities[order])


def path_of(dvs: DVS, time: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sensor row and column of the picture's centre at each time, (n, 2)."""
    row = dvs.centre_row + dvs.row_swing * _triangle(time - dvs.row_turn, dvs.period)
    column = dvs.centre_column + dvs.column_swing * _triangle(time - dvs.column_turn, 0.5 * dvs.period)
    return np.stack([row, column], axis=1)


def _triangle(time: NDArray[np.float64], period: float) -> NDArray[np.float64]:
    """A triangle wave between -1 (at time 0) and 1."""
    phase = (time / period) % 1.0
    wave: NDArray[np.float64] = 1.0 - 4.0 * np.abs(phase - 0.5)
    return wave


@lru_cache(maxsize=4)
def _specimen(dvs: DVS) -> tuple[NDArray[np.float64], ...]:
    """ON and OFF threshold, refractory time and noise rate of each pixel of the sensor, (128, 128) each."""
    rng = np.random.default_rng(dvs.sensor_seed)
    gain, refractory, noise = rng.standard_normal((3, *SENSOR_SIZE))
    sensitivity = np.maximum(1.0 + dvs.threshold_mismatch * gain, 0.1)
    thresholds_on = dvs.threshold_on / sensitivity
    thresholds_off = dvs.threshold_off / sensitivity
    blind = dvs.refractory_us * np.exp(dvs.refractory_mismatch * refractory)
    rates = dvs.noise_rate * np.exp(dvs.noise_spread * noise)
    return thresholds_on, thresholds_off, blind, rates

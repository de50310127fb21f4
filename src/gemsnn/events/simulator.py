"""A simulated event camera: a DVS watching a picture move along a slow closed path on a screen, or a scene change.

It gives events, so that everything after it is the same code as for real recordings. Its constants are fitted to the
real MNIST-DVS recordings of digit 0 (`gemsnn.events.calibration`); docs/results/simulator.md says what it gets right
and what it does not.
"""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gemsnn.errors import ConfigError, ShapeError
from gemsnn.events.calibration import CAMERAS, MNIST_DVS_SCALE_4
from gemsnn.events.dvs import DVS, Saccade
from gemsnn.events.records import Events, make_events
from gemsnn.events.screen import SMALL, shown
from gemsnn.events.variation import Variation
from gemsnn.model.checks import one_of

__all__ = ["DVS", "simulate", "simulate_recording"]

_OVERSAMPLING = 6
_MARGIN = 4
"""Black image pixels around the picture, for the blur."""
_WARM_UP = 15
"""Screen frames before a recording begins."""


def simulate_recording(
    image: ArrayLike, seed: int | np.random.SeedSequence, dvs: DVS | None = None, vary: Variation | None = None
) -> Events:
    """Simulate the recording of an MNIST image, as `read_aedat` would return it.

    Parameters
    ----------
    image
        (28, 28), upright, brightness 0..1 or 0..255.
    seed
        The same seed gives the same events, whatever else is simulated.
    dvs
        The camera and the scene; default: fitted to MNIST-DVS recordings of scale 4.
    vary
        Draw a variation of `dvs` from the seed; default: none.

    Returns
    -------
    (n,) structured array
        Fields x, y, t in microseconds from 0, p (1 for ON).
    """
    pixels = np.asarray(image, dtype=np.float64)
    if pixels.shape != (SMALL, SMALL):
        raise ShapeError(f"an MNIST image of shape (28, 28) is needed, got {pixels.shape}; simulate takes any picture")
    if pixels.max() > 1:
        pixels = pixels / 255
    return _recorded(pixels[None], seed, dvs or MNIST_DVS_SCALE_4, vary)


def simulate(
    picture: Any,
    seed: int | np.random.SeedSequence = 0,
    camera: str = "mnist-dvs",
    *,
    dvs: DVS | None = None,
    vary: Variation | None = None,
    shades: bool = False,
    frames_per_second: float = 25.0,
) -> Events:
    """Simulate the recording of any picture, or of a scene of several frames.

    Parameters
    ----------
    picture
        The path of a PNG or JPEG file, a Pillow image, or an array (rows, columns) or (rows, columns, 3 or 4) of
        brightness 0..1 or 0..255; or the frames of a scene: a folder of files, or a list of these. How size and colours
        are converted: :func:`gemsnn.events.screen.shown`. A picture moves relative to the camera; a scene does not.
    seed
        The same seed gives the same events.
    camera
        Fitted constants: ``"mnist-dvs"`` or ``"n-mnist"``; `dvs` takes precedence.
    vary
        Draw a variation of camera and scene from the seed.
    shades
        Show brightness unchanged. Otherwise contrast is increased, as for MNIST's strokes, to nearly black and white.
    frames_per_second
        Frame rate of a scene.

    Returns
    -------
    (n,) structured array
        Fields x, y, t in microseconds from 0, p (1 for ON).

    Examples
    --------
    >>> bar = np.zeros((40, 60))
    >>> bar[15:25, 10:50] = 1.0
    >>> simulate(bar).dtype.names
    ('x', 'y', 't', 'p')
    """
    dvs = dvs or CAMERAS[one_of("camera", camera, tuple(CAMERAS))].dvs
    frames, negative = shown(picture)
    if not 0 < frames_per_second <= 1000:
        raise ConfigError(f"frames_per_second = {frames_per_second}: must be above 0 and at most 1000")
    changes: dict[str, Any] = {}
    if negative:
        changes["inverted"] = not dvs.inverted
    if shades:
        changes |= {"edge_level": 0.5, "edge_gain": 1.0}
    if len(frames) > 1:
        duration = len(frames) / frames_per_second
        changes |= {"duration": duration, "duration_spread": 0.0, "duration_least": duration, "duration_most": duration}
        changes |= {"row_swing": 0.0, "column_swing": 0.0, "saccades": ()}
    return _recorded(frames, seed, dvs.model_copy(update=changes), vary, frames_per_second)


def _recorded(
    frames: NDArray[np.float64],
    seed: int | np.random.SeedSequence,
    dvs: DVS,
    vary: Variation | None,
    frames_per_second: float = 1.0,
) -> Events:
    """The recording of (n, side, side) frames of brightness 0..1."""
    from scipy.ndimage import gaussian_filter, zoom

    from gemsnn.events.pixels import watch

    rng = np.random.default_rng(seed)
    if vary is not None:
        dvs = vary.draw(dvs, rng)

    duration = float(np.clip(rng.normal(dvs.duration, dvs.duration_spread), dvs.duration_least, dvs.duration_most))
    shift = rng.normal(0.0, dvs.start_jitter)
    # The scene starts before the recording, so that pixels leave their initial state; the screen has its own clock.
    first_frame = -rng.uniform(_WARM_UP, _WARM_UP + 1) / dvs.frame_rate
    n_frames = int(np.ceil((duration - first_frame) * dvs.frame_rate))
    starts = first_frame + np.arange(n_frames) / dvs.frame_rate
    n_ticks = int((starts[-1] - starts[0]) * dvs.animation_rate) + 2
    schedule = starts[0] + (np.arange(n_ticks) + rng.uniform()) / dvs.animation_rate
    ticks = np.sort(schedule + rng.normal(0.0, dvs.animation_jitter, n_ticks))
    moved = np.maximum(np.searchsorted(ticks, starts, side="right") - 1, 0)
    path = path_of(dvs, schedule[moved] + shift)

    scales = np.array([dvs.scale, dvs.scale * dvs.stretch])
    margin, finer = _MARGIN * frames.shape[1] // SMALL, _OVERSAMPLING * SMALL // frames.shape[1]
    blur = dvs.blur / scales * _OVERSAMPLING

    def on_screen(pixels: NDArray[np.float64]) -> NDArray[np.float64]:
        """The picture on the screen, through the lens."""
        picture = np.pad(_tilted(pixels, dvs), margin)
        if finer > 1:
            picture = zoom(picture, finer, order=1, grid_mode=True, mode="grid-constant")
        picture = np.clip(0.5 + dvs.edge_gain * (picture - dvs.edge_level), 0.0, 1.0)
        seen: NDArray[np.float64] = gaussian_filter(picture, blur, mode="constant")
        return seen

    pictures = np.stack([on_screen(pixels) for pixels in frames])
    which = np.clip(np.floor(starts * frames_per_second), 0, len(frames) - 1).astype(np.int64)
    reach = 0.5 * 28 * scales + 2.0
    low = np.maximum(np.floor(path.min(axis=0) - reach), 0).astype(np.int64)
    high = np.minimum(np.ceil(path.max(axis=0) + reach), dvs.sensor - 1).astype(np.int64)
    block = (slice(low[0], high[0] + 1), slice(low[1], high[1] + 1))
    on, off, refractory, noise = _specimen(dvs)

    times, rows, columns, polarities, count = watch(
        pictures,
        which,
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
    rows = np.concatenate([rows[:count], noisy // dvs.sensor])
    columns = np.concatenate([columns[:count], noisy % dvs.sensor])
    polarities = np.concatenate([polarities[:count], rng.random(len(noisy)) < dvs.noise_on_share])

    if dvs.inverted:
        polarities = 1 - polarities
    seen = np.flatnonzero(times >= 0.0)
    order = seen[np.argsort(times[seen], kind="stable")]
    stamps = times[order].astype(np.int64)
    if len(stamps) and not dvs.saccades:  # time 0 is the first event in MNIST-DVS, and a saccade in N-MNIST
        stamps -= stamps[0]
    if dvs.upright:
        return make_events(columns[order], rows[order], stamps, polarities[order])
    return make_events(rows[order], dvs.sensor - 1 - columns[order], stamps, polarities[order])


def _tilted(pixels: NDArray[np.float64], dvs: DVS) -> NDArray[np.float64]:
    """The picture, rotated and slanted about its centre."""
    if dvs.turned == 0.0 and dvs.slanted == 0.0:
        return pixels
    from scipy.ndimage import affine_transform

    cosine, sine = np.cos(dvs.turned), np.sin(dvs.turned)
    back = np.array([[cosine, -sine], [sine, cosine]]) @ np.array([[1.0, 0.0], [np.tan(dvs.slanted), 1.0]])
    middle = 0.5 * (np.array(pixels.shape) - 1)
    found: NDArray[np.float64] = affine_transform(pixels, back, middle - back @ middle, order=1)
    return found


def path_of(dvs: DVS, time: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sensor row and column of the picture's centre at each time, (n, 2)."""
    if dvs.saccades:
        return np.array([dvs.centre_row, dvs.centre_column]) + _along(dvs.saccades, time)
    row = dvs.centre_row + dvs.row_swing * _triangle(time - dvs.row_turn, dvs.period)
    column = dvs.centre_column + dvs.column_swing * _triangle(time - dvs.column_turn, 0.5 * dvs.period)
    return np.stack([row, column], axis=1)


def _along(saccades: tuple[Saccade, ...], time: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n, 2) positions on a path of saccades, each of which starts and ends smoothly."""
    position = np.tile(np.array([saccades[-1].row, saccades[-1].column]), (len(time), 1))
    for saccade in saccades:
        progress = np.clip((time - saccade.begin) / (saccade.end - saccade.begin), 0.0, 1.0)[:, None]
        target = np.array([saccade.row, saccade.column])
        position += 0.5 * (1.0 - np.cos(np.pi * progress)) * (target - position)
    return position


def _triangle(time: NDArray[np.float64], period: float) -> NDArray[np.float64]:
    """A triangle wave between -1 (at time 0) and 1."""
    phase = (time / period) % 1.0
    wave: NDArray[np.float64] = 1.0 - 4.0 * np.abs(phase - 0.5)
    return wave


@lru_cache(maxsize=4)
def _specimen(dvs: DVS) -> tuple[NDArray[np.float64], ...]:
    """ON and OFF threshold, refractory time and noise rate of each pixel of the sensor."""
    rng = np.random.default_rng(dvs.sensor_seed)
    gain, refractory, noise = rng.standard_normal((3, dvs.sensor, dvs.sensor))
    sensitivity = np.maximum(1.0 + dvs.threshold_mismatch * gain, 0.1)
    thresholds_on = dvs.threshold_on / sensitivity
    thresholds_off = dvs.threshold_off / sensitivity
    blind = dvs.refractory_us * np.exp(dvs.refractory_mismatch * refractory)
    rates = dvs.noise_rate * np.exp(dvs.noise_spread * noise)
    rates.flat[rng.choice(rates.size, dvs.hot_pixels, replace=False)] = dvs.hot_rate
    return thresholds_on, thresholds_off, blind, rates

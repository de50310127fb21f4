"""The pixels of a dynamic vision sensor in front of a screen: the compiled kernel of the simulator.

The screen shows a new frame at each refresh and holds it. A pixel follows the logarithm of its light as a first-order
low-pass filter, quicker up than down. Within a frame the light is constant, so that the pixel's voltage

    V(t) = L + (V_0 - L) exp(-(t - t_0) / tau)

crosses the next threshold at a time that is known in closed form: there is no time step, and event times are exact.
When V rises by the ON threshold above the reference, or falls by the OFF threshold below it, the pixel sends an event
and is blind for the refractory time; the voltage at its end is the new reference.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemsnn.compiling.jit import jit


@jit()
def watch(
    pictures: NDArray[np.float64],
    shown: NDArray[np.int64],
    step: NDArray[np.float64],
    path: NDArray[np.float64],
    frame_us: NDArray[np.float64],
    first: NDArray[np.int64],
    dark: float,
    threshold_on: NDArray[np.float64],
    threshold_off: NDArray[np.float64],
    threshold_noise: float,
    tau_on_us: float,
    tau_off_us: float,
    refractory_us: NDArray[np.float64],
    rng: Any,
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], int]:
    """Events of a block of pixels that watches a moving or changing picture.

    Parameters
    ----------
    pictures : (n_pictures, height, width)
        Brightness 0..1, blurred as the lens does.
    shown : (n_frames,)
        Which picture is shown in each frame.
    step : (2,)
        Samples of the picture from one sensor pixel to the next, along rows and columns.
    path : (n_frames, 2)
        Where the picture's centre is in each frame, as sensor row and column of the upright picture.
    frame_us : (n_frames + 1,)
        When each frame begins; the last is when the recording ends.
    first : (2,)
        Sensor row and column of the block's first pixel.
    dark
        Light of a black screen pixel, that of a white one being 1.
    threshold_on, threshold_off, refractory_us : (n_rows, n_columns)
        Of each pixel of the block.
    threshold_noise
        Relative standard deviation of a threshold from event to event.

    Returns
    -------
    times, rows, columns, polarities, count
        The first `count` entries of each hold the events, pixel by pixel.
    """
    n_rows, n_columns = threshold_on.shape
    n_frames = len(path)
    height, width = pictures.shape[1:]
    capacity = 1 << 15
    times = np.empty(capacity, dtype=np.float64)
    rows = np.empty(capacity, dtype=np.int64)
    columns = np.empty(capacity, dtype=np.int64)
    polarities = np.empty(capacity, dtype=np.int64)
    count = 0
    black = np.log(dark)
    for i in range(n_rows):
        for j in range(n_columns):
            voltage = target = black
            reference = 0.0
            ready = 0.0
            up = threshold_on[i, j]
            down = threshold_off[i, j]
            blind = refractory_us[i, j]
            for k in range(n_frames):
                # Light on this pixel: the picture at the pixel's place, between its four nearest samples.
                still = k > 0 and path[k, 0] == path[k - 1, 0] and path[k, 1] == path[k - 1, 1]
                if not still or shown[k] != shown[k - 1]:
                    picture = pictures[shown[k]]
                    u = (first[0] + i - path[k, 0]) * step[0] + 0.5 * (height - 1)
                    v = (first[1] + j - path[k, 1]) * step[1] + 0.5 * (width - 1)
                    bright = 0.0
                    if 0.0 <= u < height - 1 and 0.0 <= v < width - 1:
                        a, b = int(u), int(v)
                        f, g = u - a, v - b
                        bright = (picture[a, b] * (1 - f) + picture[a + 1, b] * f) * (1 - g) + (
                            picture[a, b + 1] * (1 - f) + picture[a + 1, b + 1] * f
                        ) * g
                    # Most pixels are black most of the time: spare them the logarithm, and below the exponential.
                    target = np.log(dark + (1.0 - dark) * bright) if bright > 0.0 else black
                now = frame_us[k]
                end = frame_us[k + 1]
                if k == 0:
                    voltage = target
                    # Where the voltage starts between the two thresholds is random.
                    reference = target + rng.uniform(-up, down)
                    ready = now
                    continue
                if abs(target - voltage) < 1e-12 and now >= ready:
                    voltage = target
                    continue
                tau = tau_on_us if target > voltage else tau_off_us
                while now < end:
                    if now < ready:  # blind: follow the light, and take the new reference at the end
                        until = min(ready, end)
                        voltage = target + (voltage - target) * np.exp(-(until - now) / tau)
                        now = until
                        if now == ready:
                            reference = voltage
                        continue
                    if target > voltage:
                        level = reference + up
                        crosses = target > level
                    else:
                        level = reference - down
                        crosses = target < level
                    if not crosses:
                        voltage = target + (voltage - target) * np.exp(-(end - now) / tau)
                        break
                    # Already past it? Then the event comes at once.
                    past = (voltage - level) * (target - voltage) >= 0.0
                    when = now if past else now + tau * np.log((voltage - target) / (level - target))
                    if when >= end:
                        voltage = target + (voltage - target) * np.exp(-(end - now) / tau)
                        break
                    if not past:
                        voltage = level
                    if count == capacity:
                        capacity *= 2
                        times = _longer(times, capacity)
                        rows = _longer(rows, capacity)
                        columns = _longer(columns, capacity)
                        polarities = _longer(polarities, capacity)
                    times[count] = when
                    rows[count] = first[0] + i
                    columns[count] = first[1] + j
                    polarities[count] = 1 if target > voltage else 0
                    count += 1
                    now = when
                    ready = when + blind
                    up = threshold_on[i, j] * max(0.2, 1.0 + threshold_noise * rng.standard_normal())
                    down = threshold_off[i, j] * max(0.2, 1.0 + threshold_noise * rng.standard_normal())
    return times, rows, columns, polarities, count


@jit()
def _longer(array: NDArray[Any], capacity: int) -> NDArray[Any]:
    grown = np.empty(capacity, dtype=array.dtype)
    grown[: len(array)] = array
    return grown

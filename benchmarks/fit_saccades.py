"""Fit the DVS simulator to real N-MNIST recordings, and print the constants for gemsnn/events/calibration.py.

    python benchmarks/fit_saccades.py --real DIR

DIR is the folder that holds Train/*/*.bin. What is compared are means over all recordings, whatever the digit: events,
their middle and their polarity in each 10 ms, and how many fall on a pixel. Takes some minutes.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from gemsnn.events import DVS, find_nmnist, nmnist_preprocessing
from gemsnn.events.calibration import N_MNIST
from gemsnn.events.records import Events
from gemsnn.events.simulated import mnist_images
from gemsnn.events.simulator import simulate_recording

# The path is not fitted: the centre of the events of all digits over time is the position of the picture. The picture
# stands still and the camera moves, so the light changes with every frame of the simulation.
START = N_MNIST.model_copy(
    update={
        "scale": 1.05,
        "edge_gain": 4.0,
        "blur": 0.6,
        "dark": 0.15,
        "threshold_on": 0.25,
        "threshold_off": 0.28,
        "threshold_mismatch": 0.3,
        "tau_on_us": 4000.0,
        "tau_off_us": 4000.0,
        "refractory_us": 1000.0,
        "noise_rate": 0.3,
    }
)
POSITIVE = (
    *("scale", "blur", "dark", "threshold_on", "threshold_off", "tau_on_us", "tau_off_us", "refractory_us"),
    *("threshold_mismatch", "noise_rate", "edge_gain"),
)


def with_values(q: NDArray[np.float64]) -> DVS:
    """From logarithms of the constants that are fitted."""
    return START.model_copy(update=dict(zip(POSITIVE, map(float, np.exp(q)), strict=True)))


def numbers(recordings: list[Events]) -> NDArray[np.float64]:
    """What recordings are compared by, each number in units of what we would accept."""
    rate, middle = np.zeros((30, 2)), np.zeros((30, 2, 2))
    occupied, spread, n_events = [], [], []
    choices = nmnist_preprocessing().model_copy(update={"polarity": "merged"})
    pixels = np.zeros((34, 34))
    for e in recordings:
        bins = np.minimum(e["t"] // 10_000, 29)
        for p in (0, 1):
            mine = e["p"] == p
            rate[:, p] += np.bincount(bins[mine], minlength=30)
            middle[:, p, 0] += np.bincount(bins[mine], e["y"][mine], 30)
            middle[:, p, 1] += np.bincount(bins[mine], e["x"][mine], 30)
        each = choices.bin(e)
        occupied.append(each.mean())
        n_events.append(len(e))
        np.add.at(pixels, (e["y"], e["x"]), 1)
        spread.append([e["y"].std(), e["x"].std()])
    middle = (middle / np.maximum(rate, 1)[:, :, None] - 17) * np.sqrt(np.minimum(rate / rate.max(), 1))[:, :, None]
    rate /= len(recordings)
    pixels /= len(recordings)
    return np.concatenate(
        [
            rate.ravel() / (0.1 * 110),
            middle.ravel() / 0.3,
            [np.mean(occupied) / 0.002, np.median(n_events) / 100],
            np.mean(spread, axis=0) / 0.1,
            pixels.ravel() / 1.0 / 3,
        ]
    )


def simulate(dvs: DVS, n: int) -> list[Events]:
    images = mnist_images()
    return [simulate_recording(images[k % 10][(37 * k) % 500], [k, 77], dvs) for k in range(n)]  # type: ignore[arg-type]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--real", type=Path, required=True, metavar="DIR")
    parser.add_argument("--evaluations", type=int, default=220)
    given = parser.parse_args()
    real = [recording.read() for recording in find_nmnist(given.real).recordings[::3]]
    wanted = numbers(real)
    start = np.array([np.log(getattr(START, name)) for name in POSITIVE])

    def loss(q: NDArray[np.float64]) -> float:
        try:
            return float(((numbers(simulate(with_values(q), 30)) - wanted) ** 2).sum())
        except ValueError:
            return 1e9

    simplex = start + np.vstack([np.zeros(len(start)), 0.3 * np.eye(len(start))])
    found = minimize(
        loss, start, method="Nelder-Mead",
        options={"maxfev": given.evaluations, "initial_simplex": simplex, "adaptive": True},
    )  # fmt: skip
    print(f"distance {loss(start):.0f} before, {found.fun:.0f} after", file=sys.stderr)
    for name, value in with_values(found.x):
        print(f"    {name}={value!r},")


if __name__ == "__main__":
    main()

"""Fit the DVS simulator to real MNIST-DVS zeros, and print the constants for gemsnn/events/dvs.py.

    python benchmarks/fit_simulator.py --real DIR

DIR is the folder that holds grabbed_data0/scale4/*.aedat. Takes some ten minutes; report_simulator.py shows the result.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d
from scipy.optimize import minimize
from simulator_statistics import NEAR, Summary, outline, read_zeros, roughness, silhouette, simulate_zeros, summarise

from gemsnn.events.records import Events
from gemsnn.events.simulator import DVS

START = DVS(
    # Where the stages below start: an earlier fit, rounded, whose own start was looking at the recordings.
    scale=1.18,
    stretch=1.05,
    centre_row=60.5,
    centre_column=63.3,
    row_swing=5.7,
    column_swing=2.2,
    period=1.25,
    row_turn=0.29,
    column_turn=0.29,
    start_jitter=0.0,
    frame_rate=75.0,
    animation_rate=69.0,
    animation_jitter=0.005,
    edge_level=0.37,
    edge_gain=19.0,
    blur=0.12,
    dark=0.12,
    threshold_on=0.36,
    threshold_off=0.41,
    threshold_mismatch=0.4,
    threshold_noise=0.32,
    tau_on_us=5900.0,
    tau_off_us=13900.0,
    refractory_us=760.0,
    refractory_mismatch=0.2,
    noise_rate=0.0075,
    noise_spread=1.26,
    noise_on_share=0.87,
    duration=2.25,
    duration_spread=0.125,
    duration_least=1.9,
    duration_most=2.5,
)
FREE = (
    *("scale", "stretch", "edge_level", "edge_gain", "blur", "dark", "threshold_on", "threshold_off"),
    *("threshold_mismatch", "threshold_noise", "tau_on_us", "tau_off_us", "refractory_us", "refractory_mismatch"),
    *("animation_rate", "animation_jitter"),
)
"""Fitted together, by simulation; all positive, so in their logarithms."""


def fit_clock(dvs: DVS, real: list[Events]) -> DVS:
    """Screen refresh: the frequency to which the events are locked most. Durations: as they are."""
    frequencies = np.linspace(dvs.frame_rate - 1, dvs.frame_rate + 1, 201)
    locked = [np.mean([np.abs(np.exp(2j * np.pi * f * e["t"] / 1e6).mean()) for e in real]) for f in frequencies]
    seconds = np.array([e["t"][-1] for e in real]) / 1e6
    return dvs.model_copy(
        update={
            "frame_rate": float(frequencies[np.argmax(locked)]),
            "duration": float(np.median(seconds)),
            "duration_spread": float(seconds.std()),
            "duration_least": float(seconds.min()),
            "duration_most": float(seconds.max()),
        }
    )


def fit_noise(dvs: DVS, real: list[Events]) -> DVS:
    """Background: Poisson events where the digit never comes, with a log-normal rate over the pixels."""
    counts, on = np.zeros((128, 128)), np.zeros((128, 128))
    for e in real:
        np.add.at(counts, (e["x"], 127 - e["y"]), 1)
        np.add.at(on, (e["x"], 127 - e["y"]), e["p"])
    far = np.ones((128, 128), dtype=bool)
    far[NEAR, NEAR] = False
    exposure = sum(e["t"][-1] for e in real) / 1e6
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    values, repeats = np.unique(counts[far], return_counts=True)

    def loss(q: NDArray[np.float64]) -> float:
        mean = exposure * np.exp(q[0] + np.exp(q[1]) * nodes)
        logs = values[:, None] * np.log(mean) - mean
        top = logs.max(axis=1)
        return -float(repeats @ (top + np.log(np.exp(logs - top[:, None]) @ weights)))

    best = minimize(loss, [np.log(dvs.noise_rate), np.log(dvs.noise_spread)], method="Nelder-Mead").x
    # A few pixels are hotter than any log-normal has them: keep the spread, and let the total be right.
    spread = float(np.exp(best[1]))
    total = np.median([far[e["x"], 127 - e["y"]].sum() / e["t"][-1] for e in real]) * 1e6
    return dvs.model_copy(
        update={
            "noise_rate": float(total / far.sum() / np.exp(0.5 * spread**2)),
            "noise_spread": spread,
            "noise_on_share": float(on[far].sum() / counts[far].sum()),
        }
    )


def fit_path(dvs: DVS, real: list[Events]) -> DVS:
    """The path along which the events of each recording gather to the sharpest outline; then each recording's start."""
    names = ("row_swing", "column_swing", "period", "row_turn", "column_turn")

    def sharpness(events: Events, candidate: DVS, shift: float = 0.0) -> float:
        image = outline(events, candidate, shift)
        return float((image * np.log(image + 1e-3)).sum())

    def loss(q: NDArray[np.float64]) -> float:
        candidate = dvs.model_copy(update=dict(zip(names, map(float, q), strict=True)))
        return -sum(sharpness(e, candidate) for e in real[::2])

    start = np.array([getattr(dvs, name) for name in names])
    around = start + np.vstack([np.zeros(5), np.diag([0.6, 0.3, 0.02, 0.03, 0.03])])
    best = minimize(loss, start, method="Nelder-Mead", options={"maxfev": 160, "initial_simplex": around}).x
    dvs = dvs.model_copy(update=dict(zip(names, map(float, best), strict=True)))
    shifts = np.arange(-0.06, 0.061, 0.005)
    found = [shifts[np.argmax([sharpness(e, dvs, s) for s in shifts])] for e in real]
    turn = {"row_turn": dvs.row_turn - float(np.mean(found)), "column_turn": dvs.column_turn - float(np.mean(found))}
    return dvs.model_copy(update={**turn, "start_jitter": float(np.std(found))})


def fit_centre(dvs: DVS, real: list[Events], simulated: list[Events]) -> DVS:
    """Where the image's middle is: simulated and real outlines must have the same centre."""
    off = np.median([silhouette(outline(e, dvs)) for e in real], axis=0) - np.median(
        [silhouette(outline(e, dvs)) for e in simulated], axis=0
    )
    centre = {"centre_row": dvs.centre_row + float(off[1]), "centre_column": dvs.centre_column + float(off[2])}
    return dvs.model_copy(update=centre)


def distance(
    real: list[Summary], simulated: list[Summary], real_shape: NDArray[np.float64], shape: NDArray[np.float64]
) -> float:
    """How far simulated recordings are from real ones: squared differences, each in units of what we would accept."""

    def middle(some: list[Summary], name: str) -> float:
        return float(np.median([getattr(s, name) for s in some]))

    def shares(some: list[Summary], name: str) -> NDArray[np.float64]:
        total = np.sum([getattr(s, name) for s in some], axis=0)
        return gaussian_filter1d(total / total.sum(), 1.0)

    def mean(some: list[Summary], name: str) -> NDArray[np.float64]:
        return np.mean([getattr(s, name) for s in some], axis=0)

    terms = [
        np.log(middle(simulated, name) / middle(real, name)) / 0.03
        for name in ("n_events", "density", "density_on", "density_off", "crop_share")
    ]
    terms.append((middle(simulated, "on_share") - middle(real, "on_share")) / 0.01)
    terms += [(middle(simulated, name) - middle(real, name)) / 0.02 for name in ("locked_on", "locked_off")]
    terms += list((mean(simulated, "per_cell") - mean(real, "per_cell")) / 0.02)
    terms += [2 * np.abs(shares(simulated, name) - shares(real, name)).sum() / 0.15 for name in ("same", "other")]
    runs = [np.sum([s.same.sum() for s in some]) / np.sum([s.other.sum() for s in some]) for some in (real, simulated)]
    terms.append(np.log(runs[1] / runs[0]) / 0.05)
    terms.append(np.sqrt(np.mean((mean(simulated, "rate") / mean(real, "rate") - 1) ** 2)) / 0.05)
    terms.append(np.sqrt(np.mean((mean(simulated, "autocorrelation") - mean(real, "autocorrelation")) ** 2)) / 0.02)
    terms.append((roughness(simulated) - roughness(real)) / 0.03)
    terms += list(np.log(shape[[0, 3, 4]] / real_shape[[0, 3, 4]]) / 0.03)
    return float(np.sum(np.square(terms)))


def fit_pixels(dvs: DVS, real: list[Events], n_images: int, evaluations: int) -> DVS:
    """Size, edges, thresholds and time constants, by simulating the same images with the same seeds again and again."""
    real_summaries = [summarise(e, dvs.frame_rate) for e in real]
    real_shape = np.median([silhouette(outline(e, dvs)) for e in real], axis=0)
    images = np.random.default_rng(0).permutation(500)[:n_images]
    best = [np.inf]

    def candidate(q: NDArray[np.float64]) -> DVS:
        return dvs.model_copy(update=dict(zip(FREE, map(float, np.exp(q)), strict=True)))

    def loss(q: NDArray[np.float64]) -> float:
        trial = candidate(q)
        if not 0.1 < trial.edge_level < 0.9 or not trial.dark < 0.9 or trial.threshold_mismatch > 1:
            return 1e6
        events = simulate_zeros(trial, images)
        shape = np.median([silhouette(outline(e, trial)) for e in events], axis=0)
        value = distance(real_summaries, [summarise(e, trial.frame_rate) for e in events], real_shape, shape)
        if value < best[0]:
            best[0] = value
            changed = {name: round(getattr(trial, name), 4) for name in FREE}
            print(f"distance {value:.1f}  {changed}", file=sys.stderr, flush=True)
        return value

    start = np.log([getattr(dvs, name) for name in FREE])
    simplex = start + np.vstack([np.zeros(len(FREE)), 0.08 * np.eye(len(FREE))])
    options = {"maxfev": evaluations, "initial_simplex": simplex, "adaptive": True}
    return candidate(minimize(loss, start, method="Nelder-Mead", options=options).x)


def fit(folder: Path, n_images: int, evaluations: int) -> DVS:
    real = read_zeros(folder)
    dvs = fit_path(fit_noise(fit_clock(START, real), real), real)
    print(dvs, file=sys.stderr, flush=True)
    dvs = fit_centre(dvs, real, simulate_zeros(dvs, range(100)))
    dvs = fit_pixels(dvs, real, n_images, evaluations)
    return fit_centre(dvs, real, simulate_zeros(dvs, range(100)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--real", type=Path, required=True, help="folder that holds grabbed_data0/scale4/*.aedat")
    parser.add_argument("--images", type=int, default=30, help="images simulated in each step")
    parser.add_argument("--evaluations", type=int, default=200, help="steps of the last stage")
    arguments = parser.parse_args()
    for key, value in fit(arguments.real, arguments.images, arguments.evaluations).model_dump().items():
        print(f"    {key}={float(f'{value:.5g}') if isinstance(value, float) else value},")


if __name__ == "__main__":
    main()

"""Compare simulated with real MNIST-DVS zeros: writes docs/results/simulator.md and docs/figures/simulator-*.png.

    python benchmarks/report_simulator.py --real DIR

DIR is the folder that holds grabbed_data0/scale4/*.aedat.
"""

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from simulator_statistics import (
    INTERVALS_US,
    LAGS_MS,
    SETTINGS,
    Summary,
    outline,
    read_zeros,
    roughness,
    silhouette,
    simulate_zeros,
    summarise,
)

from gemsnn.events.calibration import MNIST_DVS_SCALE_4
from gemsnn.events.records import Events


def auc(real: NDArray[np.float64], simulated: NDArray[np.float64]) -> float:
    """How well logistic regression tells rows of `real` from rows of `simulated`: area under the ROC curve.

    Each row is judged by a model that was fitted without it (5 folds); 0.5 is chance, 1 is certainty.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rows = np.vstack([real, simulated])
    which = np.repeat([0, 1], [len(real), len(simulated)])
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=2000))
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    scores = cross_val_predict(model, rows, which, cv=folds, method="decision_function")
    return float(roc_auc_score(which, scores))


def views(events: list[Events], summaries: list[Summary]) -> dict[str, NDArray[np.float64]]:
    """What a classifier may look at, a row a recording."""
    binned = np.stack([SETTINGS.bin(e) for e in events])
    scalars = (
        "n_events",
        "duration_ms",
        "on_share",
        "density",
        "density_off",
        "density_on",
        "crop_share",
        "far_events",
    )
    return {
        "event count and density (2 numbers)": np.array([[s.n_events, s.density] for s in summaries], dtype=float),
        "counts, duration, density and polarity (8 numbers)": np.array(
            [[getattr(s, name) for name in scalars] for s in summaries], dtype=float
        ),
        "spikes in each of the 80 time bins": binned.sum(axis=2).astype(float),
        "spikes of each of the 676 inputs": binned.sum(axis=1).astype(float),
        "time structure (intervals, autocorrelation, events a cell, frame locking)": np.array(
            [
                np.concatenate(
                    [
                        s.same / s.same.sum(),
                        s.other / s.other.sum(),
                        s.autocorrelation[1:],
                        s.per_cell,
                        [s.locked_on, s.locked_off],
                    ]
                )
                for s in summaries
            ]
        ),
    }


def draw(real: list[Events], simulated: list[Events], rs: list[Summary], ss: list[Summary], out: Path) -> None:
    """The figures of the report."""
    from matplotlib.figure import Figure

    from gemsnn import plot

    def save(figure: Figure, name: str) -> None:
        figure.savefig(out / f"simulator-{name}.png", dpi=80)

    def both(axes: object, x: NDArray[np.float64], name: str, share: bool = False) -> None:
        for some, colour, text in ((rs, "black", "real"), (ss, "tab:red", "simulated")):
            values = np.stack([getattr(s, name) for s in some]).astype(float)
            if share:
                values = values / values.sum(axis=1, keepdims=True)
            low, middle, high = np.percentile(values, [10, 50, 90], axis=0)
            axes.plot(x, middle, color=colour, label=text)  # type: ignore[attr-defined]
            axes.fill_between(x, low, high, color=colour, alpha=0.15, lw=0)  # type: ignore[attr-defined]

    figure = Figure(figsize=(13, 8.4), layout="constrained")
    grid = figure.subplots(4, 6)
    for row, (some, text) in enumerate(((real, "real"), (simulated, "simulated"))):
        for column in range(6):
            planes = SETTINGS.upright(SETTINGS.planes(some[column * 7])).astype(float)
            total, moment = planes.sum(axis=0), planes[22:25].max(axis=0)
            plot.picture(total, largest=12, axes=grid[2 * row, column], title=f"{text}, 2 s")
            plot.picture(moment, largest=1, axes=grid[2 * row + 1, column], title=f"{text}, 550-625 ms")
    figure.suptitle("Recordings of zeros, different images (orange: ON, blue: OFF)")
    save(figure, "pictures")

    figure = Figure(figsize=(13, 4), layout="constrained")
    grid = figure.subplots(1, 3)
    maps = [np.mean([s.occupancy for s in some], axis=0) for some in (rs, ss)]
    for axes, picture, text in zip(grid, maps, ("real", "simulated"), strict=False):
        image = axes.imshow(np.log10(picture + 0.01), vmin=-2, vmax=1.9)
        axes.set(title=f"{text}: log10 events a pixel and recording", xticks=[], yticks=[])
    figure.colorbar(image, ax=grid[:2])
    for picture, colour, text in zip(maps, ("black", "tab:red"), ("real", "simulated"), strict=True):
        grid[2].plot(np.sort(picture.ravel())[::-1], color=colour, label=text)
    grid[2].set(
        xscale="log", yscale="log", xlabel="pixel, busiest first", ylabel="events per recording", ylim=(5e-3, 200)
    )
    grid[2].legend()
    save(figure, "occupancy")

    figure = Figure(figsize=(13, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    both(left, 25 * np.arange(80), "rate")
    left.set(xlabel="time in ms", ylabel="events a ms (median, 10-90 %)", ylim=(0, None))
    for some, colour, text in ((rs, "black", "real"), (ss, "tab:red", "simulated")):
        values = np.stack([s.autocorrelation for s in some])[:, 1:]
        low, middle, high = np.percentile(values, [10, 50, 90], axis=0)
        right.plot(np.arange(1, LAGS_MS), middle, color=colour, label=text)
        right.fill_between(np.arange(1, LAGS_MS), low, high, color=colour, alpha=0.15, lw=0)
    right.set(xlabel="lag in ms", ylabel="autocorrelation of the event rate")
    right.legend()
    save(figure, "rate")

    figure = Figure(figsize=(13, 4), layout="constrained")
    centres = np.sqrt(INTERVALS_US[1:] * INTERVALS_US[:-1]) / 1000
    for axes, name, text in zip(
        figure.subplots(1, 2), ("same", "other"), ("same polarity", "opposite polarity"), strict=True
    ):
        both(axes, centres, name, share=True)
        axes.set(xscale="log", xlabel="interval in ms", ylabel="share", title=f"a pixel's successive events, {text}")
        axes.legend()
    save(figure, "intervals")

    figure = Figure(figsize=(13, 3.4), layout="constrained")
    for axes, (name, text) in zip(
        figure.subplots(1, 4),
        (("n_events", "events"), ("duration_ms", "duration in ms"), ("on_share", "ON share"), ("density", "density")),
        strict=True,
    ):
        columns = [[float(getattr(s, name)) for s in some] for some in (rs, ss)]
        axes.hist(columns, bins=15, color=["black", "tab:red"], label=["real", "simulated"])
        axes.set(xlabel=text)
    axes.legend()
    save(figure, "histograms")


def report(folder: Path, docs: Path) -> None:
    """Write docs/results/simulator.md and its figures."""
    dvs = MNIST_DVS_SCALE_4
    real = read_zeros(folder)
    # Images that the fit did not see: it takes the first of this order, we take the last.
    images = np.random.default_rng(0).permutation(500)[-100:]
    simulated = simulate_zeros(dvs, images, seed=1)
    rs, ss = ([summarise(e, dvs.frame_rate) for e in some] for some in (real, simulated))
    (docs / "figures").mkdir(parents=True, exist_ok=True)
    draw(real, simulated, rs, ss, docs / "figures")

    def row(text: str, values: tuple[NDArray[np.float64], NDArray[np.float64]], form: str) -> str:
        cells = [
            f"{np.median(v):{form}} ({np.percentile(v, 10):{form}} .. {np.percentile(v, 90):{form}})"
            if len(v) > 1
            else f"{v[0]:{form}}"
            for v in values
        ]
        return (
            f"| {text} | {cells[0]} | {cells[1]} | {100 * (np.median(values[1]) / np.median(values[0]) - 1):+.1f} % |"
        )

    def column(name: str, factor: float = 1.0) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return tuple(factor * np.array([getattr(s, name) for s in some], dtype=float) for some in (rs, ss))  # type: ignore[return-value]

    def median_interval(some: list[Summary], name: str) -> NDArray[np.float64]:
        centres = np.sqrt(INTERVALS_US[1:] * INTERVALS_US[:-1]) / 1000
        return np.array([centres[np.searchsorted(np.cumsum(h), h.sum() / 2)] for h in (getattr(s, name) for s in some)])

    shapes = tuple(np.array([silhouette(outline(e, dvs)) for e in some]) for some in (real, simulated))
    lines = [
        row("events per recording", column("n_events"), ".0f"),
        row("duration, ms", column("duration_ms"), ".0f"),
        row("share of ON events, %", column("on_share", 100), ".1f"),
        row("density of the 80 x 26 x 26 cells, %", column("density", 100), ".2f"),
        row("density, ON events alone, %", column("density_on", 100), ".2f"),
        row("density, OFF events alone, %", column("density_off", 100), ".2f"),
        row("share of events inside the crop, %", column("crop_share", 100), ".1f"),
        row("events where the digit never comes", column("far_events"), ".0f"),
        row(
            "occupied cells with one event, %",
            tuple(100 * np.array([s.per_cell[0] for s in x]) for x in (rs, ss)),
            ".1f",
        ),  # type: ignore[arg-type]
        row(
            "interval to a pixel's next event, same polarity, ms",
            (median_interval(rs, "same"), median_interval(ss, "same")),
            ".2f",
        ),
        row("the same, opposite polarity, ms", (median_interval(rs, "other"), median_interval(ss, "other")), ".0f"),
        row("ON events locked to the screen's frames", column("locked_on"), ".3f"),
        row("OFF events locked to the screen's frames", column("locked_off"), ".3f"),
        row("area inside the outline, pixels", (shapes[0][:, 0], shapes[1][:, 0]), ".0f"),
    ]
    lines.append(
        row(
            "spread of neighbouring pixels around their mean",
            (np.array([roughness(rs)]), np.array([roughness(ss)])),
            ".3f",
        )
    )
    pixels = np.corrcoef(*(np.mean([s.occupancy[48:74, 53:80] for s in some], axis=0).ravel() for some in (rs, ss)))
    rates = np.corrcoef(*(np.mean([s.rate for s in some], axis=0) for some in (rs, ss)))
    lags = np.corrcoef(*(np.mean([s.autocorrelation[1:] for s in some], axis=0) for some in (rs, ss)))

    real_views, simulated_views = views(real, rs), views(simulated, ss)
    tests = []
    for name in real_views:
        a, b = real_views[name], simulated_views[name]
        control = np.mean([auc(a[::2], a[1::2]), auc(b[::2], b[1::2])])
        tests.append(f"| {name} | {auc(a, b):.3f} | {control:.3f} |")
    text = REPORT.format(
        table="\n".join(lines),
        aucs="\n".join(tests),
        pixels=pixels[0, 1],
        rates=rates[0, 1],
        lags=lags[0, 1],
        constants="\n".join(f"| `{key}` | {value:.6g} |" for key, value in dvs.model_dump().items()),
    )
    (docs / "results" / "simulator.md").write_text(text)
    print(text)


REPORT = """# The simulated camera, compared with real recordings

After reading this page you know what the simulator of event cameras gets right and what it does not. Written by
`python benchmarks/report_simulator.py --real DIR`, where DIR holds `grabbed_data0/scale4/*.aedat` of MNIST-DVS; not
edited by hand.

`gemsnn data simulate` imitates how MNIST-DVS was recorded: a DVS128 camera watches a monitor on which an MNIST digit
moves. `python benchmarks/fit_simulator.py --real DIR` fitted its constants to 100 real recordings of digit 0, scale 4.
Below, these are compared with 100 simulated zeros, made from MNIST images that the fit did not use. No recording of
another digit was available: for other digits, the simulator is an extrapolation.

## The scene

What the recordings show:

- The digit moves back and forth on a V-shaped path at constant speed: rows follow a triangle wave with a period of
  1.25 s, columns one with half that period. All recordings start at nearly the same phase.
- The monitor refreshes at 75 Hz, and the animation moves the digit in small steps about 70 times per second, unevenly,
  so that a frame shows none, one or two of them. Events come in bursts after each frame that moves.
- ON events follow a frame within milliseconds, OFF events lag: a pixel is slower in the dark.
- A passing edge makes a pixel send a burst of about five events of one polarity, 2 to 15 ms apart. This requires sharp
  edges on the sensor and thresholds that vary strongly from event to event.
- Sensitivity varies strongly between pixels, and equally for a pixel's ON and OFF events (correlation over pixels:
  0.95).
- Background noise is 87 % ON, and its rate varies between pixels by orders of magnitude.

So a simulated pixel follows the logarithm of its brightness through a low-pass filter with separate time constants for
rising and falling light, sends an event when it has changed by a threshold, and then ignores all input for a
refractory time. Each pixel has its own sensitivity, the same in all recordings; its thresholds vary from event to
event.

## Medians (10 % .. 90 % of the recordings)

| | real | simulated | difference of the medians |
|---|---|---|---|
{table}

Correlation between the means of real and simulated recordings: events of each pixel around the digit {pixels:.3f},
event rate over the 80 time bins {rates:.3f}, autocorrelation of the rate up to 60 ms {lags:.3f}.

![Histograms](../figures/simulator-histograms.png)

![Pictures of real and simulated zeros](../figures/simulator-pictures.png)

![Occupancy per pixel](../figures/simulator-occupancy.png)

![Event rate and its autocorrelation](../figures/simulator-rate.png)

![Intervals between a pixel's events](../figures/simulator-intervals.png)

## Can they be told apart?

A logistic regression sees one view of each recording at a time and decides whether it is real or simulated (5-fold
cross-validation, 100 against 100). An area under the ROC curve (AUC) of 0.5 is chance, 1 is a perfect separation. The
control is the same test between two halves of the real, and two halves of the simulated recordings (mean of both).

| what the classifier sees | AUC real / simulated | control |
|---|---|---|
{aucs}

An AUC near 1 says that the two differ systematically in that view, not that they differ much: a simulator whose
medians are within a few per cent can still be told from a real camera in which every pixel behaves differently.
Results on simulated data are labelled as such everywhere in gemsnn.

## Constants

Lengths are in sensor pixels and times in seconds, unless the name says microseconds; see `gemsnn.events.DVS`.

| constant | value |
|---|---|
{constants}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--real", type=Path, required=True, help="folder that holds grabbed_data0/scale4/*.aedat")
    parser.add_argument("--docs", type=Path, default=Path(__file__).parents[1] / "docs")
    arguments = parser.parse_args()
    report(arguments.real, arguments.docs)


if __name__ == "__main__":
    main()

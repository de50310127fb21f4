"""From simulation to reality: networks that learned from simulated digits only look at what real cameras saw.

    python studies/reality.py --out study --real DIR --page docs/tasks.md

``DIR`` holds the folders ``n-mnist`` and ``mnist-dvs`` as their archives unpack. Nothing is learned from real
recordings; the constants of the simulated cameras were fitted to real ones (docs/results/simulator.md). The study can
be killed and restarted at any time: OUT/reality has a run directory for each network and a file for each measurement;
nothing is done twice. With ``--page`` the table of the page is rewritten.
"""

from __future__ import annotations

import argparse
import hashlib
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from carrying import study, train_and_measure
from page import put, table
from rich.console import Console

from gemsnn import metrics
from gemsnn.common.words import plus_minus
from gemsnn.events import (
    Variation,
    find_mnist_dvs,
    find_nmnist,
    open_prepared,
    simulate_prepared,
)
from gemsnn.events.simulated import CAMERAS
from gemsnn.experiments import Measurement, Run, answers, own_folder
from gemsnn.experiments.statistics import estimate
from gemsnn.training import RunDirectory, TrainingConfig

CAMERA_NAMES = {
    "n-mnist": "N-MNIST, 1,000 recordings of ten digits",
    "mnist-dvs": "MNIST-DVS, 100 recordings of digit 0",
}
VARIED = {False: "one camera", True: "cameras and scenes that vary"}
PER_CLASS = (400, 50)
NETWORKS = 3
COMPARTMENTS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of the study; made if it is not there")
    parser.add_argument("--real", type=Path, required=True, help="folder with n-mnist and mnist-dvs")
    parser.add_argument("--jobs", type=int, help="networks at a time; as many as cores, if not given")
    parser.add_argument("--networks", type=int, default=NETWORKS, help="networks for each row of the table")
    parser.add_argument("--page", type=Path, help="page to write the table into")
    arguments = parser.parse_args()
    out, console = arguments.out.absolute(), Console()
    with study() as failed, own_folder(folder(out)):
        seeds, measure = range(arguments.networks), partial(measurement, real=arguments.real.absolute())
        runs = [a_run(out, camera, vary, n) for camera in CAMERA_NAMES for vary in VARIED for n in seeds]
        failed += train_and_measure(runs, measure, console, workers=arguments.jobs)
    if arguments.page is not None:
        arguments.page.write_text(put(arguments.page.read_text(), "reality", page_table(answers(folder(out)))))


def folder(out: Path) -> Path:
    return out / "reality"


def a_run(out: Path, camera: str, vary: bool, network: int) -> Run:
    """A network to train with the default settings; its data are made unless they are there."""
    name = f"{camera}-{'varied' if vary else 'plain'}-{network}"
    file = out / "reality-data" / f"{name}.h5"
    if not file.exists():
        print(f"simulating {file}", flush=True)
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_suffix(".partial.h5")
        simulate_prepared(
            partial,
            digits=range(10),
            per_class=PER_CLASS,
            seed=200 + network,
            camera=camera,
            preprocessing=CAMERAS[camera].preprocessing,
            vary=Variation() if vary else None,
        )
        partial.rename(file)
    config = TrainingConfig.make(
        validation_fraction=0.0, test_limit=0, inference_compartments=COMPARTMENTS, seed=network
    )
    return Run(name, config, file, {"camera": camera, "vary": vary, "network": network}, folder(out))


def measurement(run: Run, real: Path) -> Measurement:
    weights = hashlib.sha256(run.directory.model_path("final").read_bytes()).hexdigest()
    arguments = {**run.labels, "file": str(run.data), "weights": weights, "real": str(real / run.labels["camera"])}
    return Measurement(run.name, measure, arguments, run.labels, run.folder)


def measure(where: Path, camera: str, vary: bool, network: int, file: str, weights: str, real: str) -> dict[str, Any]:
    model = RunDirectory(where / "runs" / Path(file).stem).load_model("final")
    decoder, classes = {"decoder": "per-step", "compartments": COMPARTMENTS}, np.array(model.classes)
    with open_prepared(file) as prepared:
        simulated = prepared.test.read(range(len(prepared.test)))
        truth = prepared.test.labels[:]
    found = model.predict(simulated, **decoder)
    inventory = find_nmnist(real) if camera == "n-mnist" else find_mnist_dvs(real, [0])
    recordings = inventory.recordings
    seen = model.predict(list(recordings), **decoder)
    labels = np.array([model.classes.index(recording.label) for recording in recordings])
    sure, right = seen.probabilities.max(axis=1), seen.label == classes[labels]
    return {
        "camera": camera,
        "vary": vary,
        "network": network,
        "recordings": len(labels),
        "simulated": metrics.accuracy(classes[truth], found.label),
        "accuracy": float(right.mean()),
        "ece": metrics.expected_calibration_error(labels, seen.probabilities),
        "confidence": float(sure.mean()),
        "confidence_when_wrong": float(sure[~right].mean()) if not right.all() else None,
    }


def page_table(measured: list[dict[str, Any]]) -> str:
    lines = []
    for camera, real in CAMERA_NAMES.items():
        for vary, learned in VARIED.items():
            found = [row for row in measured if (row["camera"], row["vary"]) == (camera, vary)]
            if not found:
                continue
            wrong = [row["confidence_when_wrong"] for row in found if row["confidence_when_wrong"] is not None]
            figures = [
                *(plus_minus(estimate([row[name] for row in found]), 100, 1) for name in ("simulated", "accuracy")),
                plus_minus(estimate([row["ece"] for row in found]), 1, 3),
                plus_minus(estimate([row["confidence"] for row in found]), 100, 1),
                plus_minus(estimate(wrong), 100, 1) if wrong else "never wrong",
            ]
            lines.append([real, learned, *figures])
    header = ["real recordings", "learned from", "simulated, accuracy %", "real, accuracy %", "real, ECE"]
    return table([*header, "mean confidence, %", "when wrong, %"], lines)


if __name__ == "__main__":
    main()

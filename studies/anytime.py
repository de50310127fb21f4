"""Answers before the end: how good they are after every step, and what a rule that stops when confident saves.

    python studies/anytime.py --out study

Takes the models and data that studies/settings.py left in OUT; what was measured is kept in OUT/anytime.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from carrying import study
from judging import N_BINS
from rich.console import Console
from settings import SPLITS, data_file, folder, run_name

from gemsnn import metrics
from gemsnn.events import open_prepared
from gemsnn.experiments import Measurement, answers, carry_out, failures, own_folder
from gemsnn.training import RunDirectory, load_model

CONFIDENCES = (0.8, 0.9, 0.95, 0.99)
MIN_STEPS = 4  # a tenth of a second of MNIST-DVS: before, nothing has moved


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of the study")
    parser.add_argument("--jobs", type=int, help="models at a time; as many as cores, if not given")
    arguments = parser.parse_args(given)
    trained = [run for run in answers(folder(arguments.out)) if run["setting"] == "default" and run["data"] in SPLITS]
    if not trained:
        sys.exit(f"error: {arguments.out}: no model of the default settings here; run studies/settings.py first")
    where = arguments.out / "anytime"
    with study() as failed, own_folder(where):
        work = [measurement(where.absolute(), run["data"], run["split"]) for run in trained]
        failed += failures(carry_out(work, Console(), workers=arguments.jobs))


def measurement(where: Path, name: str, split: int) -> Measurement:
    """Told apart by the weights of the model."""
    weights = hashlib.sha256(model_file(where, name, split).read_bytes()).hexdigest()
    labels = {"data": name, "split": split}
    return Measurement(f"{name}-{split}", measure, {**labels, "weights": weights}, labels, where)


def model_file(where: Path, name: str, split: int) -> Path:
    run = RunDirectory(folder(where.parent) / "runs" / run_name(name, "default", split))
    return run.find_model()


def measure(where: Path, data: str, split: int, weights: str) -> dict[str, Any]:
    model = load_model(model_file(where, data, split))
    with open_prepared(data_file(where.parent, data, split)) as prepared:
        inputs, labels = prepared.test.read(range(len(prepared.test))), prepared.test.labels[:]
        bin_ms = prepared.preprocessing.bin_us / 1000 if prepared.preprocessing else 1.0
    anytime = model.predict_anytime(inputs)
    T, spikes = inputs.shape[1], anytime.hidden_spikes.sum(axis=1).mean()
    rules = []
    for confidence in CONFIDENCES:
        found = anytime.stop(confidence, MIN_STEPS)
        rules.append(
            {
                "confidence": confidence,
                "accuracy": metrics.accuracy(labels, found.classes),
                "mean_confidence": float(found.confidence.mean()),
                "steps": float(found.steps.mean()),
                "hidden_spikes": float(found.hidden_spikes.mean()),
            }
        )
    return {
        "data": data,
        "split": split,
        "n_steps": T,
        "bin_ms": bin_ms,
        "accuracy": [metrics.accuracy(labels, anytime.classes[:, t]) for t in range(T)],
        "ece": [
            metrics.reliability(labels, anytime.probabilities[:, t], N_BINS, predicted=anytime.classes[:, t]).ece
            for t in range(T)
        ],
        "hidden_spikes": float(spikes),
        "input_spikes": float(np.count_nonzero(inputs) / len(inputs)),
        "stopping": rules,
    }


if __name__ == "__main__":
    main()

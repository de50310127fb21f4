"""Answers before the end: how good they are after every step, and what a rule that stops when confident saves.

    python studies/anytime.py --out study

Takes the models and data that studies/settings.py left in OUT, and writes OUT/anytime.json.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from settings import DIGITS, N_BINS, data_file

from gemsnn import metrics, predict_anytime
from gemsnn.events import open_prepared
from gemsnn.training import load_model

COMPARTMENTS = 20
CONFIDENCES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
MIN_STEPS = 4  # a tenth of a second of MNIST-DVS: before, nothing has moved


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of the study")
    out = parser.parse_args().out
    results = []
    for name in DIGITS:
        for model in sorted((out / "models").glob(f"{name}-[0-9].safetensors")):
            results.append(measure(out, name, int(model.stem.removeprefix(f"{name}-"))))
            last = results[-1]
            stopped = next(rule for rule in last["stopping"] if rule["confidence"] == 0.9)
            print(
                f"{name} {last['split']}: {100 * last['accuracy'][-1]:.1f} % after {last['n_steps']} steps; stopping "
                f"at 0.9: {100 * stopped['accuracy']:.1f} % after {stopped['steps']:.1f}",
                flush=True,
            )
    (out / "anytime.json").write_text(json.dumps(results))


def measure(out: Path, name: str, split: int) -> dict[str, Any]:
    model = load_model(out / "models" / f"{name}-{split}.safetensors")
    with open_prepared(data_file(out, name, split)) as data:
        inputs, labels = data.test.read(range(len(data.test))), data.test.labels[:]
        bin_ms = data.preprocessing.bin_us / 1000 if data.preprocessing else 1.0
    anytime = predict_anytime(model.network, model.parameters, inputs, COMPARTMENTS, decoder="per-step", seed=1)
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
        "data": name,
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

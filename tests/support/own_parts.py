"""A network, weights, examples of different lengths and targets of every kind; as a program, it trains on them.

python own_parts.py KIND RUN
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import gemsnn
from gemsnn.training import ArrayData, ArrayExamples, Outcome, TrainingConfig, train

_rng = np.random.default_rng(0)
_LENGTHS = [20, 14, 20, 17] * 5
NETWORK = gemsnn.Network(
    gemsnn.Topology.random(12, 5, 3, 0.6, seed=4), gemsnn.Filter([[0.5, 0.3, 0.2]]), visible_memory=False
)
PARAMETERS = NETWORK.init(seed=7, weight_scale=2.0)
SPIKES = [(_rng.random((T, 12)) < 0.3).astype(np.uint8) for T in _LENGTHS]
CLASSES = np.arange(20) % 3
LABELS = _rng.integers(0, 2, (20, 3)).astype(np.uint8)
PATTERNS = [(_rng.random((T, 3)) < 0.4).astype(np.uint8) for T in _LENGTHS]
CONFIG = TrainingConfig.make(
    rule="gem", n_compartments=3, epochs=3, eval_every=90, checkpoint_seconds=0, likelihood_samples=3,
    validation_fraction=0.2, average_last=0.5,
)  # fmt: skip


def data(kind: str) -> ArrayData:
    targets = {
        "classes": {"labels": CLASSES},
        "labels": {"labels": LABELS},
        "patterns": {"targets": PATTERNS},
    }[kind]
    return ArrayData(ArrayExamples(SPIKES, **targets), classes=("a", "b", "c"))


def run(kind: str, directory: Path) -> Outcome:
    return train(CONFIG, data(kind), directory, resume=True, network=NETWORK, parameters=PARAMETERS)


if __name__ == "__main__":
    run(sys.argv[1], Path(sys.argv[2]))

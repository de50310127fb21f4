"""A small classification problem and runs on it: three classes, each with inputs of its own that spike more often."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gemsnn.events import write_prepared
from gemsnn.rules import Rule
from gemsnn.training import NetworkSettings, ScheduleSettings, TrainingConfig

N_STEPS, N_INPUTS = 20, 12
CLASSES = (2, 5, 7)


def examples(n: int = 48, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """(n, 20, 12) spikes and labels, 2, 5, 7, 2, 5, 7, ..."""
    labels = np.array(CLASSES)[np.arange(n) % 3]
    rate = np.full((n, N_INPUTS), 0.1)
    for i in range(n):
        rate[i, 4 * (i % 3) : 4 * (i % 3) + 4] = 0.6
    return np.random.default_rng(seed).random((n, N_STEPS, N_INPUTS)) < rate[:, None, :], labels


def prepared(path: Path, n: int = 48, seed: int = 0) -> Path:
    """The problem as a prepared file; every fourth example is for testing."""
    spikes, labels = examples(n, seed)
    write_prepared(path, spikes, labels, split=["test" if i % 4 == 3 else "train" for i in range(n)])
    return path


def config(**changes: Any) -> TrainingConfig:
    """Settings under which a run takes a fraction of a second and evaluates several times."""
    usual = {"n_hidden": 6, "n_compartments": 2, "rule": {"learning_rate": 1e-2}, "epochs": 2}
    usual |= {"eval_every": 10 * N_STEPS, "likelihood_samples": 3, "validation_fraction": 0.2}
    return TrainingConfig.make(**{**usual, **changes})


RESULTS = ("final.safetensors", "best.safetensors", "best_on_test.safetensors", "metrics.jsonl", "summary.json")


def results(run: Path) -> dict[str, bytes]:
    """Everything that must not depend on interruptions."""
    return {name: (run / name).read_bytes() for name in RESULTS}


def arguments(**settings: Any) -> dict[str, Any]:
    """Settings of a run in the arguments that the classifiers gather them in; a learning rate is the rule's."""
    found: dict[str, Any] = {}
    if (rate := settings.pop("learning_rate", None)) is not None:
        rule = settings.pop("rule", {})
        if isinstance(rule, Rule):
            found["rule"] = replace(rule, learning_rate=rate)
        else:
            found["rule"] = {**({"kind": rule} if isinstance(rule, str) else rule), "learning_rate": rate}
    for name, value in settings.items():
        if name in NetworkSettings.model_fields:
            found.setdefault("network", {})[name] = value
        elif name in ScheduleSettings.model_fields:
            found.setdefault("schedule", {})[name] = value
        else:
            found[name] = value
    return found

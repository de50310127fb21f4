"""Results with known answers: what every run measured at every evaluation is given by functions."""

from __future__ import annotations

from collections.abc import Callable

from gemsnn.experiments import Protocol, Results
from gemsnn.experiments.results import Measured

Value = Callable[[int, int, int], float]
"""Of K, seed and the evaluation's number."""


def made_up(
    *,
    log_likelihood: Value = lambda K, seed, i: -10.0,
    accuracy: Value = lambda K, seed, i: 0.9,
    ece: Value = lambda K, seed, i: 0.1,
    spikes: Callable[[int, int], float] = lambda K, seed: 7.0 * K,
    validation_accuracy: Value | None = None,
    protocol: Protocol | None = None,
    n_evaluations: int = 4,
) -> Results:
    protocol = protocol or Protocol.make("full")

    def figures(K: int, seed: int, i: int, chosen: Value) -> dict:
        one = {
            "accuracy": chosen(K, seed, i),
            "ece": ece(K, seed, i),
            "nll": 0.3,
            "brier": 0.2,
            "hidden_spikes_per_step": 1.0,
            "n_bins": 10,
            "reliability": {
                "counts": [0] * 9 + [10],
                "confidence": [None] * 9 + [0.95],
                "accuracy": [None] * 9 + [0.9],
            },
        }
        return {
            "examples": 10,
            "log_likelihood": log_likelihood(K, seed, i),
            **one,
            "extra_decoders": [
                {**one, "decoder": "vote", "compartments": 2},
                {**one, "decoder": "likelihood", "compartments": 20},
            ],
        }

    def measured(K: int, seed: int) -> Measured:
        records = [
            {
                "position": 10 * (i + 1),
                "epoch": float(i + 1),
                "time_samples": 800 * (i + 1),
                "train": {"examples": 10, "log_likelihood": -20.0, "hidden_spikes_per_step": spikes(K, seed)},
                "test": figures(K, seed, i, accuracy),
                "validation": figures(K, seed, i, validation_accuracy or accuracy),
            }
            for i in range(n_evaluations)
        ]
        return Measured(K, seed, records, 203 * K, 3 * K, {"n_compartments": K, "seed": seed})

    runs = [measured(K, seed) for K in protocol.compartments for seed in protocol.seeds]
    data = {
        "simulated": True,
        "description": "made up",
        "n_train": 10,
        "n_test": 10,
        "classes": [0, 1, 2],
        "n_steps": 80,
        "n_inputs": 676,
        "split": "One.",
    }
    about = {"data": data, "commands": ["gemsnn reproduce"], "versions": {"gemsnn": "0"}, "when": "Made up"}
    return Results(protocol, runs, [], about)

"""How many examples a batch may have: accuracy, ECE and NLL of validation parts against `batch_size`.

    GEMSNN_REAL_DATA=... python studies/batch_size.py [--tasks braille auditory] [--sizes 1 4 8 16] [--seeds 0 1]

Settings are the defaults but for the step size, which is one that suits the task, and at most `--examples` examples are
learned from. Test parts are not looked at. Prints a JSON line a run, then the table.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import numpy as np
from task_data import load

from gemsnn.training import ArrayData, ArrayExamples, TrainingConfig, trainer_of

LEARNING_RATES = {"n-mnist": 1e-3, "gestures": 1e-3, "braille": 3e-3, "auditory": 1e-2, "poker-dvs": 1e-3}
FIGURES = ("accuracy", "ece", "nll")


def measured(name: str, batch_size: int, seed: int, examples: int, **settings: Any) -> dict[str, float]:
    """Figures of the validation part after learning from the training part of a split of the task."""
    task = load(name)
    parts = task.split(seed)
    rng = np.random.default_rng(seed)
    learned, judged = np.sort(rng.permutation(parts.train)[:examples]), parts.validation
    data = ArrayData(
        ArrayExamples(task.arrays(learned), task.labels[learned]),
        task.classes,
        ArrayExamples(task.arrays(judged), task.labels[judged]),
    )
    config = TrainingConfig.make(
        rule={"learning_rate": LEARNING_RATES.get(name, 1e-3)},
        batch_size=batch_size,
        seed=seed,
        grid=task.grid,
        validation_fraction=0,
        eval_every=10**12,
        inference_compartments=5,
        threads=1,
        **settings,
    )
    trainer = trainer_of(config, data)
    trainer.run()
    last = trainer.state.progress.last
    assert last is not None
    return {figure: last["test"][figure] for figure in FIGURES}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="+", default=list(LEARNING_RATES))
    parser.add_argument("--sizes", nargs="+", type=int, default=[1, 4, 8, 16])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1])
    parser.add_argument("--examples", type=int, default=400)
    parser.add_argument("--epochs", type=int)
    arguments = parser.parse_args()
    rows = []
    for name in arguments.tasks:
        for size in arguments.sizes:
            each = []
            for seed in arguments.seeds:
                each.append(measured(name, size, seed, arguments.examples, epochs=arguments.epochs))
                print(json.dumps({"task": name, "batch_size": size, "seed": seed, **each[-1]}), flush=True)
            means = {figure: float(np.mean([one[figure] for one in each])) for figure in FIGURES}
            rows.append(
                f"| {name} | {size} | {100 * means['accuracy']:.1f} | {means['ece']:.3f} | {means['nll']:.3f} |"
            )
    print("| task | batch | accuracy, % | ECE | NLL |\n|---|---|---|---|---|")
    print("\n".join(rows))


if __name__ == "__main__":
    main()

"""Which settings make a good classifier: each setting changed on its own, over splits of simulated and real digits.

    python studies/settings.py --out study --n-mnist DIR

``DIR`` holds N-MNIST's ``Train/<digit>/<id>.bin``; without it only simulated digits are used. A run learns from one
split's training examples and is judged, with the weights at its end, on that split's test examples: no iteration is
chosen on the test set. Each run adds a line to OUT/runs.jsonl, and what is there already is not run again, so the study
can be stopped and started at will. Models of the default settings are kept in OUT/models, for studies/anytime.py.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gemsnn import metrics
from gemsnn.events import find_nmnist, import_recordings, open_prepared, simulate_prepared
from gemsnn.inference import DECODERS, Answer
from gemsnn.inference.evidence import run_for
from gemsnn.training import PRESETS, ArrayData, ArrayExamples, Model, Trainer, TrainingConfig, save_model

N_BINS = 10
COMPARTMENTS = (1, 2, 5, 10, 20)  # at inference
DIGITS = {"simulated-012": (0, 1, 2), "simulated-10": tuple(range(10)), "n-mnist-012": (0, 1, 2)}
DIGITS |= {"n-mnist-10": tuple(range(10)), "simulated-012-fresh": (0, 1, 2)}
FIRST_SEED = {"simulated-012-fresh": 3}  # splits that nobody looked at while settings were chosen
EPOCHS = {"simulated-012": 10, "simulated-10": 4, "n-mnist-012": 10, "n-mnist-10": 10, "simulated-012-fresh": 10}

READING_OUT = ("decoder", "inference_compartments", "likelihood_samples")  # which the study does in its own way
PAPER = {name: value for name, value in PRESETS["paper"].items() if name not in READING_OUT}
PAPER["n_compartments"] = 2  # not 20, so that it takes about the default's time
SETTINGS: dict[str, dict[str, Any]] = {  # in order of interest; what is not named is the default
    "default": {},
    "paper": PAPER,
    "no feedback": {"feedback": 0.0, "n_compartments": 2},
    "no shift": {"shift": 0},
    "no hidden neurons": {"n_hidden": 0},
    "self-memory on": {"visible_memory": True},
    "constant step": {"learning_rate_schedule": "constant"},
    "constant step, no average": {"learning_rate_schedule": "constant", "average_last": 0.0},
    "K = 2": {"n_compartments": 2},
    "K = 5": {"n_compartments": 5},
    "hidden bias 0": {"hidden_bias": 0.0},
    "hidden bias -4": {"hidden_bias": -4.0},
    "no average": {"average_last": 0.0},
    "ten epochs": {"epochs": 10},
}
USUAL = tuple(name for name in SETTINGS if name not in ("K = 5", "ten epochs"))
PLAN: dict[str, tuple[int, tuple[str, ...]]] = {  # data: number of splits, settings
    "simulated-012": (3, USUAL),
    "n-mnist-012": (5, (*USUAL, "K = 5")),
    "n-mnist-10": (3, USUAL),
    "simulated-10": (3, (*USUAL, "ten epochs")),
    "simulated-012-fresh": (3, ("default",)),
}


class Task(NamedTuple):
    data: str
    split: int
    setting: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of the study; made if it is not there")
    parser.add_argument("--n-mnist", type=Path, help="folder with N-MNIST's Train")
    parser.add_argument("--data", nargs="+", choices=PLAN, default=list(PLAN), help="only these data")
    parser.add_argument("--settings", nargs="+", choices=SETTINGS, default=list(SETTINGS), help="only these settings")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="runs at a time")
    arguments = parser.parse_args()
    names = [name for name in arguments.data if arguments.n_mnist or name.startswith("simulated")]
    (arguments.out / "models").mkdir(parents=True, exist_ok=True)
    results = arguments.out / "runs.jsonl"
    done = {Task(*(run[name] for name in Task._fields)) for run in read_lines(results)}
    tasks = [
        Task(name, split, setting)
        for setting in arguments.settings
        for name in names
        for split in range(PLAN[name][0])
        if setting in PLAN[name][1]
    ]
    for name, split in sorted({(task.data, task.split) for task in tasks}):
        prepare(arguments.out, name, split, arguments.n_mnist)
    with ProcessPoolExecutor(arguments.jobs) as pool:
        waiting = {pool.submit(run, arguments.out, task): task for task in tasks if task not in done}
        for number, future in enumerate(as_completed(waiting), 1):
            record = future.result()
            with results.open("a") as file:
                file.write(json.dumps(record) + "\n")
            figures = record["test"]["per-step"]["20"]
            print(
                f"{number} of {len(waiting)}: {record['data']} {record['split']}, {record['setting']}: accuracy "
                f"{100 * figures['accuracy']:.1f} %, ECE {figures['ece']:.3f}, {record['train_seconds']:.0f} s",
                flush=True,
            )


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def data_file(out: Path, name: str, split: int) -> Path:
    return out / "data" / f"{name}-{split}.h5"


def prepare(out: Path, name: str, split: int, n_mnist: Path | None) -> None:
    """Write the split's prepared file, unless it is there."""
    file = data_file(out, name, split)
    if file.exists():
        return
    print(f"preparing {file}", flush=True)
    file.parent.mkdir(exist_ok=True)
    partial = file.with_suffix(".partial.h5")
    if name.startswith("simulated"):
        simulate_prepared(partial, digits=DIGITS[name], per_class=(400, 100), seed=FIRST_SEED.get(name, 0) + split)
    else:
        assert n_mnist is not None
        inventory = find_nmnist(n_mnist, DIGITS[name])
        import_recordings(inventory, partial, split="stratified", test_fraction=0.2, seed=split)
    partial.rename(file)


def run(out: Path, task: Task) -> dict[str, Any]:
    """Train once, and measure the weights at the end with every decoder and number of compartments."""
    with open_prepared(data_file(out, task.data, task.split)) as prepared:
        train, test = (
            ArrayExamples(split.read(range(len(split.labels))), split.labels[:])
            for split in (prepared.train, prepared.test)
        )
        data = ArrayData(train, prepared.classes, test, prepared.preprocessing)
    config = TrainingConfig.make(
        **{
            "epochs": EPOCHS[task.data],
            "validation_fraction": 0.0,
            "inference_compartments": 5,  # of the figures after each epoch
            "likelihood_samples": 5,
            "seed": task.split,
            **SETTINGS[task.setting],
        }
    )
    config = config.changed(decoder="vote" if task.setting.startswith("paper") else "per-step")
    trainer = Trainer(config, data)
    history, seconds, processor_seconds = [], 0.0, 0.0
    while not trainer.finished:
        if trainer.evaluation_due:
            record = trainer.evaluate().record
            kept = {name: record["test"][name] for name in ("accuracy", "ece", "nll", "log_likelihood")}
            history.append({"epoch": record["epoch"], **kept})
        else:
            begin = time.process_time()
            seconds += trainer.learn_next().seconds
            processor_seconds += time.process_time() - begin
    model = trainer.model()
    if task.setting == "default":
        save_model(model, out / "models" / f"{task.data}-{task.split}.safetensors")
    return {
        **task._asdict(),
        "n_train": len(train),
        "n_test": len(test),
        "n_steps": data.n_steps,
        "epochs": config.epochs,
        "train_seconds": seconds,
        "train_processor_seconds": processor_seconds,
        "history": history,
        "test": measure(model, test),
        "config": config.identity(),
    }


def measure(model: Model, test: ArrayExamples) -> dict[str, dict[str, dict[str, float]]]:
    """Figures of each decoder for each number of compartments, all from one run of the most compartments."""
    network, most = model.network, max(COMPARTMENTS)
    found: dict[str, dict[int, list[Answer]]] = {name: {K: [] for K in COMPARTMENTS} for name in DECODERS}
    hidden = 0.0  # spikes of one compartment
    for first in range(0, len(test), 100):
        inputs = test.spikes[first : first + 100]
        keys = range(first, first + len(inputs))
        for free in (True, False):  # decoders that want the same run share it
            asked = [(decoder, K) for decoder in DECODERS.values() if decoder.free == free for K in COMPARTMENTS]
            evidence = run_for(asked[0][0], network, model.parameters, inputs, most, None, 1, keys, 1)
            states = [decoder.start((len(inputs), K, network.n_visible)) for decoder, K in asked]
            for step in evidence.steps:
                states = [decoder.update(state, step[:, :K]) for (decoder, K), state in zip(asked, states, strict=True)]
            for (decoder, K), state in zip(asked, states, strict=True):
                found[decoder.name][K].append(decoder.answer(state))
        hidden += evidence.hidden_spikes.sum() / most
    return {
        decoder: {
            str(K): figures(
                test.labels,
                np.concatenate([part.probabilities for part in parts]),
                np.concatenate([part.classes for part in parts]),
                hidden / len(test) * K,
            )
            for K, parts in by_K.items()
        }
        for decoder, by_K in found.items()
    }


def figures(
    labels: NDArray[np.int64], probabilities: NDArray[np.float64], chosen: NDArray[np.int64], hidden_spikes: float
) -> dict[str, float]:
    return {
        "accuracy": metrics.accuracy(labels, chosen),
        "ece": metrics.reliability(labels, probabilities, N_BINS, predicted=chosen).ece,
        "nll": metrics.negative_log_likelihood(labels, probabilities),
        "brier": metrics.brier_score(labels, probabilities),
        "hidden_spikes": hidden_spikes,
    }


if __name__ == "__main__":
    main()

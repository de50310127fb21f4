"""What a model knows of its guarantee: the thresholds, for which decoder they hold, and from which recordings they are.

Only recordings that the model neither learned from nor was chosen by will do, and the sets have to be judged on others
again. So the recordings are remembered by their keys, and what was calibrated on is never measured on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

from gemsnn.common.splits import group_share
from gemsnn.errors import ConfigError, DataError
from gemsnn.inference import AnytimePrediction, Guarantee, as_decoder, calibrate, recording_key
from gemsnn.inference.guarantee import affordable, checkpoints_of
from gemsnn.inference.prediction import Readout
from gemsnn.model import Network, Parameters
from gemsnn.training.answered import answered, batches
from gemsnn.training.config import DecoderSettings
from gemsnn.training.data import Data, Examples
from gemsnn.training.partition import groups_of
from gemsnn.training.randomness import Purpose, shuffled

SplitName = Literal["train", "test"]


@dataclass(frozen=True, eq=False)
class Calibration:
    """A guarantee and where it comes from.

    Attributes
    ----------
    guarantee
        Thresholds at checkpoints.
    decoder
        Whose probabilities they are thresholds of; the promise holds for no other.
    keys
        :func:`gemsnn.inference.recording_key` of the recordings calibrated on, in ascending order.
    about
        Which data they were from, as JSON values.
    """

    guarantee: Guarantee
    decoder: DecoderSettings
    keys: NDArray[np.uint64]
    about: dict[str, Any] = field(default_factory=dict)


def keys_of(examples: Examples, indices: NDArray[np.intp], n_inputs: int) -> NDArray[np.uint64]:
    """Keys, in ascending order, of all recordings but silent ones, which are no sign that one was seen before."""
    found = []
    for index in indices.tolist():
        spikes = examples.load(index)[0]
        if len(spikes.spikes):
            found.append(recording_key(spikes.to_array(n_inputs)))
    return np.unique(np.array(found, dtype=np.uint64))


class HeldOut(NamedTuple):
    """Examples to calibrate on."""

    examples: Examples
    indices: NDArray[np.intp]
    about: dict[str, Any]


def held_out(data: Data | Examples, learned_from: str | None, split: SplitName, share: float, seed: int) -> HeldOut:
    """A random share of examples, or of a split of data; of examples with groups, whole groups.

    What the model learned from is refused where that is known.

    ``learned_from`` is the fingerprint of the data that the model was trained on, None if it is not known.
    """
    if not 0 < share <= 1:
        raise ConfigError(f"share must lie above 0 and not above 1, got {share!r}")
    name, about = str(getattr(data, "path", "the data")), dict[str, Any]()
    if hasattr(data, "train"):
        both = cast(Data, data)
        _refuse_what_was_learned(both, name, learned_from, split)
        about = {"data": both.fingerprint, "split": split}
        data, name = both.test if split == "test" else both.train, f"{name}: the {split} split"
    if not len(data):
        raise DataError(f"{name} is empty, so there is nothing to calibrate on")
    about |= {"of": len(data)}
    groups = groups_of(data)
    if groups is not None:
        indices = np.flatnonzero(group_share(groups, share, lambda _, n: shuffled(n, seed, Purpose.CALIBRATE)))
        return HeldOut(data, indices, {**about, "groups": len(np.unique(groups[indices]))})
    # A plain random share, not the same of each class: then every recording is as likely to be in it as any other.
    order = shuffled(len(data), seed, Purpose.CALIBRATE)
    indices = np.sort(order[: max(1, round(share * len(data)))])
    return HeldOut(data, indices, about)


def _refuse_what_was_learned(data: Data, name: str, learned_from: str | None, split: SplitName) -> None:
    if learned_from is not None and data.fingerprint == learned_from and split == "train":
        raise DataError(
            f"{name}: the model learned from the train split of this file, or was chosen by it, so that it says "
            "nothing of recordings to come; calibrate on the test split, or on recordings of their own"
        )
    recorded = getattr(data, "attributes", {}).get("split")
    if learned_from is not None and isinstance(recorded, dict) and recorded.get("of") == learned_from:
        raise DataError(
            f"{name}: made by splitting anew the file that the model learned from, so that both splits hold recordings "
            "that it knows; calibrate on the test split of that file, or on recordings of their own"
        )


def calibrated(
    network: Network,
    parameters: Parameters,
    found: HeldOut,
    decoder: DecoderSettings,
    alpha: float,
    checkpoints: int | Sequence[int],
    n_steps: int,
    *,
    seed: int,
    threads: int,
    engine: str = "compiled",
    learned: NDArray[np.uint64] | None = None,
    **known: Any,
) -> Calibration:
    """Thresholds from held-out examples; ``checkpoints`` that are only counted are spread over ``n_steps``.

    ``learned`` are the keys of the recordings that the model knows, if that is known: those are refused.
    ``known`` is what :meth:`gemsnn.training.Model.knows` of the decoder.
    """
    labels = one_class_each(found.examples)[found.indices]
    steps = checkpoints_of(affordable(checkpoints, alpha, len(labels)), n_steps)
    answers: list[Any] = [None] * len(labels)
    keys = np.zeros(len(labels), dtype=np.uint64)
    readout = Readout(as_decoder(decoder.kind), decoder.compartments, **known)
    work = batches(found.examples, found.indices, network.n_inputs)
    for part in answered(network, parameters, work, [readout], seed=seed, threads=threads, engine=engine):
        keys[part.places] = part.keys
        for place, answer in zip(part.places, part.answers[0], strict=True):
            answers[place] = answer
    same = 0 if learned is None else int(np.isin(keys, learned).sum())
    if same:
        raise DataError(
            f"{same} of the {len(keys)} recordings were learned from, or chose the model, so that they say nothing of "
            "recordings to come: calibrate on others"
        )
    guarantee = calibrate(answers, labels, alpha, steps)
    return Calibration(guarantee, decoder, np.unique(keys), found.about)


def figures_of_sets(
    calibration: Calibration,
    answers: Sequence[AnytimePrediction],
    keys: NDArray[np.uint64],
    labels: NDArray[np.int64],
    size: int = 1,
) -> dict[str, Any]:
    """What the sets are worth on examples that were not calibrated on, stopped at ``size`` classes; JSON values.

    ``keys`` are those of the recordings that are answered. ``coverage`` is the share of sets that hold the true class
    when they stop, with its 95 % interval (Clopper and Pearson); ``calibrated_on`` counts the examples left out because
    they were calibrated on.
    """
    guarantee, kept = calibration.guarantee, np.flatnonzero(~np.isin(keys, calibration.keys))
    result: dict[str, Any] = {
        "alpha": guarantee.alpha,
        "size": size,
        "checkpoints": list(guarantee.checkpoints),
        "recordings": guarantee.n_recordings,
        "examples": len(kept),
        "calibrated_on": len(keys) - len(kept),
    }
    if not len(kept):
        return result
    answers, labels = [answers[i] for i in kept.tolist()], labels[kept]
    found = guarantee.stop(answers, size)
    holds = found.members[np.arange(len(labels)), labels]
    interval = binomtest(int(holds.sum()), len(holds)).proportion_ci(0.95)
    lengths = np.array([len(one.classes) for one in answers])
    return result | {
        "coverage": float(holds.mean()),
        "interval": [float(interval.low), float(interval.high)],
        "mean_size": float(found.sizes.mean()),
        "sizes": np.bincount(found.sizes, minlength=found.members.shape[1] + 1).tolist(),
        "stopped_early": float((found.steps < lengths).mean()),
        "steps": float(found.steps.mean()),
        "steps_to_the_end": float(lengths.mean()),
        "hidden_spikes": float(found.hidden_spikes.mean()),
        "hidden_spikes_to_the_end": float(np.mean([one.hidden_spikes.sum() for one in answers])),
    }


def one_class_each(examples: Examples) -> NDArray[np.int64]:
    """(n,) class indices; data that ask for anything else are refused."""
    labels = examples.labels
    if labels is None or np.ndim(labels) != 1:
        raise DataError("sets of classes are for data with one class each, not several labels or spike patterns")
    return np.asarray(labels)

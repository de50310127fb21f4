"""A model's guarantee: its thresholds, the decoder that they hold for, and the recordings that they were computed from.

These recordings must not have been used for training or model selection, and the sets have to be evaluated on yet
others. So the recordings are remembered by their keys, and evaluations leave them out.
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
from gemsnn.inference import AnytimePrediction, Guarantee, recording_key
from gemsnn.training.config import DecoderSettings
from gemsnn.training.data import Data, Examples
from gemsnn.training.partition import groups_of
from gemsnn.training.randomness import Purpose, shuffled

SplitName = Literal["train", "test"]


@dataclass(frozen=True, eq=False)
class Calibration:
    """A guarantee and its origin.

    Attributes
    ----------
    guarantee
        Thresholds at checkpoints.
    decoder
        The decoder whose probabilities are thresholded; the guarantee holds for no other.
    keys
        :func:`gemsnn.inference.recording_key` of the recordings calibrated on, in ascending order.
    about
        The data that they come from, as JSON values.
    """

    guarantee: Guarantee
    decoder: DecoderSettings
    keys: NDArray[np.uint64]
    about: dict[str, Any] = field(default_factory=dict)


def keys_of(examples: Examples, indices: NDArray[np.intp], n_inputs: int) -> NDArray[np.uint64]:
    """Keys, in ascending order, of all recordings except silent ones, which are all alike."""
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
    """A random share of examples, or of a split of data; whole groups if the examples have groups.

    ``learned_from`` is the fingerprint of the data that the model was trained on, None if unknown; its training
    examples are refused, and so are other examples of their groups.
    """
    if not 0 < share <= 1:
        raise ConfigError(f"share must lie above 0 and not above 1, got {share!r}")
    name, about = str(getattr(data, "path", "the data")), dict[str, Any]()
    learned_groups: NDArray[Any] = np.zeros(0)
    if hasattr(data, "train"):
        both = cast(Data, data)
        _refuse_what_was_learned(both, name, learned_from, split)
        about = {"data": both.fingerprint, "split": split}
        known = groups_of(both.train) if both.fingerprint == learned_from else None
        learned_groups = learned_groups if known is None else known
        data, name = both.test if split == "test" else both.train, f"{name}: the {split} split"
    if not len(data):
        raise DataError(f"{name} is empty, so there is nothing to calibrate on")
    about |= {"of": len(data)}
    groups = groups_of(data)
    if groups is not None:
        # Recordings of a group that the model learned from are not held out, whichever split they are in.
        others = np.flatnonzero(np.isin(groups, learned_groups, invert=True))
        if not len(others):
            raise DataError(f"{name}: the model learned from every group in it; calibrate on other groups")
        chosen = group_share(groups[others], share, lambda _, n: shuffled(n, seed, Purpose.CALIBRATE))
        indices = others[chosen]
        return HeldOut(data, indices, {**about, "groups": len(np.unique(groups[indices]))})
    # A plain random share, not stratified, so that every recording is equally likely to be in it.
    order = shuffled(len(data), seed, Purpose.CALIBRATE)
    indices = np.sort(order[: max(1, round(share * len(data)))])
    return HeldOut(data, indices, about)


def _refuse_what_was_learned(data: Data, name: str, learned_from: str | None, split: SplitName) -> None:
    if learned_from is not None and data.fingerprint == learned_from and split == "train":
        raise DataError(
            f"{name}: the model learned from the train split of this file, or was selected on it, so this split "
            "cannot calibrate it; calibrate on the test split, or on other recordings"
        )
    recorded = getattr(data, "attributes", {}).get("split")
    if learned_from is not None and isinstance(recorded, dict) and recorded.get("of") == learned_from:
        raise DataError(
            f"{name}: made by splitting anew the file that the model learned from, so both splits contain recordings "
            "that it learned from; calibrate on the test split of that file, or on other recordings"
        )


def figures_of_sets(
    calibration: Calibration,
    answers: Sequence[AnytimePrediction],
    keys: NDArray[np.uint64],
    labels: NDArray[np.int64],
    size: int = 1,
) -> dict[str, Any]:
    """Metrics of the sets, stopped at ``size`` classes, on examples that were not calibrated on; JSON values.

    ``keys`` are those of the answered recordings. ``coverage`` is the fraction of sets that contain the true class when
    they stop, with its 95 % interval (Clopper and Pearson); ``calibrated_on`` counts the examples left out because they
    were calibrated on.
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
    """(n,) class indices; other kinds of labels are refused."""
    labels = examples.labels
    if labels is None or np.ndim(labels) != 1:
        raise DataError("sets of classes are for data with one class each, not several labels or spike patterns")
    return np.asarray(labels)

"""One test example and what the trained network makes of it, for the report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemsnn.events import PreparedData
from gemsnn.inference import count_votes, sample, vote_probabilities
from gemsnn.training import Model
from gemsnn.training.polarity import merged_polarities


@dataclass(frozen=True, eq=False)
class Shown:
    """An example, and free-running spikes in response to it."""

    label: Any
    name: str
    classes: tuple[Any, ...]
    n_compartments: int
    inputs: NDArray[np.bool_]  # (T, n_inputs)
    picture: NDArray[np.float64] | None  # (2, height, width): OFF and ON events of a twentieth of it, 0..1
    hidden: NDArray[np.bool_]  # (T, K, n_hidden)
    visible: NDArray[np.bool_]  # (T, K, n_visible)

    @property
    def votes(self) -> NDArray[np.int64]:
        """(n_visible,)"""
        return count_votes(self.visible.sum(axis=0))

    @property
    def probabilities(self) -> NDArray[np.float64]:
        return vote_probabilities(self.votes)


def show(
    data: PreparedData, model: Model, n_compartments: int, index: int = 0, merge_polarities: bool = False
) -> Shown:
    """Run the model freely on a test example."""
    inputs = (merged_polarities(data) if merge_polarities else data).test[index]
    spikes = sample(model.network, model.parameters, inputs, n_compartments, seed=model.seed)
    n_hidden = model.network.n_hidden
    return Shown(
        data.classes[int(data.test.labels[index])],
        data.test.names[index],
        model.classes,
        n_compartments,
        inputs,
        _picture(data, index),
        spikes[..., :n_hidden],
        spikes[..., n_hidden:],
    )


def _picture(data: PreparedData, index: int) -> NDArray[np.float64] | None:
    choices = data.preprocessing
    if choices is None:
        return None
    planes = data.test.planes(index, choices.grid)
    if planes is None or planes.shape[1] != 2:
        return None
    T = len(planes)
    window = planes[T // 4 : T // 4 + max(1, T // 20)]
    picture: NDArray[np.float64] = choices.upright(window).mean(axis=0, dtype=np.float64)
    return picture

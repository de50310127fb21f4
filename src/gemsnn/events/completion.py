"""Completion: a part of each recording is the input, the rest is the desired spike pattern of the visible neurons."""

from __future__ import annotations

from os import PathLike
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from gemsnn.errors import ConfigError, DataError
from gemsnn.events.binning import Preprocessing
from gemsnn.events.prepared import Content, Example, Half, PreparedData, PreparedWriter, open_prepared
from gemsnn.model.spike_list import SpikeList

HALVES: tuple[Half, ...] = get_args(Half)
_AXIS: dict[Half, Literal[-1, -2]] = {"left": -1, "right": -1, "top": -2, "bottom": -2}


def complete_prepared(
    path: str | PathLike[str],
    out: str | PathLike[str],
    *,
    half: Half | None = None,
    inputs: tuple[int, int] | None = None,
) -> None:
    """Turn a prepared file into a completion task: some of its inputs become targets, the others remain inputs.

    The targets are spike patterns and replace the labels. The split is unchanged.

    Parameters
    ----------
    path, out
        The prepared file to read, and the one to write.
    half
        Half of the upright picture that becomes the target: `"left"`, `"right"`, `"top"` or `"bottom"`; default:
        `"right"`. The inputs must lie on a grid. If polarities are merged, they are merged in the target, too.
    inputs
        Instead of a half, a range of inputs that become targets: the first, and the first after the last.

    Examples
    --------
    >>> import tempfile
    >>> from gemsnn.events import write_prepared
    >>> folder = tempfile.TemporaryDirectory()
    >>> X = np.random.default_rng(0).random((10, 20, 24)) < 0.3
    >>> write_prepared(f"{folder.name}/whole.h5", X, ["cat", "dog"] * 5, grid=(4, 6))
    >>> complete_prepared(f"{folder.name}/whole.h5", f"{folder.name}/halves.h5", half="right")
    >>> with open_prepared(f"{folder.name}/halves.h5") as data:
    ...     print(data.train[0].shape, data.train.target(0).shape, data.target_grid)
    (20, 12) (20, 12) (4, 3)
    >>> folder.cleanup()
    """
    if half is not None and inputs is not None:
        raise ConfigError("give either a half of the picture or a range of inputs to become targets, not both")
    with open_prepared(path) as data:
        if data.content.desired == "pattern":
            raise DataError(f"{data.path}: its targets are spike patterns already")
        cut = _by_range(data, inputs) if inputs is not None else _by_half(data, half or "right")
        with PreparedWriter(out, cut.content) as writer:
            for split in data.splits:
                for i in range(len(split)):
                    writer.add(cut.example(split.example(i)))


class _Cut:
    """The cells that are inputs and those that are targets, and the content of the resulting file.

    A spike's index is plane * n_cells + cell; in the target of a merged recording, the plane is dropped.
    """

    def __init__(self, data: PreparedData, targets: NDArray[np.bool_], **changes: Any) -> None:
        """``targets``: (n_cells,) mask; ``changes``: grids and preprocessing of the new file, and ``cut`` to record."""
        before = data.content
        n_targets = int(targets.sum())
        if not 0 < n_targets < len(targets):
            number = "none" if n_targets == 0 else "all"
            raise ConfigError(f"{data.path}: {number} of its {len(targets)} inputs would become targets; take some")
        self._merged, self._is_target = before.n_planes == 2, targets
        self._new_cell = np.where(targets, np.cumsum(targets), np.cumsum(~targets)) - 1
        self._sizes = len(targets) - n_targets, n_targets
        n_planes = before.n_inputs // len(targets)
        record = {**changes.pop("cut"), "of": data.fingerprint, "classes": list(data.classes)}
        self.content = Content.model_validate(
            {
                **before.model_dump(),
                "n_inputs": n_planes * self._sizes[0],
                "n_visible": n_planes * self._sizes[1],
                "desired": "pattern",
                "classes": [],
                "attributes": {**before.attributes, "completion": record},
                **changes,
            }
        )

    def example(self, example: Example) -> Example:
        spikes = example.spikes.spikes
        plane, cell = np.divmod(spikes["index"].astype(np.int64), len(self._new_cell))
        step, is_target, new_cell = spikes["step"].astype(np.int64), self._is_target[cell], self._new_cell[cell]
        given = ~is_target
        index = plane[given] * self._sizes[0] + new_cell[given]
        inputs = SpikeList.from_pairs(step[given], index, example.spikes.n_steps)
        width = self.content.n_visible
        desired = new_cell if self._merged else plane * self._sizes[1] + new_cell
        # Merging polarities can leave duplicates, and spikes out of order.
        step, desired = np.divmod(np.unique(step[is_target] * width + desired[is_target]), width)
        target = SpikeList.from_pairs(step, desired, example.spikes.n_steps)
        return example._replace(label=None, spikes=inputs, target=target)


def _by_half(data: PreparedData, half: Half) -> _Cut:
    if half not in HALVES:
        raise ConfigError(f"half = {half!r}: must be one of {', '.join(HALVES)}")
    if data.grid is None:
        raise DataError(f"{data.path}: its inputs are not on a grid, so there are no halves; give a range of inputs")
    cells = _upright(data, np.arange(data.grid[0] * data.grid[1]).reshape(data.grid))
    middle = cells.shape[_AXIS[half]] // 2
    first, second = np.split(cells, [middle], axis=_AXIS[half])
    desired, given = (first, second) if half in ("left", "top") else (second, first)
    if not desired.size or not given.size:
        raise DataError(f"{data.path}: a grid of {data.grid[0]} x {data.grid[1]} cannot be halved in this direction")
    (grid, crop), (target_grid, _) = (_rectangle(part, data.grid, data.preprocessing) for part in (given, desired))
    return _Cut(
        data,
        np.isin(np.arange(cells.size), desired),
        grid=grid,
        target_grid=target_grid,
        target_half=half,
        preprocessing=None if crop is None else crop.to_dict(),
        cut={"half": half},
    )


def _by_range(data: PreparedData, inputs: tuple[int, int]) -> _Cut:
    first, end = inputs
    if not 0 <= first < end <= data.n_inputs:
        raise ConfigError(
            f"inputs {first} to {end - 1} become targets: {data.path} has inputs 0 to {data.n_inputs - 1}"
        )
    index = np.arange(data.n_inputs)
    # A range is not a rectangle of the grid, so no crop of a recording gives the remaining inputs.
    changes = {"grid": None, "preprocessing": None, "cut": {"inputs": [first, end]}}
    return _Cut(data, (first <= index) & (index < end), **changes)


def _rectangle(
    cells: NDArray[Any], grid: tuple[int, int], preprocessing: Preprocessing | None
) -> tuple[list[int], Preprocessing | None]:
    """Number of rows and columns of a rectangle of cells, and the preprocessing that crops to it."""
    rows, columns = np.unique(cells // grid[1]), np.unique(cells % grid[1])
    shape = [len(rows), len(columns)]
    if preprocessing is None:
        return shape, None
    side = preprocessing.downsample
    crop = {
        name: (begin + int(lines[0]) * side, begin + (int(lines[-1]) + 1) * side - 1)
        for name, begin, lines in (
            ("y_range", preprocessing.rows[0], rows),
            ("x_range", preprocessing.columns[0], columns),
        )
    }
    return shape, Preprocessing.from_dict({**preprocessing.to_dict(), **crop})


def _upright(data: PreparedData, cells: NDArray[Any]) -> NDArray[Any]:
    return cells if data.preprocessing is None else data.preprocessing.upright(cells)


def whole_pictures(data: PreparedData, given: NDArray[Any], other: NDArray[Any]) -> NDArray[np.bool_] | None:
    """Both halves as an upright picture, (T, 2, height, width): the first plane has the input, the second the rest.

    ``given`` is (T, n_inputs), ``other`` (T, n_visible): a target, or a model's output. None if the file does not
    describe halves of a picture.
    """
    half, grid, target_grid = data.content.target_half, data.grid, data.target_grid
    if half is None or grid is None or target_grid is None:
        return None
    planes = [np.asarray(s, dtype=bool).reshape(len(s), -1, *on) for s, on in ((given, grid), (other, target_grid))]
    parts = [_upright(data, np.logical_or.reduce(part, axis=1)) for part in planes]
    empty = [np.zeros_like(part) for part in parts]
    shown = [np.stack([parts[0], empty[0]], axis=1), np.stack([empty[1], parts[1]], axis=1)]
    return np.concatenate(shown[::-1] if half in ("left", "top") else shown, axis=_AXIS[half])

"""Completion: a part of each recording is given, the rest is the spike pattern that visible neurons shall produce."""

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
Axis = Literal[-1, -2]


def complete_prepared(
    path: str | PathLike[str],
    out: str | PathLike[str],
    *,
    half: Half | None = None,
    inputs: tuple[int, int] | None = None,
) -> None:
    """Make a completion task of a prepared file: some of its inputs become targets, the others stay inputs.

    Labels are left behind: what is desired of each example is now a spike pattern. The split stays as it is.

    Parameters
    ----------
    path, out
        The prepared file to read, and the one to write.
    half
        Which half of the picture, as a person sees it, becomes the target: `"left"`, `"right"`, `"top"` or `"bottom"`;
        `"right"` if nothing is said. Needs inputs that lie on a grid. Where polarities are merged, so are the
        target's.
    inputs
        Instead of a half: the first input that becomes a target, and the first after them that does not.

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
    """Which cells are given and which are desired, and the file that comes of it.

    A spike's index is plane * n_cells + cell; planes of a merged recording are forgotten in its target.
    """

    def __init__(self, data: PreparedData, targets: NDArray[np.bool_], **changes: Any) -> None:
        """``targets``: (n_cells,) which become targets; ``changes``: what the file says of grids and preprocessing."""
        before = data.content
        n_targets = int(targets.sum())
        if not 0 < n_targets < len(targets):
            what = "none" if n_targets == 0 else "all"
            raise ConfigError(f"{data.path}: {what} of its {len(targets)} inputs would become targets; take some")
        self._merged, self._is_target = before.n_planes == 2, targets
        self._place = np.where(targets, np.cumsum(targets), np.cumsum(~targets)) - 1  # among its own kind
        self._sizes = len(targets) - n_targets, n_targets
        n_planes = before.n_inputs // len(targets)
        told = {**changes.pop("told"), "of": data.fingerprint, "classes": list(data.classes)}
        self.content = Content.model_validate(
            {
                **before.model_dump(),
                "n_inputs": n_planes * self._sizes[0],
                "n_visible": n_planes * self._sizes[1],
                "desired": "pattern",
                "classes": [],
                "attributes": {**before.attributes, "completion": told},
                **changes,
            }
        )

    def example(self, example: Example) -> Example:
        spikes = example.spikes.spikes
        plane, cell = np.divmod(spikes["index"].astype(np.int64), len(self._place))
        step, is_target, place = spikes["step"].astype(np.int64), self._is_target[cell], self._place[cell]
        # Among the given ones order is kept; merging polarities may show a target's cell twice, and out of order.
        given = ~is_target
        index = plane[given] * self._sizes[0] + place[given]
        inputs = SpikeList.from_pairs(step[given], index, example.spikes.n_steps)
        width = self.content.n_visible
        wanted = place if self._merged else plane * self._sizes[1] + place
        step, wanted = np.divmod(np.unique(step[is_target] * width + wanted[is_target]), width)
        target = SpikeList.from_pairs(step, wanted, example.spikes.n_steps)
        return example._replace(label=None, spikes=inputs, target=target)


def _by_half(data: PreparedData, half: Half) -> _Cut:
    if half not in HALVES:
        raise ConfigError(f"half = {half!r}: must be one of {', '.join(HALVES)}")
    if data.grid is None:
        raise DataError(f"{data.path}: its inputs are on no grid, so there are no halves; say by inputs which to take")
    cells = _upright(data, np.arange(data.grid[0] * data.grid[1]).reshape(data.grid))
    middle = cells.shape[_axis(half)] // 2
    first, second = np.split(cells, [middle], axis=_axis(half))
    taken, left = (first, second) if half in ("left", "top") else (second, first)
    if not taken.size or not left.size:
        raise DataError(f"{data.path}: a grid of {data.grid[0]} x {data.grid[1]} has no two halves there")
    (grid, crop), (target_grid, _) = (_rectangle(part, data.grid, data.preprocessing) for part in (left, taken))
    return _Cut(
        data,
        np.isin(np.arange(cells.size), taken),
        grid=grid,
        target_grid=target_grid,
        target_half=half,
        preprocessing=None if crop is None else crop.to_dict(),
        told={"half": half},
    )


def _by_range(data: PreparedData, inputs: tuple[int, int]) -> _Cut:
    first, end = inputs
    if not 0 <= first < end <= data.n_inputs:
        raise ConfigError(
            f"inputs {first} to {end - 1} become targets: {data.path} has inputs 0 to {data.n_inputs - 1}"
        )
    places = np.arange(data.n_inputs)
    # Any range is no rectangle of a grid, and no recording can be cropped to the others.
    changes = {"grid": None, "preprocessing": None, "told": {"inputs": [first, end]}}
    return _Cut(data, (first <= places) & (places < end), **changes)


def _rectangle(
    cells: NDArray[Any], grid: tuple[int, int], preprocessing: Preprocessing | None
) -> tuple[list[int], Preprocessing | None]:
    """Rows and columns that some cells fill, and the preprocessing whose crop gives just these."""
    rows, columns = np.unique(cells // grid[1]), np.unique(cells % grid[1])
    shape = [len(rows), len(columns)]
    if preprocessing is None:
        return shape, None
    side = preprocessing.downsample
    crop = {
        name: (begin + int(places[0]) * side, begin + (int(places[-1]) + 1) * side - 1)
        for name, begin, places in (
            ("y_range", preprocessing.rows[0], rows),
            ("x_range", preprocessing.columns[0], columns),
        )
    }
    return shape, Preprocessing.from_dict({**preprocessing.to_dict(), **crop})


def _upright(data: PreparedData, cells: NDArray[Any]) -> NDArray[Any]:
    return cells if data.preprocessing is None else data.preprocessing.upright(cells)


def _axis(half: Half) -> Axis:
    return -1 if half in ("left", "right") else -2


def whole_pictures(data: PreparedData, given: NDArray[Any], other: NDArray[Any]) -> NDArray[np.bool_] | None:
    """Given and other half side by side as a person sees them, (T, 2, height, width): first what was given, then not.

    ``given`` is (T, n_inputs), ``other`` (T, n_visible): a target, or what a model makes of the given half. None if the
    file does not say how the two belong together.
    """
    half, grid, target_grid = data.content.target_half, data.grid, data.target_grid
    if half is None or grid is None or target_grid is None:
        return None
    planes = [np.asarray(s, dtype=bool).reshape(len(s), -1, *on) for s, on in ((given, grid), (other, target_grid))]
    parts = [_upright(data, np.logical_or.reduce(part, axis=1)) for part in planes]
    nothing = [np.zeros_like(part) for part in parts]
    shown = [np.stack([parts[0], nothing[0]], axis=1), np.stack([nothing[1], parts[1]], axis=1)]
    return np.concatenate(shown[::-1] if half in ("left", "top") else shown, axis=_axis(half))

"""Moving training examples by a few pixels, so that a network does not learn where things happened to be."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemsnn.errors import ConfigError
from gemsnn.training.config import TrainingConfig
from gemsnn.training.randomness import Purpose, stream

DEFAULT_SHIFT, SMALLEST_SIDE = 2, 16
"""Where ``shift`` is not given, and the grid has at least so many rows and columns."""


class Shift:
    """Moves an example's spikes along both axes of the grid, by as much as seed and position say.

    Parameters
    ----------
    config
        Its ``shift``, ``grid`` and ``seed``.
    n_inputs
        Of the data: one or more planes of rows x columns.
    grid
        Of the data, if it has one; used if the configuration has none.
    targets_stay
        Whether the targets are pictures, which would have to move as well: then nothing moves.
    """

    def __init__(
        self, config: TrainingConfig, n_inputs: int, grid: tuple[int, int] | None = None, targets_stay: bool = False
    ) -> None:
        grid = config.grid or grid
        if targets_stay and config.shift:
            raise ConfigError(f"shift = {config.shift}: the targets are pictures and would not move along; set it to 0")
        if grid is not None and n_inputs % (grid[0] * grid[1]):
            raise ConfigError(
                f"grid = {grid}: {n_inputs} inputs are not planes of {grid[0]} rows and {grid[1]} columns"
            )
        if grid is None and config.shift:
            raise ConfigError(
                f"shift = {config.shift}: how the inputs are arranged is not known; set grid to (rows, columns), or "
                "shift to 0"
            )
        default = DEFAULT_SHIFT if grid is not None and min(grid) >= SMALLEST_SIDE and not targets_stay else 0
        self.largest = default if config.shift is None else config.shift
        if grid is not None and self.largest >= min(grid):
            raise ConfigError(f"shift = {self.largest}: must be smaller than the grid's sides, {grid[0]} and {grid[1]}")
        self.grid, self._seed = grid, config.seed

    def __call__(self, spikes: NDArray[Any], position: int) -> NDArray[Any]:
        """(T, n_inputs) spikes as they are shown at the given position of the run."""
        if self.grid is None or self.largest == 0:
            return spikes
        draws = stream(self._seed, Purpose.SHIFT, position).random(2)
        down, right = (int(draw * (2 * self.largest + 1)) - self.largest for draw in draws)
        return moved(spikes, self.grid, down, right)


def moved(spikes: NDArray[Any], grid: tuple[int, int], down: int, right: int) -> NDArray[Any]:
    """(T, n_inputs) spikes moved on their grid; what leaves it is lost, and silence comes in.

    Examples
    --------
    >>> moved(np.array([[1, 0, 0, 1]]), (2, 2), 0, 1)
    array([[0, 1, 0, 0]])
    """
    planes = spikes.reshape(len(spikes), -1, *grid)
    result = np.zeros_like(planes)
    (to_row, from_row), (to_column, from_column) = _overlap(down, grid[0]), _overlap(right, grid[1])
    result[:, :, to_row, to_column] = planes[:, :, from_row, from_column]
    return result.reshape(spikes.shape)


def _overlap(by: int, size: int) -> tuple[slice, slice]:
    """Where what stays on an axis goes to, and where it comes from."""
    return slice(max(by, 0), size + min(by, 0)), slice(max(-by, 0), size + min(-by, 0))

"""From events to the spikes that a network reads: crop, reduce, cut time into bins."""

from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from gemsnn.errors import ConfigError, DataError
from gemsnn.events.records import FAR_US, Events, as_events
from gemsnn.model.spike_list import MOST_STEPS, SpikeList, check_size

Span = tuple[Annotated[int, Field(ge=0)], Annotated[int, Field(ge=0)]]


class Preprocessing(BaseModel):
    """Every choice made on the way from events to spikes; goes through JSON unchanged (`to_dict`, `from_dict`).

    Input `i` of the (T, n_inputs) result is the cell with

        i = (plane * n_rows + row) * n_columns + column,    row = (y - y_range[0]) // downsample,
                                                            column = (x - x_range[0]) // downsample,

    where plane is 0 if polarities are merged, else the polarity (OFF first, then ON). A cell is 1 if any event fell in
    it. Events outside the crop, and after the last bin, are left out; a short recording is padded with silence. Without
    `n_steps` each recording has as many steps as its last event needs. `flip` and then `rotate` turn the grid of cells
    before they are numbered.

    `bin_us` may be left open until recordings are known; see `gemsnn.events.bin_width.chosen`.

    Examples
    --------
    >>> choice = Preprocessing(sensor_size=(4, 4), bin_us=1000, n_steps=2)
    >>> events = np.array([(1, 2, 0, 1), (3, 0, 1500, 0)], dtype=[("x", int), ("y", int), ("t", int), ("p", int)])
    >>> np.argwhere(choice.bin(events)).tolist()
    [[0, 9], [1, 3]]
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    sensor_size: tuple[Annotated[int, Field(gt=0, le=1 << 15)], Annotated[int, Field(gt=0, le=1 << 15)]]
    """Columns and rows of the sensor; an event outside is an error."""
    x_range: Span | None = None
    """First and last column kept; all if not given."""
    y_range: Span | None = None
    """First and last row kept; all if not given."""
    downsample: int = Field(default=1, gt=0)
    """Side of the square of pixels that becomes one cell."""
    flip: Literal["x", "y"] | None = None
    """Mirror the grid: `"x"` reverses columns, `"y"` rows; before it is rotated."""
    rotate: Literal[0, 90, 180, 270] = 0
    """Turn the grid clockwise, in degrees, as it is drawn with y downwards."""
    bin_us: int | None = Field(default=None, gt=0, lt=FAR_US)
    """Width of a time bin in microseconds; None where it is to follow from the recordings."""
    n_steps: int | None = Field(default=None, gt=0, lt=MOST_STEPS)
    """Number of time bins T; as many as each recording has if not given."""
    polarity: Literal["merged", "separate"] = "merged"
    """Whether ON and OFF events are inputs of their own."""
    start_us: int | None = Field(default=None, gt=-FAR_US, lt=FAR_US)
    """Time at which the first bin begins; that of the first event if not given."""
    orientation: Literal["image", "mnist-dvs"] = "image"
    """How pictures are drawn (spikes do not depend on it): y downwards and x to the right, or MNIST-DVS's own."""

    @model_validator(mode="after")
    def _check(self) -> "Preprocessing":
        for name, span, size in (("x_range", self.x_range, 0), ("y_range", self.y_range, 1)):
            if span is not None and not span[0] <= span[1] < self.sensor_size[size]:
                raise ValueError(f"{name} = {span} must be (first, last) inside 0..{self.sensor_size[size] - 1}")
        if self.n_columns == 0 or self.n_rows == 0:
            raise ValueError(f"downsample = {self.downsample} is larger than the crop")
        if self.n_steps is not None:
            check_size(self.n_steps, self.n_inputs, "n_steps")
        return self

    @property
    def columns(self) -> tuple[int, int]:
        """First and last column kept."""
        return self.x_range or (0, self.sensor_size[0] - 1)

    @property
    def rows(self) -> tuple[int, int]:
        """First and last row kept."""
        return self.y_range or (0, self.sensor_size[1] - 1)

    @property
    def n_columns(self) -> int:
        """Cells in x; pixels that do not fill a whole cell at the far edge are left out."""
        return (self.columns[1] - self.columns[0] + 1) // self.downsample

    @property
    def n_rows(self) -> int:
        """Cells in y; pixels that do not fill a whole cell at the far edge are left out."""
        return (self.rows[1] - self.rows[0] + 1) // self.downsample

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of cells, once they are turned."""
        return (self.n_columns, self.n_rows) if self.rotate in (90, 270) else (self.n_rows, self.n_columns)

    @property
    def width_us(self) -> int:
        """`bin_us`, which must be known by now."""
        if self.bin_us is None:
            raise ConfigError("preprocessing: bin_us, the width of a time bin in microseconds, is not given")
        return self.bin_us

    def cell(self, row: Any, column: Any) -> Any:
        """Number in its plane of the cell at this row and column before turning; affine in both."""
        n_rows, n_columns = self.n_rows, self.n_columns
        if self.flip == "x":
            column = n_columns - 1 - column
        elif self.flip == "y":
            row = n_rows - 1 - row
        for _ in range(self.rotate // 90):
            row, column, n_rows, n_columns = column, n_rows - 1 - row, n_columns, n_rows
        return row * n_columns + column

    @property
    def n_inputs(self) -> int:
        """Inputs of the network."""
        return self.n_rows * self.n_columns * (1 if self.polarity == "merged" else 2)

    def to_dict(self) -> dict[str, Any]:
        """The choices as plain JSON values."""
        return self.model_dump(mode="json")

    @classmethod
    def from_dict(cls, choices: dict[str, Any]) -> "Preprocessing":
        """The choices from `to_dict`'s values; a wrong or unknown one is a `ConfigError`."""
        try:
            return cls(**choices)
        except (ValidationError, TypeError) as error:
            raise ConfigError(f"preprocessing: {_first_complaint(error)}") from None

    def bin(self, events: Events, name: str = "events") -> NDArray[np.bool_]:
        """Turn events into spikes, (T, n_inputs)."""
        return self.spikes(events, name).to_array(self.n_inputs)

    def planes(self, events: Events, name: str = "events") -> NDArray[np.bool_]:
        """Cells with both polarities apart, OFF then ON: (T, 2, n_rows, n_columns)."""
        spikes = self.spikes(events, name)
        return spikes.to_array(2 * self.n_rows * self.n_columns).reshape(spikes.n_steps, 2, *self.grid)

    def upright(self, planes: NDArray[Any]) -> NDArray[Any]:
        """Turn cells (..., n_rows, n_columns) as pictures are drawn, (..., height, width)."""
        if self.orientation == "mnist-dvs":
            # Down is our x, and right is falling y: transpose, then mirror.
            return np.swapaxes(planes, -1, -2)[..., ::-1]
        return planes

    def spikes(self, events: Events, name: str = "events") -> SpikeList:
        """Turn events into a list of spikes, both polarities apart: index = plane * n_rows * n_columns + cell.

        Modulo `n_inputs`, that is the input: merging means to forget the plane.
        """
        events = as_events(events, name)
        if not len(events):
            return SpikeList.from_pairs(events["t"], events["t"], self.n_steps or 1)
        x, y, t = events["x"].astype(np.int64), events["y"].astype(np.int64), events["t"]
        outside = (x < 0) | (x >= self.sensor_size[0]) | (y < 0) | (y >= self.sensor_size[1])
        if outside.any():
            i = int(np.argmax(outside))
            width, height = self.sensor_size
            raise DataError(f"{name}: event {i} at x = {x[i]}, y = {y[i]} lies outside the {width} x {height} sensor")
        first, last = int(t.min()), int(t.max())
        start = first if self.start_us is None else self.start_us
        if max(abs(first), abs(last)) >= FAR_US:
            raise DataError(f"{name}: times run from {first} to {last}, which no recording in microseconds does")
        bin_us = self.width_us
        n_steps = self.n_steps or max(1, (last - start) // bin_us + 1)
        check_size(n_steps, self.n_inputs, name, len(events))
        step = (t - start) // bin_us
        column = (x - self.columns[0]) // self.downsample
        row = (y - self.rows[0]) // self.downsample
        kept = (step >= 0) & (step < n_steps)
        kept &= (column >= 0) & (column < self.n_columns) & (row >= 0) & (row < self.n_rows)
        plane = events["p"].astype(np.int64)
        index = plane * self.n_rows * self.n_columns + self.cell(row, column)
        width = 2 * self.n_rows * self.n_columns
        step, index = np.divmod(np.unique(step[kept] * width + index[kept]), width)
        return SpikeList.from_pairs(step, index, n_steps)


def bin_events(
    events: Events,
    *,
    sensor_size: tuple[int, int],
    bin_us: int,
    n_steps: int | None = None,
    x_range: tuple[int, int] | None = None,
    y_range: tuple[int, int] | None = None,
    downsample: int = 1,
    polarity: Literal["merged", "separate"] = "merged",
    start_us: int | None = None,
) -> NDArray[np.bool_]:
    """Turn events into spikes, (T, n_inputs): 1 where any event fell into the cell and time bin.

    Parameters
    ----------
    events
        Structured array with fields x, y, t (microseconds), p, as our readers and tonic's data sets return.
    sensor_size
        Columns and rows of the sensor.
    bin_us, n_steps
        Width of a time bin in microseconds, and how many there are; as many as the recording has if not given.
    x_range, y_range
        First and last column and row to keep.
    downsample
        Side of the square of pixels that becomes one input.
    polarity
        `"merged"`: an input a cell. `"separate"`: first all OFF cells, then all ON cells.
    start_us
        Time at which the first bin begins; that of the first event if not given.

    Returns
    -------
    (T, n_inputs) bool
        Inputs are ordered plane, row (y), column (x), the column running fastest; see `Preprocessing`.

    Examples
    --------
    >>> events = np.array([(1, 2, 0, 1), (3, 0, 1500, 0)], dtype=[("x", int), ("y", int), ("t", int), ("p", int)])
    >>> bin_events(events, sensor_size=(4, 4), bin_us=1000, n_steps=2, downsample=2).astype(int)
    array([[0, 0, 1, 0],
           [0, 1, 0, 0]])
    """
    return Preprocessing.from_dict(
        {
            "sensor_size": sensor_size,
            "bin_us": bin_us,
            "n_steps": n_steps,
            "x_range": x_range,
            "y_range": y_range,
            "downsample": downsample,
            "polarity": polarity,
            "start_us": start_us,
        }
    ).bin(events)


def _first_complaint(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        return f"{where}: {first['msg']}" if where else str(first["msg"])
    return str(error)

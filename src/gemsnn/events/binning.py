"""From events to input spikes: crop, downsample, and divide time into bins."""

from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from gemsnn.common.validation import complaint
from gemsnn.errors import ConfigError, DataError
from gemsnn.events.records import FAR_US, Events, as_events
from gemsnn.model.spike_list import MOST_STEPS, SpikeList, check_size

Span = tuple[Annotated[int, Field(ge=0)], Annotated[int, Field(ge=0)]]


class Preprocessing(BaseModel):
    """All settings of the conversion from events to spikes; `to_dict` and `from_dict` convert them to and from JSON.

    Input `i` of the (T, n_inputs) result is the cell with

        i = (plane * n_rows + row) * n_columns + column,    row = (y - y_range[0]) // downsample,
                                                            column = (x - x_range[0]) // downsample,

    where plane is 0 if polarities are merged, else the polarity (OFF first, then ON). A cell is 1 if it contains any
    event. Events outside the crop or after the last bin are dropped; a short recording is padded with silence. Without
    `n_steps`, each recording has the number of steps up to its last event. `flip`, then `rotate`, transform the grid
    before cells are numbered.

    `bin_us` may be None until recordings are known; see `gemsnn.events.bin_width.chosen`.

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
    """Side of the square of pixels that forms a cell."""
    flip: Literal["x", "y"] | None = None
    """Mirror the grid before rotation: `"x"` reverses columns, `"y"` rows."""
    rotate: Literal[0, 90, 180, 270] = 0
    """Rotate the grid clockwise, in degrees, with y pointing down."""
    bin_us: int | None = Field(default=None, gt=0, lt=FAR_US)
    """Width of a time bin in microseconds; None: to be chosen from the recordings."""
    n_steps: int | None = Field(default=None, gt=0, lt=MOST_STEPS)
    """Number of time bins T; None: up to the last event of each recording."""
    polarity: Literal["merged", "separate"] = "merged"
    """Whether ON and OFF events are separate inputs."""
    start_us: int | None = Field(default=None, gt=-FAR_US, lt=FAR_US)
    """Time at which the first bin begins; None: at the first event."""
    orientation: Literal["image", "mnist-dvs"] = "image"
    """How pictures are drawn (spikes do not depend on it): y down and x to the right, or as MNIST-DVS."""

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
        """Cells in x; an incomplete cell at the far edge is dropped."""
        return (self.columns[1] - self.columns[0] + 1) // self.downsample

    @property
    def n_rows(self) -> int:
        """Cells in y; an incomplete cell at the far edge is dropped."""
        return (self.rows[1] - self.rows[0] + 1) // self.downsample

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of cells, after rotation."""
        return (self.n_columns, self.n_rows) if self.rotate in (90, 270) else (self.n_rows, self.n_columns)

    @property
    def width_us(self) -> int:
        """`bin_us`; a `ConfigError` if it is None."""
        if self.bin_us is None:
            raise ConfigError("preprocessing: bin_us, the width of a time bin in microseconds, is not given")
        return self.bin_us

    def cell(self, row: Any, column: Any) -> Any:
        """Number within its plane of the cell at a row and column before rotation; affine in both."""
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
        """Number of inputs of the network."""
        return self.n_rows * self.n_columns * (1 if self.polarity == "merged" else 2)

    def to_dict(self) -> dict[str, Any]:
        """The settings as JSON values."""
        return self.model_dump(mode="json")

    @classmethod
    def from_dict(cls, choices: dict[str, Any]) -> "Preprocessing":
        """The settings from JSON values; an invalid or unknown one is a `ConfigError`."""
        try:
            return cls.model_validate(choices)
        except ValidationError as error:
            raise ConfigError(f"preprocessing: {complaint(error, cls)}") from None

    def bin(self, events: Events, name: str = "events") -> NDArray[np.bool_]:
        """Turn events into spikes, (T, n_inputs)."""
        return self.spikes(events, name).to_array(self.n_inputs)

    def planes(self, events: Events, name: str = "events") -> NDArray[np.bool_]:
        """Cells with separate polarities, OFF then ON: (T, 2, n_rows, n_columns)."""
        spikes = self.spikes(events, name)
        return spikes.to_array(2 * self.n_rows * self.n_columns).reshape(spikes.n_steps, 2, *self.grid)

    def upright(self, planes: NDArray[Any]) -> NDArray[Any]:
        """Cells (..., n_rows, n_columns) in the orientation of pictures, (..., height, width)."""
        if self.orientation == "mnist-dvs":
            # x points down and y to the left: transpose, then mirror.
            return np.swapaxes(planes, -1, -2)[..., ::-1]
        return planes

    def spikes(self, events: Events, name: str = "events") -> SpikeList:
        """Turn events into a list of spikes with separate polarities: index = plane * n_rows * n_columns + cell.

        The input is the index modulo `n_inputs`, which merges polarities where these are not separate inputs.
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
            raise DataError(f"{name}: times from {first} to {last} are out of range for microseconds")
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
    """Turn events into spikes, (T, n_inputs): 1 where a cell contains any event in a time bin.

    Parameters
    ----------
    events
        Structured array with fields x, y, t (microseconds), p, as returned by all readers and by tonic's data sets.
    sensor_size, bin_us, n_steps, x_range, y_range, downsample, polarity, start_us
        See :class:`Preprocessing`.

    Returns
    -------
    (T, n_inputs) bool
        Inputs are ordered by plane, row (y), column (x), the column varying fastest.

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

"""Binning of live events: the steps of ``binning.py``, one after the other, in constant memory.

Events are processed one by one, so the result does not depend on how they are divided into arrays. A step is complete
as soon as an event arrives that is later than the step's end by at least the patience.

- *Gaps*: a step without events is a step of silence. If the recording has no last step, a jump in time by more than
  ``longest_gap_us`` is an error, since it means damage or another recording.
- *Events out of order* count as long as their step is not complete.
- *Late events*, whose step is complete, are dropped and counted in ``late``.

A recording in order of time, or out of order by at most the patience, gives the steps of ``Preprocessing.bin``.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from gemsnn.errors import ConfigError, DataError
from gemsnn.events.binning import Preprocessing
from gemsnn.events.records import EVENT_DTYPE, FAR_US, LONGEST_GAP_US, Events, as_events
from gemsnn.model.checks import whole_number
from gemsnn.model.spike_list import check_size


class OnlineBinner:
    """Takes arrays of events of any size, as they arrive, and yields the steps that are complete.

    Parameters
    ----------
    preprocessing
        Conversion from events to inputs.
    patience_us
        How much later than a step's end an event must be to complete the step: 0 for sources in order of time.
    endless
        Ignore the preprocessing's ``n_steps``.
    longest_gap_us
        Without a last step, a larger jump in time is an error.

    Attributes
    ----------
    steps
        Number of steps since the last reset.
    seen
        Number of events processed since then.
    late
        Number of events dropped because their step was complete.

    Examples
    --------
    >>> binner = OnlineBinner(Preprocessing(sensor_size=(2, 1), bin_us=1000))
    >>> events = np.array([(0, 0, 0, 1), (1, 0, 900, 0), (1, 0, 2100, 1)], dtype=EVENT_DTYPE)
    >>> [step.astype(int).tolist() for step in binner.feed(events)]
    [[1, 1], [0, 0]]
    >>> [step.astype(int).tolist() for step in binner.finish()]
    [[0, 1]]
    """

    def __init__(
        self,
        preprocessing: Preprocessing,
        *,
        patience_us: int = 0,
        endless: bool = False,
        longest_gap_us: int = LONGEST_GAP_US,
    ) -> None:
        from gemsnn.events import placing  # slow to import

        p = self.preprocessing = preprocessing
        patience_us = whole_number("patience_us", patience_us, 0)
        longest_gap_us = whole_number("longest_gap_us", longest_gap_us, 1)
        for name, value in (("patience_us", patience_us), ("longest_gap_us", longest_gap_us)):
            if value >= FAR_US:
                raise ConfigError(f"{name} = {value}: out of range for microseconds")
        self.n_steps, self.patience_us = None if endless else p.n_steps, patience_us
        self._geometry = placing.Geometry(
            *p.sensor_size, p.columns[0], p.rows[0], p.n_columns, p.n_rows, p.downsample,
            p.cell(0, 0), p.cell(1, 0) - p.cell(0, 0), p.cell(0, 1) - p.cell(0, 0),
            1 if p.polarity == "merged" else 2, p.width_us, patience_us, longest_gap_us,
            -1 if self.n_steps is None else self.n_steps, p.start_us is None,
        )  # fmt: skip
        # The steps that can be incomplete at the same time; step s is in row s modulo their number.
        n_open = -(-patience_us // p.width_us) + 1
        check_size(n_open, p.n_inputs, f"patience_us = {patience_us}")
        self._open = np.zeros((n_open, p.n_inputs), dtype=np.bool_)
        self._kernel = placing
        self._state = np.zeros(1, dtype=placing.STATE)
        self.reset()
        self._place()  # compile now

    def reset(self) -> None:
        """Start over: the next event begins a recording."""
        self._open[:] = False
        self._state[:] = 0
        self._seen = 0
        self._rest = np.zeros(0, dtype=EVENT_DTYPE)
        if self.preprocessing.start_us is not None:
            self._begin(self.preprocessing.start_us)

    @property
    def steps(self) -> int:
        return int(self._state["next"][0])

    @property
    def seen(self) -> int:
        return self._seen

    @property
    def late(self) -> int:
        return int(self._state["late"][0])

    @property
    def ended(self) -> bool:
        """Whether all steps of the recording were yielded; events are then ignored until the next reset."""
        return self.steps == self.n_steps

    @property
    def time_us(self) -> int | None:
        """End of the latest step that was yielded; None before the first event."""
        state = self._state[0]
        return int(state["start"] + state["next"] * self.preprocessing.width_us) if state["begun"] else None

    def feed(self, events: Events, name: str = "events") -> Iterator[NDArray[np.bool_]]:
        """Yield the (n_inputs,) inputs of each step that these events complete.

        Steps that are not consumed are yielded by the next iterator. Error messages count events from the last reset.
        """
        clean = np.require(as_events(events, name, check_polarity=False), requirements=("C", "W"))
        if not len(self._rest) or self.ended:
            self._rest = clean
        else:
            self._rest = np.concatenate([self._rest, clean])
        return self._complete_steps(name)

    def wait_until(self, time_us: int) -> Iterator[NDArray[np.bool_]]:
        """Yield the inputs of each step that ends by this time, when the source announces no earlier event."""
        yield from self._complete_steps("events")
        if self._state["begun"][0]:
            newest = int(self._state["newest"][0])
            if abs(time_us) >= FAR_US or (self.n_steps is None and time_us - newest > self._geometry.longest_gap_us):
                raise DataError(
                    f"time jumps from {newest} to {time_us}, by more than {self._geometry.longest_gap_us / 1e6:g} s; "
                    "if a new recording begins there, reset before it"
                )
            self._state["newest"] = max(int(self._state["newest"][0]), int(time_us) + self._geometry.patience_us)
        yield from self._complete_steps("events")

    def finish(self) -> Iterator[NDArray[np.bool_]]:
        """Yield the remaining steps of a recording that is over: up to ``n_steps``, or else the last event.

        A recording without events has one step of silence.
        """
        yield from self._complete_steps("events")
        last, start = int(self._state["last"][0]), int(self._state["start"][0])
        n_steps = max(1, (last - start) // self.preprocessing.width_us + 1) if self.n_steps is None else self.n_steps
        while self.steps < n_steps:
            yield self._take()

    def _begin(self, start_us: int) -> None:
        self._state["begun"], self._state["start"] = True, start_us
        self._state["newest"] = self._state["last"] = start_us

    def _place(self) -> int:
        """Place events until a step is complete or an event is invalid."""
        placed, result = self._kernel.place(self._rest, self._geometry, self._state, self._open)
        self._rest, self._seen = self._rest[placed:], self._seen + placed
        return int(result)

    def _take(self) -> NDArray[np.bool_]:
        row = self._open[self.steps % len(self._open)]
        inputs: NDArray[np.bool_] = row.copy()
        row[:] = False
        self._state["next"] += 1
        return inputs

    def _complete_steps(self, name: str) -> Iterator[NDArray[np.bool_]]:
        while True:
            result = self._place()
            if result in (self._kernel.ALL_PLACED, self._kernel.ENDED):
                return
            if result != self._kernel.STEP_COMPLETE:
                raise self._invalid_event(result, name)
            yield self._take()

    def _invalid_event(self, result: int, name: str) -> DataError:
        """What is wrong with the next event, which is dropped."""
        event, index = self._rest[0], self._seen
        self._rest, self._seen = self._rest[1:], self._seen + 1
        x, y, t, p = (event[field] for field in ("x", "y", "t", "p"))
        if result == self._kernel.OUTSIDE:
            width, height = self.preprocessing.sensor_size
            return DataError(f"{name}: event {index} at x = {x}, y = {y} lies outside the {width} x {height} sensor")
        if result == self._kernel.NO_POLARITY:
            return DataError(f"{name}: event {index} has polarity p = {p}; it must be 0 (OFF) or 1 (ON)")
        if result == self._kernel.TOO_FAR:
            return DataError(f"{name}: event {index} is at t = {t}, out of range for microseconds")
        newest, gap = self._state["newest"][0], self._geometry.longest_gap_us
        return DataError(
            f"{name}: time jumps from {newest} to {t} at event {index}, by more than {gap / 1e6:g} s; if a new "
            "recording begins there, reset before it"
        )

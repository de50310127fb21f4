"""Splitting a continuous source of events into recordings.

A recording ends

- with the source's end marker (None among its events) or the end of the source,
- with the last of the model's steps,
- when nothing is in sight any more (:class:`gemsnn.inference.sight.Sight`), or no events arrive for as long,
- when time jumps back by an eighth of a recording or more: another recording follows without a marker.

After the stopping rule has stopped, or after the last step, the rest of the recording is skipped until the end marker,
or until nothing is in sight. If the source has no end markers and always has something in sight, the next recording
begins a quarter of a recording after the last step.

While nothing is in sight, the network does not run. The next recording begins with the first step of those in which
something came into sight.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gemsnn.events.binning import Preprocessing
from gemsnn.events.online import OnlineBinner
from gemsnn.events.records import FAR_US, LONGEST_GAP_US, Events
from gemsnn.inference.sight import Sight

Step = NDArray[np.bool_]


class Answering(Protocol):
    """The interface of a live model."""

    @property
    def answer(self) -> Any: ...
    def reset(self) -> None: ...
    def answer_to(self, inputs: Step, time_us: int | None, ended: bool) -> Any: ...
    def nothing(self, time_us: int | None) -> Any: ...
    def count_late(self, events: int) -> None: ...


class State(Enum):
    """What happens with the next step."""

    NOTHING = 1  # nothing is in sight
    RECORDING = 2  # it is answered
    OVER = 3  # it belongs to the skipped rest of a recording


@dataclass
class Following:
    """Answers of a live model to all recordings of a source.

    Parameters
    ----------
    live
        Answers the steps.
    preprocessing, n_steps, patience_us
        How events become steps, and the number of steps of a recording; None: no limit.
    sight
        Detects whether anything is in sight.
    usual_steps
        Typical number of steps of a recording.
    """

    live: Answering
    preprocessing: Preprocessing
    n_steps: int | None
    patience_us: int
    sight: Sight
    usual_steps: int
    state: State = field(default=State.NOTHING, init=False)

    def __post_init__(self) -> None:
        self._eighth, self._quarter = max(1, self.usual_steps // 8), max(1, self.usual_steps // 4)
        self._counts: deque[int] = deque(maxlen=self.sight.window)  # input spikes of the latest steps
        self._kept: deque[tuple[Step, int | None]] = deque(maxlen=self.sight.first_window)
        self._passed = 0  # steps since the recording began, including skipped ones
        self._silent = self._marked = False  # whether "nothing" was the last answer; whether an end marker ever came
        self._newest: int | None = None  # time of the latest event
        self._heard = time.monotonic()
        self._width = self.preprocessing.width_us
        self._binner: OnlineBinner | None = None

    # ---- events

    def answers(self, source: Iterable[Events | None]) -> Iterator[Any]:
        """One after each step of a recording, and one when nothing is in sight any more."""
        for events in source:
            if events is None:
                self._marked |= self._newest is not None
                yield from self._end()
            elif not len(events):
                yield from self._wait()
            else:
                self._heard = time.monotonic()
                for part, silent in self._parts(events):
                    if silent is not None:
                        yield from self._end(silent=silent)
                    yield from self._feed(part)
        yield from self._end()

    def _parts(self, events: Events) -> Iterator[tuple[Events, bool | None]]:
        """Parts without time jumps; with each, whether silence precedes it, or None if it continues the part before."""
        t = events["t"]
        if (t >= FAR_US).any() or (t <= -FAR_US).any():  # the binner raises an error
            yield events, None
            return
        before = np.concatenate([[t[0] if self._newest is None else self._newest], t[:-1]])
        forward = t - before > self.sight.window * self._width + self.patience_us
        back = before - t > self._eighth * self._width + self.patience_us
        cuts = np.flatnonzero(forward | back)
        for first, end in zip(np.r_[0, cuts], np.r_[cuts, len(t)], strict=True):
            if end > first:
                silent = bool(forward[first]) if first in cuts else None
                self._newest = int(t[end - 1])
                yield events[first:end], silent

    def _feed(self, events: Events) -> Iterator[Any]:
        if self._binner is None:
            self._binner = self._new_binner(int(events["t"][0]))
        for inputs in self._binner.feed(events):
            yield from self._step(inputs, self._binner.time_us)

    def _new_binner(self, first_us: int) -> OnlineBinner:
        choices, start = self.preprocessing, self.preprocessing.start_us
        if start is not None and not 0 <= first_us - start <= LONGEST_GAP_US:
            choices = choices.model_copy(update={"start_us": None})
        return OnlineBinner(choices, patience_us=self.patience_us, endless=True)

    def _wait(self) -> Iterator[Any]:
        """No events have arrived; after some time, nothing is in sight."""
        silent_for = (time.monotonic() - self._heard) * 1e6
        if self._newest is not None and silent_for > self.sight.window * self._width + self.patience_us:
            yield from self._end(silent=True)

    # ---- steps

    def _step(self, inputs: Step, time_us: int | None) -> Iterator[Any]:
        self._counts.append(int(np.count_nonzero(inputs)))
        quiet = len(self._counts) == self.sight.window and sum(self._counts) < self.sight.least
        if self.state is State.NOTHING:
            yield from self._look(inputs, time_us, quiet)
        elif self.state is State.RECORDING:
            yield from self._answer(inputs, time_us)
            if self.state is State.RECORDING and quiet:
                yield from self._complete(time_us)
                yield from self._nothing(time_us)
        else:
            self._passed += 1
            if quiet:
                yield from self._nothing(time_us)
            elif self.n_steps is not None and not self._marked and self._passed >= self.n_steps + self._quarter:
                self.state = State.NOTHING
                self._kept.clear()

    def _look(self, inputs: Step, time_us: int | None, quiet: bool) -> Iterator[Any]:
        self._kept.append((inputs, time_us))
        latest = list(self._counts)[-len(self._kept) :]
        if sum(latest) < self.sight.first_least:
            if quiet:
                yield from self._nothing(time_us)
            return
        first = next(n for n, count in enumerate(latest) if count)
        kept = list(self._kept)[first:]
        self.state, self._silent, self._passed = State.RECORDING, False, 0
        self._kept.clear()
        self._counts.clear()
        self._counts.extend(latest[first:])
        if self.live.answer is not None:
            self.live.reset()
        for one, at in kept:
            if self.state is State.RECORDING:
                yield from self._answer(one, at)

    def _answer(self, inputs: Step, time_us: int | None) -> Iterator[Any]:
        self._passed += 1
        ended = self._passed == self.n_steps
        answer = self.live.answer_to(inputs, time_us, ended)
        if answer.stop or ended:
            self.state = State.OVER
        yield answer

    def _complete(self, time_us: int | None) -> Iterator[Any]:
        """Answer the remaining steps of a recording, which are silent."""
        silence = np.zeros(self.preprocessing.n_inputs, dtype=np.bool_)
        while self.state is State.RECORDING and self.n_steps is not None:
            time_us = None if time_us is None else time_us + self._width
            yield from self._answer(silence, time_us)
        self.state = State.OVER

    def _nothing(self, time_us: int | None) -> Iterator[Any]:
        self.state = State.NOTHING
        self._kept.clear()
        if not self._silent:
            self._silent = True
            yield self.live.nothing(time_us)

    # ---- ends

    def _end(self, silent: bool = False) -> Iterator[Any]:
        """End the current recording; after silence, nothing is in sight."""
        if self._binner is None:
            return
        for inputs in self._binner.finish():
            yield from self._step(inputs, self._binner.time_us)
        time_us = self._binner.time_us
        unseen = self.state is State.NOTHING and len(self._kept) > 0  # too few events came for anything to be in sight
        if self.state is State.RECORDING:
            yield from self._complete(time_us)
        if silent or unseen:
            yield from self._nothing(time_us)
        self.live.count_late(self._binner.late)
        self.state, self._binner, self._newest, self._silent = State.NOTHING, None, None, silent and self._silent
        self._counts.clear()
        self._kept.clear()

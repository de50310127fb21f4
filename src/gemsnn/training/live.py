"""A trained model that answers while a recording is in progress: step by step, or as events arrive."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gemsnn.errors import ConfigError, DataError
from gemsnn.events.online import OnlineBinner
from gemsnn.events.records import Events
from gemsnn.inference.sight import Sight
from gemsnn.inference.stepwise import Stepwise
from gemsnn.inference.stopping import StoppingRule
from gemsnn.inference.usual import UNUSUAL
from gemsnn.model import Parameters
from gemsnn.model.checks import spike_array, whole_number
from gemsnn.training.following import Following
from gemsnn.training.nothing import AnyClass, any_class
from gemsnn.training.randomness import Purpose
from gemsnn.training.randomness import stream as draws_for

LONGEST_BLOCK = 64  # maximum number of steps between updates of a learner's weights


class LiveAnswer(NamedTuple):
    """The answer of a live model after a step."""

    step: int  #: steps since the last reset, including this one
    label: Any  #: of the chosen class; None while nothing is in sight
    probabilities: NDArray[np.float64]  #: (C,), in the order of the model's classes
    confidence: float  #: the probability of the chosen class
    labels: tuple[Any, ...] | None  #: the classes that are still possible; None if the stopping rule has no sets
    stop: bool  #: whether the stopping rule has stopped at this step or before
    hidden_spikes: float  #: at this step, summed over compartments
    time_us: int | None  #: end of the step in the recording's time; None if steps are given, not events
    ended: bool  #: whether this is the recording's last step
    usual: float | None  #: p-value at the latest checkpoint; None before the first and if not known
    nothing: bool = False  #: whether nothing is in sight, so that there is no answer

    @property
    def unusual(self) -> bool:
        """Whether the recording is unlike anything that the model was trained on."""
        return self.usual is not None and self.usual < UNUSUAL


class LiveModel:
    """Made and documented by :meth:`gemsnn.training.Model.stream`."""

    def __init__(
        self,
        make: Callable[[], Stepwise],
        classes: tuple[Any, ...],
        *,
        seed: int,
        key: int,
        stop: StoppingRule | None,
        binner: OnlineBinner | None,
        several_labels: bool,
        sight: Sight | None,
        usual_steps: int,
    ) -> None:
        self._warm_up(make())
        self._stepwise = make()
        self.network, self.classes = self._stepwise.network, classes
        self.decoder, self.n_compartments, self.stopping = self._stepwise.decoder, self._stepwise.n_compartments, stop
        self._binner, self._seed, self._several_labels = binner, seed, several_labels
        self._sight, self._usual_steps = sight or Sight(usual_steps, 1), usual_steps
        self._seen = np.zeros(self.network.n_inputs, dtype=np.uint8)  # of the latest step
        self._target: NDArray[Any] | AnyClass | None = None  # of the steps to come
        self._late = 0  # events of earlier recordings
        self._begin(key)

    # ---- answers

    @property
    def key(self) -> int:
        """Key of the random draws of this recording: bulk prediction with the same key gives the same results."""
        return self._key

    @property
    def answer(self) -> LiveAnswer | None:
        """The latest answer; None before the first step."""
        return self._answer

    @property
    def late(self) -> int:
        """Number of events that were dropped because their step was already complete when they arrived."""
        return self._late + (0 if self._binner is None else self._binner.late)

    @property
    def spikes(self) -> NDArray[np.bool_]:
        """(K, n_neurons): of the latest step, hidden then visible (a copy); clamped visible neurons are silent.

        If hidden neurons see the visible ones, of the run with the first class's desired spikes.
        """
        return self._stepwise.spikes.copy()

    @property
    def inputs(self) -> NDArray[np.uint8]:
        """(n_inputs,): input spikes of the latest step (a copy)."""
        return self._seen.copy()

    @property
    def decision(self) -> LiveAnswer | None:
        """The answer at which the stopping rule stopped; None if it has not."""
        return self._decision

    def step(self, inputs_t: ArrayLike, target: Any = None) -> LiveAnswer:
        """The answer after one more step of (n_inputs,) input spikes, and its target, as in :meth:`teach`."""
        x = spike_array("inputs_t", inputs_t, {"n_inputs": self.network.n_inputs})
        return self._step(x, target_t=None if target is None else self._desired(target))

    def feed(self, events: Events, name: str = "events") -> list[LiveAnswer]:
        """The answer after each step that is completed by these events, an array of any size with fields x, y, t, p."""
        return list(self._feed(events, name))

    def wait_until(self, time_us: int) -> list[LiveAnswer]:
        """The answer after each step that ends by this time; no more events before it will arrive."""
        return [self._answer_to(inputs) for inputs in self._events_binner().wait_until(time_us)]

    def finish(self) -> list[LiveAnswer]:
        """End the recording: the answers to its remaining steps, as many as the preprocessing specifies.

        If steps are given, not events, there are none, but the latest answer is marked as the last.
        """
        answers = list(self._finish())
        if not answers and (last := self._answer) is not None and not last.ended:
            self._judge(
                self.classes.index(last.label), last.probabilities, last.hidden_spikes, last.usual, last.time_us, True
            )
        return answers

    def follow(self, source: Iterable[Events | None], *, again: bool = False) -> Iterator[LiveAnswer]:
        """Answers as a source's events arrive; None among them, and the end of the source, end a recording.

        With ``again``, a recording also ends with the preprocessing's last step, when the stopping rule stops, when
        nothing is in sight any more, or when time jumps back; the rest of it is skipped. While nothing is in sight, the
        network does not run, and a single answer has ``nothing`` set. Empty arrays among the events let the passing of
        time without events be noticed.
        """
        binner = self._events_binner()
        if again:
            choices = binner.preprocessing, binner.n_steps, binner.patience_us
            yield from Following(self, *choices, self._sight, self._usual_steps).answers(source)
            return
        for events in source:
            if events is not None:
                yield from self._feed(events)
            elif binner.seen:
                yield from self._finish()
                self.reset()
        if binner.seen:
            yield from self._finish()

    def reset(self, key: int | None = None) -> None:
        """Start the next recording; its draws have the given key, by default the next one.

        Nothing is learned until :meth:`teach` is called again.
        """
        key = self._key + 1 if key is None else whole_number("key", key, 0)
        self._stepwise.reset(key)
        self._begin(key)

    # ---- for gemsnn.training.following

    def answer_to(self, inputs: NDArray[np.bool_], time_us: int | None, ended: bool) -> LiveAnswer:
        """The answer after one more step, which ended at this time."""
        return self._step(inputs.view(np.uint8), time_us, ended)

    def nothing(self, time_us: int | None) -> LiveAnswer:
        """The answer when nothing is in sight."""
        C = len(self.classes)
        return LiveAnswer(0, None, np.full(C, 1 / C), 1 / C, None, False, 0.0, time_us, False, None, nothing=True)

    def count_late(self, events: int) -> None:
        """Add to the number of late events."""
        self._late += events

    # ---- learning

    def teach(self, target: Any) -> None:
        """Learn from the next step on; the target of every step is this class, or these (n_visible,) visible spikes.

        The target ``gemsnn.NOTHING`` means that the input belongs to no class. None ends learning, and so does
        :meth:`reset`: steps without a target are not learned. Each answer is computed with the weights before its step
        is learned.
        """
        self._target = None if target is None else self._desired(target)

    @property
    def parameters(self) -> Parameters:
        """The current weights (a copy)."""
        return self._stepwise.parameters.copy()

    # ---- inside

    def _begin(self, key: int) -> None:
        self._key = key
        if self._binner is not None:
            self._late += self._binner.late
            self._binner.reset()
        self._answer: LiveAnswer | None = None
        self._decision: LiveAnswer | None = None
        self._steps, self._target = 0, None
        self._any_class = draws_for(self._seed, Purpose.NOTHING, key, 2)
        self._judging = None if self.stopping is None else self.stopping.start((len(self.classes),))

    def _warm_up(self, spare: Stepwise) -> None:
        """Compile or load everything that a step may need."""
        network = spare.network
        inputs, target = np.zeros(network.n_inputs, dtype=np.uint8), np.arange(network.n_visible) == 0
        if not spare.learns:
            spare.step(inputs)
            return
        # Until the filters have forgotten the beginning and the window has moved twice.
        for t in range(network.memory + 2 * LONGEST_BLOCK):
            spare.step(inputs, target if t % 2 else None)
        spare.parameters  # noqa: B018

    def _answer_to(self, inputs: NDArray[np.bool_]) -> LiveAnswer:
        binner = self._events_binner()
        return self._step(inputs.view(np.uint8), binner.time_us, binner.ended)

    def _step(
        self,
        inputs: NDArray[np.uint8],
        time_us: int | None = None,
        ended: bool = False,
        target_t: NDArray[Any] | AnyClass | None = None,
    ) -> LiveAnswer:
        target = self._target if target_t is None else target_t
        if isinstance(target, AnyClass):
            C = len(self.classes)
            target = np.zeros(C, dtype=np.uint8) if self._several_labels else any_class(1, C, self._any_class)[0]
        chosen, probabilities, hidden_spikes, usual = self._stepwise.step(inputs, target)
        self._seen = inputs
        self._steps += 1
        return self._judge(chosen, probabilities, hidden_spikes, usual, time_us, ended)

    def _judge(
        self,
        chosen: int,
        probabilities: NDArray[np.float64],
        hidden_spikes: float,
        usual: float | None,
        time_us: int | None,
        ended: bool,
    ) -> LiveAnswer:
        """The answer, with the decision of the stopping rule."""
        possible, stop = None, False
        if self.stopping is not None:
            self._judging, verdict = self.stopping.update(self._judging, self._steps, probabilities, ended)
            stop = bool(verdict.stop)
            if verdict.members is not None:
                possible = tuple(self.classes[c] for c in np.flatnonzero(verdict.members))
        answer = self._answer = LiveAnswer(
            self._steps,
            self.classes[chosen],
            probabilities,
            float(probabilities[chosen]),
            possible,
            stop or self._decision is not None,
            hidden_spikes,
            time_us,
            ended,
            usual,
        )
        if stop and self._decision is None:
            self._decision = answer
        return answer

    def _feed(self, events: Events, name: str = "events") -> Iterator[LiveAnswer]:
        for inputs in self._events_binner().feed(events, name):
            yield self._answer_to(inputs)

    def _finish(self) -> Iterator[LiveAnswer]:
        """Answers to the remaining steps, unless steps were given directly."""
        if self._binner is None or not (self._binner.seen or self._answer is None):
            return
        rest = self._binner.finish()
        inputs = next(rest, None)
        while inputs is not None:
            time_us, following = self._binner.time_us, next(rest, None)
            yield self._step(inputs.view(np.uint8), time_us, following is None)
            inputs = following

    def _desired(self, target: Any) -> NDArray[Any] | AnyClass:
        if not self._stepwise.learns:
            raise ConfigError("this stream only predicts; make one that learns with stream(learning=True)")
        if isinstance(target, AnyClass):
            return target
        if np.ndim(target) == 1:
            return np.asarray(target)
        if target not in self.classes:
            known = ", ".join(map(repr, self.classes))
            raise DataError(f"{target!r} is none of the classes {known}")
        desired: NDArray[np.bool_] = np.arange(len(self.classes)) == self.classes.index(target)
        return desired

    def _events_binner(self) -> OnlineBinner:
        if self._binner is None:
            raise DataError(
                "this model was trained on arrays, not on recordings, so it does not know how to turn events into "
                "inputs: bin them with gemsnn.events.OnlineBinner and use step"
            )
        return self._binner

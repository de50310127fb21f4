"""A trained model that answers while a recording goes on: step by step, or event by event."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gemsnn.common.described import described
from gemsnn.errors import ConfigError, DataError
from gemsnn.events.online import OnlineBinner
from gemsnn.events.records import Events
from gemsnn.inference.decoders import Decoder
from gemsnn.inference.stepwise import Stepwise
from gemsnn.inference.stopping import StoppingRule
from gemsnn.learning import Stream
from gemsnn.model import Network, Parameters
from gemsnn.model.checks import spike_array, whole_number

LONGEST_BLOCK = 64  # steps after which a learner writes to its weights, at the latest


@described
class LiveAnswer(NamedTuple):
    """What a live model says after a step."""

    step: int  #: steps since the last reset, this one included
    label: Any  #: of the class chosen
    probabilities: NDArray[np.float64]  #: (C,), in the order of the model's classes
    confidence: float  #: the probability of the class chosen
    labels: tuple[Any, ...] | None  #: the classes that are still possible, if the stopping rule says; else None
    stop: bool  #: True from the step on at which the stopping rule had enough
    hidden_spikes: float  #: at this step, all compartments together
    time_us: int | None  #: when the step ended, in the recording's time; None where steps are given and not events
    ended: bool  #: whether this is the recording's last step


@described
class LiveModel:
    """Made by :meth:`gemsnn.training.Model.stream`, which explains it."""

    def __init__(
        self,
        network: Network,
        parameters: Parameters,
        classes: tuple[Any, ...],
        decoder: Decoder,
        n_compartments: int,
        *,
        seed: int,
        key: int = 0,
        stop: StoppingRule | None = None,
        binner: OnlineBinner | None = None,
        make_learner: Callable[[], Stream] | None = None,
    ) -> None:
        if len(classes) != network.n_visible:
            raise ConfigError("this model was trained on spike patterns: it has no classes, so it cannot name one")
        self.network, self.classes = network, classes
        self.decoder, self.n_compartments, self.stopping = decoder, n_compartments, stop
        self._binner, self._learner = binner, None if make_learner is None else make_learner()
        self._key = whole_number("key", key, 0)
        self._stepwise = Stepwise(network, parameters, n_compartments, decoder, seed, self._key)
        self._inputs = np.zeros(network.n_inputs, dtype=np.uint8)  # that the learner is to see
        self._to_be_taught = False  # whether the learner has not seen the latest step
        self._seen = self._inputs  # of the latest step, whoever holds it
        self._late = 0  # events of earlier recordings
        self._begin(self._key)
        self._warm_up(make_learner)
        self._begin(self._key)

    def _told(self) -> dict[str, Any]:
        step = 0 if self._answer is None else self._answer.step
        numbers = {"n_inputs": self.network.n_inputs, "compartments": self.n_compartments, "step": step}
        return {"classes": self.classes, "decoder": self.decoder, **numbers}

    # ---- answers

    @property
    def key(self) -> int:
        """Of the random draws of this recording: bulk prediction with the same key gives the same numbers."""
        return self._key

    @property
    def answer(self) -> LiveAnswer | None:
        """The latest answer; None before the first step."""
        return self._answer

    @property
    def late(self) -> int:
        """Events that were left out since the stream began because their step was complete when they came."""
        return self._late + (0 if self._binner is None else self._binner.late)

    @property
    def spikes(self) -> NDArray[np.bool_]:
        """(K, n_neurons): of the latest step, hidden then visible (a copy); clamped visible neurons are silent.

        Where hidden neurons see the visible ones, this is the run with the first class's desired spikes.
        """
        return self._stepwise.spikes.copy()

    @property
    def inputs(self) -> NDArray[np.uint8]:
        """(n_inputs,): input spikes of the latest step (a copy)."""
        return self._seen.copy()

    @property
    def decision(self) -> LiveAnswer | None:
        """The answer at which the stopping rule first had enough, if it has."""
        return self._decision

    def step(self, inputs_t: ArrayLike) -> LiveAnswer:
        """The answer after one more step of (n_inputs,) input spikes."""
        return self._step(spike_array("inputs_t", inputs_t, {"n_inputs": self.network.n_inputs}))

    def feed(self, events: Events, name: str = "events") -> list[LiveAnswer]:
        """The answer after each step that these events complete; an array with fields x, y, t, p, of any size.

        To teach every step, use :meth:`follow`, which waits after each.
        """
        return list(self._feed(events, name))

    def wait_until(self, time_us: int) -> list[LiveAnswer]:
        """The answer after each step that ends by this time, of which the source says that no event is to come."""
        return [self._answer_to(inputs) for inputs in self._events_binner().wait_until(time_us)]

    def finish(self) -> list[LiveAnswer]:
        """The recording is over: answers for the steps that are left, as many as the preprocessing asks for.

        Without events, where steps are given, there are none; but the latest answer is then known to be the last.
        """
        answers = list(self._finish())
        if not answers and (last := self._answer) is not None and not last.ended:
            self._judge(self.classes.index(last.label), last.probabilities, last.hidden_spikes, last.time_us, True)
        return answers

    def follow(self, source: Iterable[Events | None], *, again: bool = False) -> Iterator[LiveAnswer]:
        """Answers as a source's events come; None among them, and the source's end, ends a recording.

        With ``again``, a recording also ends with the preprocessing's last step, or when the stopping rule has enough,
        and the next event begins the next one.
        """
        binner = self._events_binner()
        for events in source:
            if events is None:
                if binner.seen:
                    yield from self._finish()
                    self.reset()
                continue
            answers = self._feed(events)
            while True:
                for answer in answers:
                    yield answer
                    if again and answer.stop:
                        break
                if not (again and self._over):
                    break
                self._next_recording(self._key + 1, keep_rest=True)
                answers = self._feed(events[:0])
        if binner.seen:
            for answer in self._finish():
                yield answer
                if again and answer.stop:
                    return

    def reset(self, key: int | None = None) -> None:
        """Silence before the next recording, whose draws have the given key, or else the next one.

        What was learned is taken into use.
        """
        self._next_recording(self._key + 1 if key is None else whole_number("key", key, 0))

    # ---- learning

    def learn(self, target: Any) -> None:
        """Teach the step just taken: it should have been this class, or these (n_visible,) visible spikes.

        Steps that are not taught are run through without learning. The answers are those of the weights at the
        beginning of the recording; what is learned is taken into use by :meth:`reset`.
        """
        if self._learner is None:
            raise ConfigError("this stream only predicts; make one that learns with stream(learning=True)")
        if not self._to_be_taught:
            raise DataError("there is no step to learn from: take one before each learn(target)")
        self._learner.step(self._inputs, self._desired(target))
        self._to_be_taught = False

    @property
    def parameters(self) -> Parameters:
        """The weights as they are now, with what was learned (a copy)."""
        return self._stepwise.parameters.copy() if self._learner is None else self._learner.parameters

    # ---- inside

    def _next_recording(self, key: int, keep_rest: bool = False) -> None:
        parameters = None
        if self._learner is not None:
            self._pass_on()
            parameters = self._learner.parameters
            self._learner.reset()
        self._begin(key, parameters, keep_rest)

    def _begin(self, key: int, parameters: Parameters | None = None, keep_rest: bool = False) -> None:
        self._key = key
        self._stepwise.reset(key, parameters)
        if self._binner is not None:
            self._late += self._binner.late
            self._binner.reset(keep_rest)
        self._answer: LiveAnswer | None = None
        self._decision: LiveAnswer | None = None
        self._steps = 0
        self._to_be_taught = False
        self._judging = None if self.stopping is None else self.stopping.start(len(self.classes))

    def _warm_up(self, make_learner: Callable[[], Stream] | None) -> None:
        """Run everything that a step may need, so that none has to wait until it is compiled or read from disk."""
        self._step(self._inputs)
        if make_learner is None:
            return
        spare, target = make_learner(), self._desired(self.classes[0])
        # Until the filters have forgotten the beginning and the window has moved on twice.
        for t in range(self.network.memory + 2 * LONGEST_BLOCK):
            spare.step(self._inputs, target if t % 2 else None)
        spare.parameters  # noqa: B018

    def _answer_to(self, inputs: NDArray[np.bool_]) -> LiveAnswer:
        binner = self._events_binner()
        return self._step(inputs.view(np.uint8), binner.time_us, binner.ended)

    def _step(self, inputs: NDArray[np.uint8], time_us: int | None = None, ended: bool = False) -> LiveAnswer:
        if self._learner is not None:
            self._pass_on()
            self._inputs[:], self._to_be_taught = inputs, True
        chosen, probabilities, hidden_spikes = self._stepwise.step(inputs)
        self._seen = inputs
        self._steps += 1
        return self._judge(chosen, probabilities, hidden_spikes, time_us, ended)

    def _judge(
        self, chosen: int, probabilities: NDArray[np.float64], hidden_spikes: float, time_us: int | None, ended: bool
    ) -> LiveAnswer:
        """The answer, with what the stopping rule says of it."""
        possible, stop = None, False
        if self.stopping is not None:
            self._judging, verdict = self.stopping.update(self._judging, self._steps, probabilities, ended)
            stop = verdict.stop
            if verdict.classes is not None:
                possible = tuple(self.classes[c] for c in verdict.classes)
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
        )
        if stop and self._decision is None:
            self._decision = answer
        return answer

    @property
    def _over(self) -> bool:
        """Whether this recording needs no more events."""
        return self._decision is not None or (self._binner is not None and self._binner.ended)

    def _feed(self, events: Events, name: str = "events") -> Iterator[LiveAnswer]:
        for inputs in self._events_binner().feed(events, name):
            yield self._answer_to(inputs)

    def _finish(self) -> Iterator[LiveAnswer]:
        """Answers for the steps that are left, if there were events, or nothing at all."""
        if self._binner is None or not (self._binner.seen or self._answer is None):
            return
        left = self._binner.finish()
        inputs = next(left, None)
        while inputs is not None:
            time_us, following = self._binner.time_us, next(left, None)
            yield self._step(inputs.view(np.uint8), time_us, following is None)
            inputs = following

    def _pass_on(self) -> None:
        """Let the learner run through the last step, if nobody taught it."""
        if self._to_be_taught and self._learner is not None:
            self._learner.step(self._inputs)
            self._to_be_taught = False

    def _desired(self, target: Any) -> NDArray[Any]:
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

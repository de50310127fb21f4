"""Batches in the event form."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gemsnn.engine.arrays import Doubles, Floats, Integers, add_changes
from gemsnn.engine.event import LONGEST_SEQUENCE, Learner, ToWrite, Weights, within
from gemsnn.engine.event_writing import add_to_rows, write_back, write_means
from gemsnn.engine.input_spikes import InputSpikes, input_spikes
from gemsnn.engine.protocol import Example, Info, State
from gemsnn.engine.task import Task
from gemsnn.engine.threads import share_out
from gemsnn.model import Parameters


class Batches:
    """Learns batches; see :class:`gemsnn.engine.protocol.Batches`.

    All examples read the same rows of weights, and write to them when the last is done. An example that is longer than
    a window writes in between: it gets a copy of the rows of the inputs that spike, and of those of the neurons.
    """

    def __init__(self, task: Task, parameters: Parameters, steps: int, threads: int) -> None:
        self._task, self._weights = task, Weights.of(parameters)
        self._steps, self._threads = steps, threads
        self._learners: list[Learner] = []

    @property
    def parameters(self) -> Parameters:
        """A view: the next batch changes them."""
        return self._weights.parameters(self._task.network.n_neurons)

    def learn(self, examples: Sequence[Example], means: Doubles) -> list[Info]:
        weights, rounded = self._weights, means.astype(self._weights.bias.dtype)
        while len(self._learners) < len(examples):
            silence = State.initial("compiled", self._task, rounded.dtype)
            self._learners.append(Learner(self._task, weights, silence, steps=self._steps))
        lessons = [
            _Lesson(learner, example, means, rounded, len(examples) > 1)
            for learner, example in zip(self._learners, examples, strict=False)
        ]
        share_out(lambda number: lessons[number].learn(), len(lessons), self._threads)
        share_out(lambda part: self._write(lessons, part), self._threads, self._threads)
        add_changes(weights.bias, [lesson.learner.bias for lesson in lessons])
        add_changes(weights.somatic, [lesson.learner.somatic for lesson in lessons])
        return [lesson.info for lesson in lessons]

    def _write(self, lessons: Sequence[_Lesson], part: int) -> None:
        """Write what all examples have learned to one part of the rows of each population, as many as threads."""
        for number, sources in enumerate(lessons[0].learner.plan.sources):
            first, last = (sources.size * end // self._threads for end in (part, part + 1))
            rows = self._weights.rows[sources.columns]
            for lesson in lessons:
                lesson.write(number, rows, first, last)
            centre = sum(lesson.learner.populations[number].centre for lesson in lessons)
            if np.any(centre):
                write_means(rows, lessons[0].rounded[sources.columns], centre, first, last)


class _Lesson:
    """An example of a batch, from its first step to what it writes."""

    def __init__(self, learner: Learner, example: Example, means: Doubles, rounded: Floats, several: bool) -> None:
        self.learner, self.rounded = learner, rounded
        self._example, self._means = example, means
        self._own_rows = several and len(example.targets) > LONGEST_SEQUENCE
        self._to_write: list[ToWrite] = []
        self._changed: list[tuple[Integers, Floats]] = []  # which rows, and their changes

    def learn(self) -> None:
        """Learn the example, without writing to what the other examples read."""
        learner, example, T = self.learner, self._example, len(self._example.targets)
        inputs, parts = input_spikes(example.inputs, learner.task.network.n_inputs), learner.plan.sources
        rows, spiking = [learner.weights.rows[part.columns] for part in parts], None
        if self._own_rows:
            spiking = np.unique(inputs.source)
            inputs = InputSpikes(inputs.start, np.searchsorted(spiking, inputs.source))
            index = [within(spiking, part) if part.of_inputs else np.arange(part.size) for part in parts]
            before = [of_part[which] for of_part, which in zip(rows, index, strict=True)]
            rows = [own.copy() for own in before]
        learner.begin(example.rule, self._means, self.rounded, T)
        learner.use(rows, spiking)
        self.info = learner.run_listed(inputs, example.targets, example.draws.draw(T))
        if self._own_rows:
            learner.write()
            self._changed = [(which, own - old) for which, own, old in zip(index, rows, before, strict=True)]
        else:
            self._to_write = learner.close()

    def write(self, number: int, rows: Floats, first: int, last: int) -> None:
        """Write what was learned to the rows ``first`` to ``last`` - 1 of a population."""
        if self._own_rows:
            add_to_rows(rows, *self._changed[number], first, last)
        else:
            write_back(self.learner.populations[number], rows, *self._to_write[number], first, last)

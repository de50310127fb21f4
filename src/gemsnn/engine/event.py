"""The event form: cost follows spikes. ``event_kernel.py`` explains and computes it; this file feeds it.

A window holds the spikes and post factors of past steps that still matter (gamma^age above the precision of the
numbers) and has room for the steps to come. When it is full, what was learned is written to the weights, and the window
moves on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gemsnn.engine.arrays import (
    Booleans,
    Counts,
    Doubles,
    Floats,
    Integers,
    Words,
    allocate,
    enlarged,
    padded,
    shift,
    wider,
    zeros,
)
from gemsnn.engine.bits import pack
from gemsnn.engine.event_arrays import Arrays, Carried, FilterScratch, Population, Scratch, Window
from gemsnn.engine.event_drive import begin_drive, mean_traces, take_in_again
from gemsnn.engine.event_kernel import advance
from gemsnn.engine.event_plan import Sources, event_plan
from gemsnn.engine.event_products import begin_finite_products, begin_recursive_products
from gemsnn.engine.event_writing import close_window, spikes_by_source, write_back, write_means
from gemsnn.engine.input_spikes import InputSpikes
from gemsnn.engine.objective_functions import objective_arrays
from gemsnn.engine.protocol import Info, Rested, State
from gemsnn.engine.recursion import Bank
from gemsnn.engine.rule_functions import rule_numbers
from gemsnn.engine.steps import FormLearner, new_steps
from gemsnn.engine.task import Task
from gemsnn.model import Parameters
from gemsnn.rules import Rule

BLOCK = 256  # steps that the window has room for, besides those that it keeps
LONGEST_SEQUENCE = 128  # steps that are learned in one go, without moving the window on


class Weights(NamedTuple):
    """The parameters, as this form has them."""

    rows: Floats  # (n_sources, n_basis * columns): one for each source; the columns of a basis are neurons
    somatic: Floats  # (n_basis, columns)
    bias: Floats  # (columns,)

    @classmethod
    def of(cls, parameters: Parameters) -> Weights:
        """A copy."""
        n, n_sources, n_basis = parameters.synaptic.shape
        columns = padded(n, parameters.dtype)
        rows = zeros((n_sources, n_basis * columns), parameters.dtype)
        weights = cls(rows, wider(parameters.somatic.T, columns), wider(parameters.bias, columns))
        weights.parameters(n).synaptic[:] = parameters.synaptic
        return weights

    def parameters(self, n_neurons: int) -> Parameters:
        """A view."""
        by_basis = self.rows.reshape(len(self.rows), -1, len(self.bias))[:, :, :n_neurons]
        return Parameters(by_basis.transpose(2, 0, 1), self.somatic[:, :n_neurons].T, self.bias[:n_neurons])


class Kept(NamedTuple):
    """What a state of this form keeps."""

    now: int
    begin: int
    past: Booleans  # (memory, K, n_neurons), the oldest first
    somatic_eligibility: Floats
    virtual_eligibility: Floats
    reach_eligibility: Floats
    post: Floats  # (now * K, columns)
    fading: Floats  # (now,)
    bits: tuple[Words, ...]  # of each population


class ToWrite(NamedTuple):
    """What :func:`write_back` adds to the weights of a population."""

    synapses: Bank
    rows: Integers
    begin: int
    now: int
    changes: Floats
    start: Integers
    when: Counts


class Learner(FormLearner):
    """Learns in place; see :class:`gemsnn.engine.protocol.Learner`."""

    def __init__(
        self, task: Task, weights: Weights, state: State, *, free: bool = False, steps: int | None = None
    ) -> None:
        super().__init__(task, weights.bias.dtype)
        plan = event_plan(task.network, free or task.objective.free, self.dtype)
        assert plan is not None  # the caller has checked that the graph has this form
        self.plan, self.weights = plan, weights
        self._horizon = task.horizon(self.dtype)
        self._time = state.time
        self._filters_outdated = False  # whether the filters hold what older weights made of the spikes
        self._all_written = True  # whether the weights have all that was learned
        kept = state.kept
        self._room = (kept.now if isinstance(kept, Kept) else 0) + _first_room(steps)
        self._arrays = self._make_arrays(self._room)
        self._set_populations(self._make_population(part, self._room) for part in plan.sources)
        self.means = state.means
        carried = self._arrays.carried
        carried.log_weights[:], carried.processor_memory[:] = state.log_weights, state.processor_memory
        carried.neuron_memory[:] = state.neuron_memory
        self._arrays.objective.memory[:] = state.objective_memory
        if isinstance(kept, Kept):
            self._restore(kept)
        elif isinstance(kept, Rested):
            self._begin_after(kept)

    # ---- the protocol -----------------------------------------------------------------------------------------------

    @property
    def visible_potential(self) -> Floats:
        network = self.task.network
        return self._arrays.scratch.potentials[:, network.n_hidden : network.n_neurons]

    def subtract_means(self, means: Doubles) -> None:
        self._write_all()
        self._set_means(means, np.array(means, dtype=self.dtype))

    def take(self) -> tuple[Parameters, State]:
        self._write_all()
        carried, window = self._arrays.carried, self._arrays.window
        now, D = int(window.now[0]), self._duration
        kept = Kept(
            now=now,
            begin=int(window.begin[0]),
            past=carried.past[self._order_of_past()],
            somatic_eligibility=carried.somatic_eligibility,
            virtual_eligibility=carried.virtual_eligibility,
            reach_eligibility=carried.reach_eligibility,
            post=window.post[: now * self.task.n_compartments],
            fading=window.fading[:now],
            bits=tuple(p.bits[:, : (D + now) * len(p.products)] for p in self.populations),
        )
        network, memories = self.task.network, (carried.processor_memory, carried.neuron_memory)
        state = State(
            "compiled", network, self.dtype, self._time, carried.log_weights, *memories, self._arrays.objective.memory,
            self.means, kept,
        )  # fmt: skip
        return Weights(self.weights.rows, carried.somatic, carried.bias).parameters(network.n_neurons), state

    def parameters(self) -> Parameters:
        """The weights as they are now, as a copy; the window stays as it is."""
        w, rows = self._arrays, self.weights.rows.copy()
        changing = ("visible_factor", "hidden_factor", "accumulated", "signal")
        window = w.window._replace(**{name: getattr(w.window, name).copy() for name in changing})
        w = w._replace(window=window, carried=w.carried._replace(bias=w.carried.bias.copy()))
        populations = [
            p._replace(weights=rows[part.columns], centre=p.centre.copy())
            for p, part in zip(self.populations, self.plan.sources, strict=True)
        ]
        self._write(w, populations)
        for p in populations:
            write_means(p.weights, p.mean, p.centre, 0, p.size)
        return Weights(rows, w.carried.somatic, w.carried.bias).parameters(self.task.network.n_neurons).copy()

    # ---- an example of a batch --------------------------------------------------------------------------------------

    def begin(self, rule: Rule, means: Doubles, rounded: Floats, steps: int) -> None:
        """Begin in silence, with a rule of the same kind; ``rounded`` are the means in the precision of the weights."""
        self.task = self.task._replace(rule=rule)
        self._horizon = self.task.horizon(self.dtype)
        self._time, self._filters_outdated, self._all_written = 0, False, True
        window, carried, objective = self._arrays.window, self._arrays.carried, self._arrays.objective
        for array in (*carried, objective.memory):
            array[...] = 0
        carried.bias[:], carried.somatic[:] = self.weights.bias, self.weights.somatic
        carried.reach[:] = self._reach()
        self._arrays = self._arrays._replace(rule=rule_numbers(self.task, self.dtype))
        window.now[0] = window.begin[0] = 0
        window.signal[:] = 0
        for p in self.populations:
            for array in (p.filtered, p.squares, p.first_traces, p.mean_filtered, p.centre):
                array[...] = 0
            p.bits[:, : self._duration * len(p.products)] = 0  # the past; the rest is written before it is read
        self._make_room(_first_room(steps))
        self._set_means(means, rounded)

    def close(self) -> list[ToWrite]:
        """Close the window; for each population, what :func:`write_back` needs, besides which rows to write."""
        return self._close(self._arrays, self.populations)

    @property
    def bias(self) -> Floats:
        """(columns,): learned when the window is closed."""
        return self._arrays.carried.bias

    @property
    def somatic(self) -> Floats:
        """(n_basis, columns): learned at every step."""
        return self._arrays.carried.somatic

    def use(self, rows: Sequence[Floats], inputs: Integers | None) -> None:
        """Learn with other rows of weights, for each population; ``inputs``: those that are sources, None for all."""
        made = []
        for p, part, weights in zip(self.populations, self.plan.sources, rows, strict=True):
            first, size, mean = part.first, part.size, p.mean
            if part.of_inputs and inputs is not None:
                first, size = int(np.searchsorted(inputs, part.first)), len(weights)
                mean = mean[within(inputs, part)] if len(mean) else mean
            made.append(p._replace(first=first, size=size, weights=weights, mean=mean))
        self._set_populations(made)

    def write(self) -> None:
        """Write what was learned to the weights; what the filters hold has then to be recomputed."""
        if not self._all_written and self._arrays.window.begin[0] < self._arrays.window.now[0]:
            self._write(self._arrays, self.populations)
            self._arrays.carried.virtual[:] = 0
            self._filters_outdated = True
        self._all_written = True

    # ---- steps ------------------------------------------------------------------------------------------------------

    def _advance(self, inputs: InputSpikes, targets: NDArray[Any], learns: Booleans, uniforms: Doubles) -> Info:
        """Compute all steps, moving the window on whenever it is full."""
        T, done = len(targets), 0
        steps, info = new_steps(inputs, targets, learns, uniforms, self.task.network.n_neurons)
        while done < T:
            room = self._room - int(self._arrays.window.now[0])
            if not room:
                self._move_on()
                continue
            end = done + min(room, T - done, LONGEST_SEQUENCE)
            if self._filters_outdated:
                self._renew_filters()
            advance(self._arrays, self._filled_up, len(self.populations), steps, *self._functions, done, end)
            self._time += end - done
            self._all_written, done = False, end
        return info

    def _set_means(self, means: Doubles, rounded: Floats) -> None:
        self.means = means
        w, any_mean = self._arrays, means.any()
        now, begin = int(w.window.now[0]), int(w.window.begin[0])
        made = []
        for p, part in zip(self.populations, self.plan.sources, strict=True):
            if p.of_inputs:
                p = p._replace(mean=rounded[part.columns] if any_mean else rounded[:0])
                p.mean_square[0] = (p.mean * p.mean).sum()
                if begin < now:
                    mean_traces(p, w.graph.synapses.taps, now, begin, w.scratch.filters.active)
            made.append(p)
        self._set_populations(made)
        self._filters_outdated = self._time > 0  # they hold the drive of the means as well

    def _set_populations(self, populations: Iterable[Population]) -> None:
        self.populations = tuple(populations)
        self._filled_up = filled_up(self.populations)

    def _renew_filters(self) -> None:
        synapses, scratch, now = self._arrays.graph.synapses, self._arrays.scratch, int(self._arrays.window.now[0])
        for p in self.populations:
            if synapses.recursive:
                begin_drive(p, synapses.taps, now, scratch.filters.active)
            else:
                take_in_again(p, synapses, self._time, now, scratch.filters)
        self._filters_outdated = False

    # ---- arrays -----------------------------------------------------------------------------------------------------

    def _sizes(self, M: int) -> dict[str, int]:
        """The sizes that the annotations of ``event_arrays.py`` name, for a window with room for M steps."""
        network, rule, K, *_ = self.task
        n_basis, D = self.plan.graph.synapses.taps.shape
        return {
            "K": K, "M": M, "D": D, "columns": len(self.weights.bias), "memory": network.memory,
            "n_neurons": network.n_neurons, "n_hidden": network.n_hidden, "n_visible": network.n_visible,
            "n_basis": n_basis, "n_somatic": network.somatic_filter.n_basis, "has_local": self.task.has_local,
            "n_signals": network.n_neurons if self.task.sends_back else network.n_hidden,
            "n_classes": int(self.plan.graph.rows[:, 2].max()) + 1,
            "most_sources": max(part.size for part in self.plan.sources),
            "processor_memory": rule.processor_memory(K), "neuron_memory": rule.neuron_memory,
        }  # fmt: skip

    def _make_arrays(self, M: int) -> Arrays:
        sizes, graph, f, K = self._sizes(M), self.plan.graph, self.dtype, self.task.n_compartments
        own_trace = zeros((K, sizes["n_basis"], sizes["columns"]), f)
        carried = allocate(
            Carried,
            sizes,
            f,
            bias=self.weights.bias.copy(),
            somatic=self.weights.somatic.copy(),
            reach=np.array(self._reach(), order="C"),
            somatic_trace=own_trace if graph.one_filter else zeros((K, *self.weights.somatic.shape), f),
            own_trace=own_trace,
        )
        carried.time[0] = self._time
        rule, objective = rule_numbers(self.task, f), objective_arrays(self.task)
        return Arrays(rule, graph, carried, self._make_window(M), self._make_scratch(M), objective)

    def _make_window(self, M: int) -> Window:
        window = allocate(Window, self._sizes(M), self.dtype)
        return window._replace(shared_changes=window.changes) if self.task.n_compartments == 1 else window

    def _make_scratch(self, M: int) -> Scratch:
        sizes = self._sizes(M)
        return allocate(Scratch, sizes, self.dtype, filters=allocate(FilterScratch, sizes, self.dtype))

    def _make_population(self, part: Sources, M: int) -> Population:
        sizes, recursive = self._sizes(M), self.plan.graph.synapses.recursive
        # A recursion has no use for the last D steps, finite filters have none for the products of each basis.
        lags = 0 if recursive else self._duration
        slots = lags + LONGEST_SEQUENCE if part.of_inputs else max(lags, 1)  # inputs are taken in ahead
        K_p = 1 if part.shared else self.task.n_compartments
        own_sizes = {"K_p": K_p, "size": part.size, "lags": lags, "slots": slots, "recursive": int(recursive)}
        return allocate(
            Population,
            sizes | own_sizes,
            self.dtype,
            first=part.first,
            size=part.size,
            of_inputs=part.of_inputs,
            shared=part.shared,
            feeds=part.feeds,
            weights=self.weights.rows[part.columns],
        )

    def _make_room(self, M: int) -> None:
        """A window with room for that many steps; its content stays."""
        self._room = M
        w = self._arrays
        if len(w.window.fading) >= M:
            return
        self._arrays = w._replace(window=enlarged(w.window, self._make_window(M)), scratch=self._make_scratch(M))
        made = []
        for p, part in zip(self.populations, self.plan.sources, strict=True):
            larger = enlarged(p._replace(weights=p.weights[:0], mean=p.mean[:0]), self._make_population(part, M))
            made.append(larger._replace(first=p.first, size=p.size, weights=p.weights, mean=p.mean))
        self._set_populations(made)

    def _reach(self) -> Floats:
        """(n_visible, n_hidden): weights summed over bases; no rows where no rule asks for them."""
        network = self.task.network
        first = network.n_hidden if self.task.has_local else network.n_neurons
        synaptic = self.weights.parameters(network.n_neurons).synaptic
        reach: Floats = synaptic[first:, network.n_inputs :][:, : network.n_hidden].sum(axis=2)
        return reach

    # ---- writing back, and moving on --------------------------------------------------------------------------------

    def _close(self, w: Arrays, populations: Sequence[Population]) -> list[ToWrite]:
        begin, now, D = int(w.window.begin[0]), int(w.window.now[0]), self._duration
        close_window(w, filled_up(tuple(populations)), len(populations))
        to_write = []
        for p in populations:
            end, active = max(D + now - 1, begin), w.scratch.filters.active
            spikes = spikes_by_source(p.bits, p.size, len(p.products), begin, end, active)
            changes = w.window.shared_changes if p.shared else w.window.changes
            to_write.append(ToWrite(w.graph.synapses, w.graph.rows, begin, now, changes, *spikes))
        return to_write

    def _write(self, w: Arrays, populations: Sequence[Population]) -> None:
        """Write what was learned to the weights of the populations, except for the part of the means."""
        for p, to_write in zip(populations, self._close(w, populations), strict=True):
            write_back(p, p.weights, *to_write, 0, p.size)

    def _write_all(self) -> None:
        """Write what was learned to the weights, the part of the means too."""
        self.write()
        for p in self.populations:
            if p.centre.any():
                write_means(p.weights, p.mean, p.centre, 0, p.size)
                p.centre[:] = 0
                self._filters_outdated = True

    def _move_on(self) -> None:
        """Write, and make room: only what still matters is kept."""
        self.write()
        window, K = self._arrays.window, self.task.n_compartments
        now, begin = int(window.now[0]), int(window.begin[0])
        keep = min(now - begin, now if self._horizon is None else self._horizon)
        drop = now - keep
        shift(window.post, 0, drop * K)
        shift(window.fading, 0, drop)
        for p in self.populations:
            K_p = len(p.products)
            shift(p.bits, 1, drop * K_p)
            shift(p.half, 2, drop * K_p)
            shift(p.products, 1, drop * K_p)
            shift(p.mean_trace, 0, drop)
        window.now[0], window.begin[0] = keep, max(begin - drop, 0)
        self._make_room(keep + BLOCK)
        self._begin_recursions()

    # ---- beginning from a state -------------------------------------------------------------------------------------

    def _begin_after(self, rested: Rested) -> None:
        """Begin with the spikes that the filters still see."""
        D, inputs, spikes = self._duration, rested.inputs, rested.spikes
        for p in self.populations:
            for position in range(D):
                before = len(spikes) - D + position
                for k in range(len(p.products)):
                    of_all = inputs[before] if p.of_inputs else spikes[before, k].view(np.uint8)
                    pack(of_all[p.first : p.first + p.size], p.bits, position * len(p.products) + k)
        self._resume(spikes)

    def _restore(self, kept: Kept) -> None:
        carried, window, K, D = self._arrays.carried, self._arrays.window, self.task.n_compartments, self._duration
        window.now[0], window.begin[0] = kept.now, kept.begin
        carried.somatic_eligibility[:] = kept.somatic_eligibility
        carried.virtual_eligibility[:] = kept.virtual_eligibility
        carried.reach_eligibility[:] = kept.reach_eligibility
        window.post[: kept.now * K], window.fading[: kept.now] = kept.post, kept.fading
        for p, bits in zip(self.populations, kept.bits, strict=True):
            p.bits[:, : (D + kept.now) * len(p.products)] = bits
        self._resume(kept.past)

    def _resume(self, past: Booleans) -> None:
        """Recompute what follows from the spikes; ``past`` (memory, K, n_neurons), the oldest first."""
        synapses, window, carried = self._arrays.graph.synapses, self._arrays.window, self._arrays.carried
        carried.past[self._order_of_past()] = past
        self._make_own_traces(recursive=False)
        self._set_means(self.means, np.array(self.means, dtype=self.dtype))
        if not synapses.recursive and self._time > 0:
            now, begin, scratch = int(window.now[0]), int(window.begin[0]), self._arrays.scratch.filters
            for p in self.populations:
                begin_finite_products(p, synapses.taps, self._time, now, begin, scratch)
        self._begin_recursions()

    def _begin_recursions(self) -> None:
        """Recompute what the recursions hold from the spikes that their filters see; the drive is made when needed."""
        synapses, window, active = self._arrays.graph.synapses, self._arrays.window, self._arrays.scratch.filters.active
        self._make_own_traces(recursive=True)
        if synapses.recursive:
            for p in self.populations:
                begin_recursive_products(p, synapses, int(window.now[0]), active)

    def _make_own_traces(self, recursive: bool) -> None:
        """The traces (K, n_basis, n_neurons) of the neurons' own spikes so far, of one of the two kinds of filters."""
        graph, carried = self._arrays.graph, self._arrays.carried
        for traces, bank in ((carried.somatic_trace, graph.soma), (carried.own_trace, graph.synapses)):
            if bank.recursive == recursive:
                newest_first = self._order_of_past()[::-1][: bank.taps.shape[1]]
                made = np.tensordot(bank.taps, carried.past[newest_first].astype(self.dtype), axes=1)
                traces[..., : self.task.network.n_neurons] = made.transpose(1, 0, 2)

    def _order_of_past(self) -> Integers:
        """The slots of the past, the oldest first."""
        memory = self.task.network.memory
        return (self._time + np.arange(memory)) % memory

    @property
    def _duration(self) -> int:
        return len(self.plan.graph.synapses.taps[0])


def within(inputs: Integers, part: Sources) -> Integers:
    """Those of the inputs that belong to a population, counted from its first."""
    first, end = np.searchsorted(inputs, (part.first, part.first + part.size))
    return inputs[first:end] - part.first


def filled_up(populations: tuple[Population, ...]) -> tuple[Population, ...]:
    """Four or eight populations, because kernels are compiled for each number of them."""
    number = len(populations)
    return populations + (populations[0]._replace(size=0),) * (max(4, 1 << (number - 1).bit_length()) - number)


def _first_room(steps: int | None) -> int:
    """Room of a window that begins with a sequence of that many steps, or with a stream."""
    return BLOCK if steps is None else min(steps, LONGEST_SEQUENCE)

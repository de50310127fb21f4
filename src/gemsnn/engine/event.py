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
    Doubles,
    Floats,
    Integers,
    Words,
    add_changes,
    longer,
    padded,
    shift,
    wider,
    zeros,
)
from gemsnn.engine.bits import pack
from gemsnn.engine.event_arrays import Arrays, Carried, Graph, Population, RuleNumbers, Scratch, Steps, Window
from gemsnn.engine.event_drive import begin_drive, mean_traces, take_in_again
from gemsnn.engine.event_kernel import advance
from gemsnn.engine.event_plan import Sources, event_plan
from gemsnn.engine.event_products import begin_finite_products, begin_recursive_products
from gemsnn.engine.event_writing import (
    add_to_rows,
    close_window,
    spikes_by_source,
    write_back,
    write_means,
)
from gemsnn.engine.horizon import horizon
from gemsnn.engine.input_spikes import Inputs, InputSpikes, input_spikes
from gemsnn.engine.objective_functions import memory_of_eligibility, objective_arrays, objective_functions
from gemsnn.engine.protocol import Example, Info, Rested, State, no_means
from gemsnn.engine.recursion import Bank
from gemsnn.engine.rule_functions import rule_functions, rule_numbers
from gemsnn.engine.threads import share_out
from gemsnn.model import Network, Parameters
from gemsnn.objectives import Objective
from gemsnn.rules import Rule

BLOCK = 256  # steps that the window has room for, besides those that it keeps
LONGEST_SEQUENCE = 128  # steps that are learned at a stretch, without moving the window on


class Weights(NamedTuple):
    """The parameters, as this form has them."""

    rows: Floats  # (n_sources, n_basis * columns) f: one for each source; the columns of a basis are neurons
    somatic: Floats  # (n_basis, columns) f
    bias: Floats  # (columns,) f

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
        """A view: if the weights change, they change with them."""
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
    when: NDArray[np.int32]


class Learner:
    """Learns in place; see :class:`gemsnn.engine.protocol.Learner`."""

    messages = None

    def __init__(
        self,
        network: Network,
        weights: Weights,
        rule: Rule,
        n_compartments: int,
        objective: Objective,
        *,
        state: State | None = None,
        free: bool = False,
        steps: int | None = None,
    ) -> None:
        self.dtype = weights.bias.dtype
        plan = event_plan(network, free or objective.free, self.dtype)
        assert plan is not None  # whoever chose this form has asked
        self.network, self.rule, self.plan = network, rule, plan
        self.n_compartments, self.weights = n_compartments, weights
        self.objective = objective
        self._functions = *rule_functions(rule, self.dtype), *objective_functions(objective)
        self._keep = self._horizon()
        self._time = 0 if state is None else state.time
        self._stale = False  # whether the filters hold what older weights made of the spikes
        self._written = True  # whether the weights have all that was learned
        kept = None if state is None else state.kept
        self._room = room = (kept.now if isinstance(kept, Kept) else 0) + _room_for(steps)
        self._columns = len(weights.bias)
        self._arrays = self._make_arrays(room)
        self._set_populations(self._make_population(part, room) for part in plan.sources)
        self.means = no_means(network) if state is None else state.means
        if state is not None:
            carried = self._arrays.carried
            carried.log_weights[:], carried.processor_memory[:] = state.log_weights, state.processor_memory
            carried.neuron_memory[:] = state.neuron_memory
            self._arrays.objective.memory[:] = state.objective_memory
            if isinstance(kept, Kept):
                self._restore(kept)
            elif isinstance(kept, Rested):
                self._begin_after(kept)

    # ---- the protocol -----------------------------------------------------------------------------------------------

    def run(self, inputs: Inputs, targets: NDArray[Any], uniforms: Doubles) -> Info:
        """Learn from T steps of inputs and (T, n_visible) targets, with (T, K, n_hidden) uniforms."""
        return self.run_listed(input_spikes(inputs, self.network.n_inputs), targets, uniforms)

    def step(self, inputs_t: NDArray[Any], target_t: NDArray[Any] | None, uniforms_t: Doubles) -> Info:
        """One step: learn if there is a target, else run freely; ``uniforms_t`` is (K, n_neurons)."""
        inputs = input_spikes(inputs_t[None], self.network.n_inputs)
        target = np.zeros(self.network.n_visible, dtype=np.uint8) if target_t is None else target_t
        info = self._advance(inputs, target[None], np.array([target_t is not None]), uniforms_t[None])
        return Info(*(values[0] for values in info))

    @property
    def visible_potential(self) -> Floats:
        """(K, n_visible): of the visible neurons at the latest step."""
        return self._arrays.scratch.potentials[:, self.network.n_hidden : self.network.n_neurons]

    def take_off(self, means: Doubles) -> None:
        """From now on learn from the traces of the inputs less these means, (n_inputs, n_basis)."""
        self._write_all()
        self._set_means(means, np.array(means, dtype=self.dtype))

    def take(self) -> tuple[Parameters, State]:
        """Parameters and state without a copy: if the learner goes on, they change with it."""
        self._write_all()
        carried, window = self._arrays.carried, self._arrays.window
        now, D, K = int(window.now[0]), self._duration, self.n_compartments
        kept = Kept(
            now=now,
            begin=int(window.begin[0]),
            past=carried.past[self._order_of_past()],
            somatic_eligibility=carried.somatic_eligibility,
            virtual_eligibility=carried.virtual_eligibility,
            reach_eligibility=carried.reach_eligibility,
            post=window.post[: now * K],
            fading=window.fading[:now],
            bits=tuple(p.bits[:, : (D + now) * len(p.products)] for p in self._populations),
        )
        memories = carried.processor_memory, carried.neuron_memory, self._arrays.objective.memory
        state = State(
            "compiled", self.network, self.dtype, self._time, carried.log_weights, *memories, self.means, kept
        )
        weights = Weights(self.weights.rows, carried.somatic, carried.bias)
        return weights.parameters(self.network.n_neurons), state

    def parameters(self) -> Parameters:
        """The weights as they are now, as a copy; the learner does not notice."""
        w, rows = self._arrays, self.weights.rows.copy()
        changing = {
            name: getattr(w.window, name).copy()
            for name in ("visible_factor", "hidden_factor", "accumulated", "signal")
        }
        window = w.window._replace(**changing)
        w = w._replace(window=window, carried=w.carried._replace(bias=w.carried.bias.copy()))
        populations = [
            p._replace(weights=rows[part.columns], centre=p.centre.copy())
            for p, part in zip(self._populations, self.plan.sources, strict=True)
        ]
        self._write(w, populations)
        for p in populations:
            write_means(p.weights, p.mean, p.centre, 0, p.size)
        return Weights(rows, w.carried.somatic, w.carried.bias).parameters(self.network.n_neurons).copy()

    # ---- an example of a batch --------------------------------------------------------------------------------------

    def begin(self, rule: Rule, means: Doubles, rounded: Floats, steps: int) -> None:
        """In silence, with the weights as they are and a rule of the same kind; ``rounded`` are the means as f."""
        self.rule = rule
        self._keep = self._horizon()
        self._time, self._stale, self._written = 0, False, True
        carried = self._arrays.carried
        for array in carried:
            array[...] = 0
        self._arrays.objective.memory[...] = 0
        carried.bias[:], carried.somatic[:] = self.weights.bias, self.weights.somatic
        carried.reach[:] = self._reach()
        self._arrays = self._arrays._replace(rule=self._rule_numbers())
        window = self._arrays.window
        window.now[0] = window.begin[0] = 0
        window.signal[:] = 0
        for p in self._populations:
            for array in (p.filtered, p.squares, p.first_traces, p.mean_filtered, p.centre):
                array[...] = 0
            p.bits[:, : self._duration * len(p.products)] = 0  # the past; the rest is written before it is read
        self._make_room(_room_for(steps))
        self._set_means(means, rounded)

    def run_listed(self, inputs: InputSpikes, targets: NDArray[Any], uniforms: Doubles) -> Info:
        """:meth:`run`, from a list of the spikes of those inputs that are sources."""
        return self._advance(inputs, targets, np.ones(len(targets), dtype=np.bool_), uniforms)

    def close(self) -> list[ToWrite]:
        """Make ready what is to be written; for each population, what :func:`write_back` wants besides columns."""
        return self._close(self._arrays, self._populations)

    @property
    def bias(self) -> Floats:
        """(columns,): learned at every step, not when the window is written."""
        return self._arrays.carried.bias

    @property
    def somatic(self) -> Floats:
        """(n_basis, columns): the same."""
        return self._arrays.carried.somatic

    @property
    def populations(self) -> tuple[Population, ...]:
        """As the kernels see them."""
        return self._populations

    def use(self, rows: Sequence[Floats], inputs: Integers | None) -> None:
        """Learn with other rows of weights, for each population; ``inputs``: those that are sources, None for all."""
        made = []
        for p, part, weights in zip(self._populations, self.plan.sources, rows, strict=True):
            first, size, mean = part.first, part.size, p.mean
            if part.of_inputs and inputs is not None:
                first, size = int(np.searchsorted(inputs, part.first)), len(weights)
                mean = mean[_within(inputs, part)] if len(mean) else mean
            made.append(p._replace(first=first, size=size, weights=weights, mean=mean))
        self._set_populations(made)

    # ---- inside -----------------------------------------------------------------------------------------------------

    def _advance(self, inputs: InputSpikes, targets: NDArray[Any], learns: Booleans, uniforms: Doubles) -> Info:
        """Through all steps, moving the window on whenever it is full."""
        T, K, n = len(targets), self.n_compartments, self.network.n_neurons
        info = Info(np.empty((T, K, n), dtype=np.bool_), *np.empty((4, T, K)))
        targets, done = np.ascontiguousarray(targets).view(np.uint8), 0
        steps = Steps(inputs.start, inputs.source, targets, learns, uniforms, *info)
        while done < T:
            room = self._room - int(self._arrays.window.now[0])
            if not room:
                self._move_on()
                continue
            many = min(room, T - done, LONGEST_SEQUENCE)
            if self._stale:
                self._renew_filters()
            advance(self._arrays, self._filled_up, len(self._populations), steps, *self._functions, done, done + many)
            done += many
            self._time += many
            self._written = False
        return info

    def _set_means(self, means: Doubles, rounded: Floats) -> None:
        self.means = means
        w, any_of_them = self._arrays, means.any()
        now, begin = int(w.window.now[0]), int(w.window.begin[0])
        made = []
        for p, part in zip(self._populations, self.plan.sources, strict=True):
            if p.of_inputs:
                mean = rounded[part.columns] if any_of_them else np.zeros((0, rounded.shape[1]), dtype=self.dtype)
                p = p._replace(mean=mean)
                p.mean_square[0] = (mean * mean).sum()
                if begin < now:
                    mean_traces(p, w.graph.synapses.taps, now, begin, w.scratch.active)
            made.append(p)
        self._set_populations(made)
        self._stale = self._time > 0  # what the filters make of the means is made anew as well

    def _set_populations(self, populations: Iterable[Population]) -> None:
        self._populations = tuple(populations)
        self._filled_up = filled_up(self._populations)

    def _rule_numbers(self) -> RuleNumbers:
        gamma = memory_of_eligibility(self.objective, self.rule)
        return RuleNumbers(**rule_numbers(self.rule, self.dtype, gamma), has_local=self.rule.local is not None)

    def _horizon(self) -> int | None:
        return horizon(memory_of_eligibility(self.objective, self.rule), self.dtype)

    def _make_arrays(self, M: int) -> Arrays:
        network, plan, rule, f, K = self.network, self.plan, self.rule, self.dtype, self.n_compartments
        n, n_hidden, n_visible = network.n_neurons, network.n_hidden, network.n_visible
        n_basis, D = plan.synapses.taps.shape
        n_somatic, columns, has_local = network.somatic_filter.n_basis, self._columns, rule.local is not None
        objective = objective_arrays(self.objective, rule, network, K)
        own_trace, changes = zeros((K, n_basis, columns), f), zeros((M * K, columns), f)
        graph = Graph(
            synapses=plan.synapses,
            soma=plan.soma,
            one_filter=plan.one_filter,
            circuits=plan.circuits,
            rows=plan.rows,
            own_source=wider(plan.own_source, columns),
            reaches=plan.reaches,
            has_memory=wider(network.has_memory, columns),
        )
        carried = Carried(
            time=np.array([self._time]),
            bias=self.weights.bias.copy(),
            somatic=self.weights.somatic.copy(),
            somatic_eligibility=zeros((K, n_somatic, columns), f),
            somatic_trace=own_trace if plan.one_filter else zeros((K, n_somatic, columns), f),
            past=np.zeros((network.memory, K, n), dtype=np.bool_),
            own_trace=own_trace,
            virtual=zeros((n_basis, columns), f),
            virtual_eligibility=zeros((K, n_basis, columns), f),
            reach=np.array(self._reach(), order="C"),
            reach_eligibility=np.zeros((K, n_visible if has_local else 0, n_hidden), dtype=f),
            log_weights=np.zeros(K),
            processor_memory=np.zeros(rule.processor_memory(K)),
            neuron_memory=np.zeros((n_hidden, rule.neuron_memory)),
        )
        window = Window(
            now=np.zeros(1, dtype=np.int64),
            begin=np.zeros(1, dtype=np.int64),
            post=zeros((M * K, columns), f),
            visible_factor=np.zeros(M * K, dtype=f),
            hidden_factor=np.zeros(M * K, dtype=f),
            fading=np.zeros(M, dtype=f),
            accumulated=zeros((M * K if has_local else 0, columns), f),
            signal=np.zeros((n if objective.sends_back else n_hidden, K), dtype=f),
            changes=changes,
            shared_changes=changes if K == 1 else zeros((M, columns), f),
        )
        scratch = Scratch(
            own_drive=zeros((K, columns), f),
            potentials=zeros((K, columns), f),
            probabilities=zeros((K, columns), np.dtype(np.float64)),
            fired=np.zeros((n, K), dtype=np.bool_),
            fired_rows=zeros((K, columns), np.dtype(np.bool_)),
            factors=zeros((K, columns), np.dtype(np.float64)),
            log_probability=np.zeros((K, n_visible)),
            likelihood=np.zeros(K),
            importance=np.zeros(K),
            visible_signal=np.zeros(K),
            hidden_signal=np.zeros(K),
            errors=np.zeros((K, n_visible), dtype=f),
            reached=np.zeros((n_hidden, n_visible), dtype=f),
            gram=np.zeros((int(plan.rows[:, 2].max()) + 1, K, M * K), dtype=f),
            scaled=np.zeros((K, M * K), dtype=f),
            alike=np.zeros(M, dtype=f),
            whole=np.zeros((D + M) * K, dtype=np.int32),
            counts=np.zeros((D + M) * K, dtype=f),
            leaving_counts=np.zeros((D + M) * K, dtype=f),
            leaving_rows=zeros((n_basis * columns,), f),
            starts=np.zeros((2, n_basis, K), dtype=f),
            sums=np.zeros(max(K * K, D + 1), dtype=f),
            offsets=np.zeros(D * n_basis + network.memory, dtype=np.intp),
            lag_factors=np.zeros(D * n_basis + network.memory, dtype=f),
            turned=np.zeros((n_basis, D + 1), dtype=f),
            active=np.zeros(max(part.size for part in plan.sources), dtype=np.intp),
            rates=zeros((columns,), f),
            of_neuron=zeros((columns,), f),
        )
        return Arrays(self._rule_numbers(), graph, carried, window, scratch, objective)

    def _reach(self) -> Floats:
        """(n_visible, n_hidden): weights summed over bases; no rows where no rule asks for them."""
        network = self.network
        first = network.n_hidden if self.rule.local is not None else network.n_neurons
        synaptic = self.weights.parameters(network.n_neurons).synaptic
        reach: Floats = synaptic[first:, network.n_inputs :][:, : network.n_hidden].sum(axis=2)
        return reach

    def _make_population(self, part: Sources, M: int) -> Population:
        f = self.dtype
        n_basis, D = self.plan.synapses.taps.shape
        K = 1 if part.shared else self.n_compartments
        recursive = self.plan.synapses.recursive
        # A recursion has no use for the last D steps, finite filters have none for the products of each basis.
        lags, columns = (0, M * K) if recursive else (D, 0)
        slots = lags + LONGEST_SEQUENCE if part.of_inputs else max(lags, 1)  # inputs are taken in ahead
        return Population(
            first=part.first,
            size=part.size,
            of_inputs=part.of_inputs,
            shared=part.shared,
            feeds=part.feeds,
            weights=self.weights.rows[part.columns],
            bits=np.zeros((-(-part.size // 64), (D + M) * K), dtype=np.uint64),
            impulse=zeros((K, slots * n_basis * self._columns), f),
            recent=np.zeros((lags + 1) * (lags + 1) * K * K, dtype=f),
            half=np.zeros((K, lags * n_basis * max(M, 2) * K), dtype=f),
            products=np.zeros((K, M * K), dtype=f),
            filtered=zeros((K, n_basis, self._columns), f),
            by_basis=np.zeros((K, n_basis, columns), dtype=f),
            squares=np.zeros((n_basis, K, K), dtype=f),
            ends=np.zeros((2, n_basis, K, K), dtype=f),
            pairs=np.zeros((3, K, K), dtype=f),
            first_traces=np.zeros((K, part.size if recursive else 0, n_basis), dtype=f),
            mean=np.zeros((0, n_basis), dtype=f),
            mean_impulse=np.zeros((slots, n_basis), dtype=f),
            mean_filtered=np.zeros(n_basis, dtype=f),
            mean_trace=np.zeros(M + 1, dtype=f),
            mean_square=np.zeros(1, dtype=f),
            centre=zeros((self._columns,), f),
        )

    # ---- writing back, and moving on

    def _close(self, w: Arrays, populations: Sequence[Population]) -> list[ToWrite]:
        begin, now, D = int(w.window.begin[0]), int(w.window.now[0]), self._duration
        close_window(w, filled_up(tuple(populations)), len(populations))
        ready = []
        for p in populations:
            spikes = spikes_by_source(p.bits, p.size, len(p.products), begin, max(D + now - 1, begin), w.scratch.active)
            changes = w.window.shared_changes if p.shared else w.window.changes
            ready.append(ToWrite(w.graph.synapses, w.graph.rows, begin, now, changes, *spikes))
        return ready

    def _write(self, w: Arrays, populations: Sequence[Population]) -> None:
        """Write what was learned to the weights of the populations, but for what the means take off."""
        for p, ready in zip(populations, self._close(w, populations), strict=True):
            write_back(p, p.weights, *ready, 0, p.size)

    def write(self) -> None:
        """Write what was learned to the weights; what the filters hold has then to be made anew."""
        if not self._written and self._arrays.window.begin[0] < self._arrays.window.now[0]:
            self._write(self._arrays, self._populations)
            self._arrays.carried.virtual[:] = 0
            self._stale = True
        self._written = True

    def _write_all(self) -> None:
        """And what the means take off."""
        self.write()
        for p in self._populations:
            if p.centre.any():
                write_means(p.weights, p.mean, p.centre, 0, p.size)
                p.centre[:] = 0
                self._stale = True

    def _renew_filters(self) -> None:
        graph, scratch, now = self._arrays.graph, self._arrays.scratch, int(self._arrays.window.now[0])
        for p in self._populations:
            if graph.synapses.recursive:
                begin_drive(p, graph.synapses.taps, now, scratch.active)
            else:
                take_in_again(p, graph.synapses, self._time, now, scratch.active, scratch.leaving_rows)
        self._stale = False

    def _move_on(self) -> None:
        """Write, and make room: only what still matters is kept."""
        self.write()
        window, K = self._arrays.window, self.n_compartments
        now, begin = int(window.now[0]), int(window.begin[0])
        keep = min(now - begin, now if self._keep is None else self._keep)
        drop = now - keep
        shift(window.post, 0, drop * K)
        shift(window.fading, 0, drop)
        for p in self._populations:
            K_p = len(p.products)
            shift(p.bits, 1, drop * K_p)
            shift(self._by_column(p.half), 2, drop * K_p)
            shift(p.products, 1, drop * K_p)
            shift(p.mean_trace, 0, drop)
        window.now[0], window.begin[0] = keep, max(begin - drop, 0)
        self._make_room(keep + BLOCK)
        self._begin_recursions()

    def _make_room(self, M: int) -> None:
        """A window for so many steps; what it holds stays."""
        self._room = M
        if len(self._arrays.window.fading) >= M:
            return
        K, D, w = self.n_compartments, self._duration, self._arrays
        window, scratch = w.window, w.scratch
        changes = longer(window.changes, 0, M * K)
        self._arrays = w._replace(
            window=window._replace(
                fading=longer(window.fading, 0, M),
                post=longer(window.post, 0, M * K),
                visible_factor=longer(window.visible_factor, 0, M * K),
                hidden_factor=longer(window.hidden_factor, 0, M * K),
                accumulated=longer(window.accumulated, 0, M * K),
                changes=changes,
                shared_changes=changes if K == 1 else longer(window.shared_changes, 0, M),
            ),
            scratch=scratch._replace(
                gram=longer(scratch.gram, 2, M * K),
                scaled=longer(scratch.scaled, 1, M * K),
                alike=longer(scratch.alike, 0, M),
                whole=longer(scratch.whole, 0, (D + M) * K),
                counts=longer(scratch.counts, 0, (D + M) * K),
                leaving_counts=longer(scratch.leaving_counts, 0, (D + M) * K),
            ),
        )
        self._set_populations(
            p._replace(
                bits=longer(p.bits, 1, (D + M) * len(p.products)),
                half=longer(self._by_column(p.half), 2, M * len(p.products)).reshape(len(p.half), -1),
                by_basis=longer(p.by_basis, 2, M * len(p.products)),
                products=longer(p.products, 1, M * len(p.products)),
                mean_trace=longer(p.mean_trace, 0, M + 1),
            )
            for p in self._populations
        )

    def _by_column(self, half: Floats) -> Floats:
        """(K_p, D * n_basis, M * K_p), or none of these."""
        taps = self.plan.synapses.taps
        return half.reshape(len(half), taps.size if half.size else 0, -1 if half.size else 0)

    def _begin_after(self, rested: Rested) -> None:
        """Begin with the spikes that the filters still see."""
        D, inputs, spikes = self._duration, rested.inputs, rested.spikes
        for p in self._populations:
            for position in range(D):
                before = len(spikes) - D + position
                for k in range(len(p.products)):
                    of_all = inputs[before] if p.of_inputs else spikes[before, k].view(np.uint8)
                    pack(of_all[p.first : p.first + p.size], p.bits, position * len(p.products) + k)
        self._resume(spikes)

    def _restore(self, kept: Kept) -> None:
        carried, window, K, D = self._arrays.carried, self._arrays.window, self.n_compartments, self._duration
        window.now[0], window.begin[0] = kept.now, kept.begin
        carried.somatic_eligibility[:] = kept.somatic_eligibility
        carried.virtual_eligibility[:] = kept.virtual_eligibility
        carried.reach_eligibility[:] = kept.reach_eligibility
        window.post[: kept.now * K], window.fading[: kept.now] = kept.post, kept.fading
        for p, bits in zip(self._populations, kept.bits, strict=True):
            p.bits[:, : (D + kept.now) * len(p.products)] = bits
        self._resume(kept.past)

    def _resume(self, past: Booleans) -> None:
        """Make from the spikes what follows from them; ``past`` (memory, K, n_neurons), the oldest first."""
        graph, carried, window, scratch = (
            self._arrays.graph, self._arrays.carried, self._arrays.window, self._arrays.scratch,
        )  # fmt: skip
        carried.past[self._order_of_past()] = past
        for traces, bank in ((carried.somatic_trace, graph.soma), (carried.own_trace, graph.synapses)):
            if not bank.recursive:
                traces[..., : self.network.n_neurons] = self._own_traces(bank)
        self._set_means(self.means, np.array(self.means, dtype=self.dtype))
        if not graph.synapses.recursive and self._time > 0:
            for p in self._populations:
                begin_finite_products(
                    p, graph.synapses.taps, self._time, int(window.now[0]), int(window.begin[0]), scratch.whole,
                    scratch.counts, scratch.turned, scratch.sums, scratch.offsets, scratch.lag_factors,
                )  # fmt: skip
        self._begin_recursions()

    def _begin_recursions(self) -> None:
        """Make what the recursions hold from the spikes that their filters see; the drive is made before it is used."""
        graph, carried = self._arrays.graph, self._arrays.carried
        for traces, bank in ((carried.somatic_trace, graph.soma), (carried.own_trace, graph.synapses)):
            if bank.recursive:
                traces[..., : self.network.n_neurons] = self._own_traces(bank)
        if graph.synapses.recursive:
            for p in self._populations:
                begin_recursive_products(
                    p, graph.synapses, int(self._arrays.window.now[0]), self._arrays.scratch.active
                )

    def _own_traces(self, bank: Bank) -> Floats:
        """(K, n_basis, n_neurons), of the neurons' own spikes so far."""
        newest_first = self._order_of_past()[::-1][: bank.taps.shape[1]]
        traces: Floats = np.tensordot(bank.taps, self._arrays.carried.past[newest_first].astype(self.dtype), axes=1)
        return traces.transpose(1, 0, 2)

    def _order_of_past(self) -> Integers:
        """The slots of the past, the oldest first."""
        memory = self.network.memory
        return (self._time + np.arange(memory)) % memory

    @property
    def _duration(self) -> int:
        return len(self.plan.synapses.taps[0])


class Batches:
    """Learns batches; see :class:`gemsnn.engine.protocol.Batches`.

    All examples read the same rows of weights, and write to them when the last is done. One that is longer than a
    window writes in between: it gets a copy of those rows whose sources spike, and of those of the neurons.
    """

    def __init__(
        self,
        network: Network,
        parameters: Parameters,
        rule: Rule,
        n_compartments: int,
        steps: int,
        threads: int,
        objective: Objective,
    ) -> None:
        self.network, self.n_compartments, self.steps, self.threads = network, n_compartments, steps, threads
        self._rule, self._weights, self._objective = rule, Weights.of(parameters), objective
        self._learners: list[Learner] = []

    @property
    def parameters(self) -> Parameters:
        """A view: the next batch changes them."""
        return self._weights.parameters(self.network.n_neurons)

    def learn(self, examples: Sequence[Example], means: Doubles) -> list[Info]:
        """Learn the examples, each from the weights as they are; then add what they change, in their order."""
        weights, rounded = self._weights, means.astype(self._weights.bias.dtype)
        while len(self._learners) < len(examples):
            own = (self.network, weights, self._rule, self.n_compartments, self._objective)
            self._learners.append(Learner(*own, steps=self.steps))
        lessons = [
            _Lesson(learner, example, means, rounded, len(examples) > 1)
            for learner, example in zip(self._learners, examples, strict=False)
        ]
        share_out(lambda number: lessons[number].learn(), len(lessons), self.threads)

        share_out(lambda part: self._write(lessons, part, self.threads), self.threads, self.threads)
        add_changes(weights.bias, [lesson.learner.bias for lesson in lessons])
        add_changes(weights.somatic, [lesson.learner.somatic for lesson in lessons])
        return [lesson.info for lesson in lessons]

    def _write(self, lessons: Sequence[_Lesson], share: int, shares: int) -> None:
        """What all examples have learned, to one of so many shares of the rows of each population."""
        learner = lessons[0].learner
        for number, part in enumerate(learner.plan.sources):
            first, last = part.size * share // shares, part.size * (share + 1) // shares
            rows = self._weights.rows[part.columns]
            for lesson in lessons:
                lesson.write(number, rows, first, last)
            centre = sum(lesson.learner.populations[number].centre for lesson in lessons)
            if np.any(centre):
                write_means(rows, lessons[0].rounded[part.columns], centre, first, last)


class _Lesson:
    """An example of a batch, from its first step to what it writes."""

    def __init__(self, learner: Learner, example: Example, means: Doubles, rounded: Floats, several: bool) -> None:
        self.learner, self.rounded = learner, rounded
        self._example, self._means, self._several = example, means, several
        self._ready: list[ToWrite] = []
        self._changed: list[tuple[Integers, Floats]] = []  # which rows, and how

    def learn(self) -> None:
        """Learn it, without writing to what the other examples read."""
        learner, example, T = self.learner, self._example, len(self._example.targets)
        inputs, parts = input_spikes(example.inputs, learner.network.n_inputs), learner.plan.sources
        rows, spiking = [learner.weights.rows[part.columns] for part in parts], None
        apart = self._several and T > LONGEST_SEQUENCE
        if apart:
            spiking = np.unique(inputs.source)
            inputs = InputSpikes(inputs.start, np.searchsorted(spiking, inputs.source))
            index = [_within(spiking, part) if part.of_inputs else np.arange(part.size) for part in parts]
            before = [of_part[which] for of_part, which in zip(rows, index, strict=True)]
            rows = [own.copy() for own in before]
        learner.begin(example.rule, self._means, self.rounded, T)
        learner.use(rows, spiking)
        self.info = learner.run_listed(inputs, example.targets, example.draws.draw(T))
        if apart:
            learner.write()
            self._changed = [(which, own - old) for which, own, old in zip(index, rows, before, strict=True)]
        else:
            self._ready = learner.close()

    def write(self, number: int, rows: Floats, first: int, last: int) -> None:
        """What it has learned, to the rows ``first`` to ``last`` - 1 of a population."""
        if self._changed:
            add_to_rows(rows, *self._changed[number], first, last)
        else:
            write_back(self.learner.populations[number], rows, *self._ready[number], first, last)


def _within(spiking: Integers, part: Sources) -> Integers:
    """Those inputs that belong to a population, counted from its first."""
    first, end = np.searchsorted(spiking, (part.first, part.first + part.size))
    return spiking[first:end] - part.first


def filled_up(populations: tuple[Population, ...]) -> tuple[Population, ...]:
    """Four or eight for the kernels, which are compiled anew for each number of them."""
    number = len(populations)
    return populations + (populations[0]._replace(size=0),) * (max(4, 1 << (number - 1).bit_length()) - number)


def _room_for(steps: int | None) -> int:
    """Of a window that begins with a sequence of so many steps, or a stream."""
    return BLOCK if steps is None else min(steps, LONGEST_SEQUENCE)

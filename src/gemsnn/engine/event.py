"""The event form: cost follows spikes. ``event_kernel.py`` explains and computes it; this file feeds it.

A window holds the spikes and post factors of past steps that still matter (gamma^age above the precision of the
numbers) and has room for the steps to come. When it is full, what was learned is written to the weights, and the window
moves on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemsnn.engine.aligned import LINE, padded, zeros
from gemsnn.engine.barrier import run_team
from gemsnn.engine.bits import pack
from gemsnn.engine.event_drive import begin_drive, mean_traces, take_in_again
from gemsnn.engine.event_kernel import advance
from gemsnn.engine.event_plan import event_plan
from gemsnn.engine.event_products import begin_finite_products, begin_recursive_products
from gemsnn.engine.event_window import Population, Share, Steps, Window
from gemsnn.engine.event_writing import changes, write_back
from gemsnn.engine.kept import Declared, Kept, length
from gemsnn.engine.pointers import rule_functions, rule_numbers
from gemsnn.engine.protocol import Info, State, no_means
from gemsnn.engine.recursion import Bank
from gemsnn.model import Network, Parameters
from gemsnn.rules import Rule

BLOCK = 256  # steps that the window has room for, besides those that it keeps
LONGEST_SEQUENCE = 128  # steps that are learned at a stretch, without moving the window on

Array = NDArray[Any]


def horizon(gamma: float, dtype: np.dtype[Any]) -> int | None:
    """Steps after which gamma^age is below a tenth of the precision; None if that is never."""
    if gamma == 1:
        return None
    return max(1, math.ceil(math.log(float(np.finfo(dtype).eps) / 10) / math.log(gamma)))


class Learner:
    """Learns in place; see :class:`gemsnn.engine.protocol.Learner`."""

    messages = None

    def __init__(
        self,
        network: Network,
        parameters: Parameters,
        rule: Rule,
        n_compartments: int,
        *,
        state: State | None = None,
        free: bool = False,
        steps: int | None = None,
        threads: int = 1,
    ) -> None:
        plan = event_plan(network, free, parameters.dtype)
        assert plan is not None  # whoever chose this form has asked
        self.network, self.dtype, self.rule, self.plan = network, parameters.dtype, rule, plan
        self.n_compartments = n_compartments
        self._functions = rule_functions(type(rule), self.dtype)
        self._keep = horizon(rule.gamma, self.dtype)
        self._time = 0 if state is None else state.time
        self._stale = False  # whether the filters hold what older weights made of the spikes
        self._written = True  # whether the weights have all that was learned
        past = 0 if state is None or "place" not in state.kept else int(state.kept["place"][0])
        self._room = room = past + _room_for(steps)
        # One row for each source; the columns of a basis are neurons, and a few that are none.
        self._columns = padded(network.n_neurons, self.dtype)
        shape = (network.n_sources, network.synaptic_filter.n_basis * self._columns)
        self._synaptic = zeros(shape, self.dtype)
        self._shares = _shares(threads, n_compartments, network.n_neurons, self.dtype)
        self._by_neuron(self._synaptic)[:] = parameters.synaptic
        self._window = self._make_window(parameters, room)
        self._set_populations(self._make_population(part, room) for part in plan.sources)
        self.means = no_means(network) if state is None else state.means
        if state is not None:
            w = self._window
            w.log_weights[:], w.processor_memory[:] = state.log_weights, state.processor_memory
            w.neuron_memory[:] = state.neuron_memory
            if "spikes" in state.kept:
                self._begin_after(state.kept["inputs"], state.kept["spikes"])
            else:
                self._restore(state)

    # ---- the protocol -----------------------------------------------------------------------------------------------

    def run(self, inputs: Array, targets: Array, uniforms: NDArray[np.float64]) -> Info:
        """Learn from (T, n_inputs) inputs and (T, n_visible) targets, with (T, K, n_hidden) uniforms."""
        T = len(inputs)
        steps = self._steps(T, inputs, targets, np.ones(T, dtype=np.bool_), uniforms)
        self._advance(steps, T)
        return Info(steps.spikes, steps.log_likelihood, steps.log_weights, steps.importance)

    def step(self, inputs_t: Array, target_t: Array | None, uniforms_t: NDArray[np.float64]) -> Info:
        """One step: learn if there is a target, else run freely; ``uniforms_t`` is (K, n_neurons)."""
        target = np.zeros((1, self.network.n_visible), dtype=np.uint8) if target_t is None else target_t[None]
        clamped = np.array([target_t is not None])
        steps = self._steps(1, inputs_t[None], target, clamped, uniforms_t[None])
        self._advance(steps, 1)
        return Info(steps.spikes[0], steps.log_likelihood[0], steps.log_weights[0], steps.importance[0])

    def take_off(self, means: NDArray[np.float64]) -> None:
        """From now on learn from the traces of the inputs less these means, (n_inputs, n_basis)."""
        self._write()
        self._set_means(means)

    def restart(self, rule: Rule, steps: int | None = None) -> None:
        """Begin anew in silence, with the weights as they are and a rule of the same kind."""
        self._write()
        self.rule, self._keep = rule, horizon(rule.gamma, self.dtype)
        self._time, self._stale = 0, False
        w = self._window = self._window._replace(**rule_numbers(rule, self.dtype))
        for array in (
            w.time, w.place, w.somatic_eligibility, w.somatic_trace, w.past, w.own_trace, w.virtual,
            w.virtual_eligibility, w.reach_eligibility, w.log_weights, w.processor_memory, w.neuron_memory, w.signal,
        ):  # fmt: skip
            array[...] = 0
        w.reach[:] = self._reach(self._by_neuron(self._synaptic))
        for p in self._populations:
            for array in (p.filtered, p.squares, p.first_traces, p.mean_filtered):
                array[...] = 0
            p.bits[:, : self._duration * len(p.products)] = 0  # the past; the rest is written before it is read
        self._make_room(_room_for(steps))
        if self.means.any():
            self._set_means(no_means(self.network))

    def take(self) -> tuple[Parameters, State]:
        """Parameters and state without a copy: if the learner goes on, they change with it."""
        self._write()
        w, n = self._window, self.network.n_neurons
        t, D, K = int(w.place[0]), self._duration, self.n_compartments
        kept: dict[str, Array] = {
            "place": w.place,
            "past": w.past[self._order_of_past()],
            "somatic_eligibility": self._of_all(w.somatic_eligibility),
            "virtual_eligibility": self._of_all(w.virtual_eligibility),
            "reach_eligibility": w.reach_eligibility,
            "post": w.post[: t * K, :n],
            "fading": w.fading[0, :t],
        }
        for index, p in enumerate(self._populations):
            kept[f"bits_{index}"] = p.bits[:, : (D + t) * p.products.shape[0]]
        memories = w.processor_memory[0], w.neuron_memory
        state = State("compiled", self.network, self.dtype, self._time, w.log_weights[0], *memories, kept, self.means)
        return Parameters(self._by_neuron(self._synaptic), self._of_all(w.somatic).T, w.bias[:n]), state

    def parameters(self) -> Parameters:
        """The weights as they are now, as a copy; the learner does not notice."""
        w, synaptic = self._window, self._synaptic.copy()
        factors = [array.copy() for array in (w.visible_factor, w.hidden_factor, w.accumulated, w.signal)]
        a = self._changes(w)
        for array, before in zip((w.visible_factor, w.hidden_factor, w.accumulated, w.signal), factors, strict=True):
            array[:] = before
        parts = zip(self._populations, self.plan.sources, strict=True)
        self._write_populations((p._replace(weights=synaptic[part.columns]) for p, part in parts), a)
        bias, n = w.bias + self._bias_change(a), self.network.n_neurons
        return Parameters(self._by_neuron(synaptic), self._of_all(w.somatic).T, bias[:n]).copy()

    # ---- inside -----------------------------------------------------------------------------------------------------

    def _of_all(self, by_thread: Array) -> Array:
        """What threads hold of their own neurons, (n_threads, ..., columns), as (..., n_neurons)."""
        if len(by_thread) == 1:
            return by_thread[0, ..., : self.network.n_neurons]
        parts = zip(by_thread, self._shares, strict=True)
        return np.concatenate([own[..., share.first : share.last] for own, share in parts], axis=-1)

    def _by_neuron(self, rows: Array) -> Array:
        """A view of rows of weights as (n_neurons, n_sources, n_basis)."""
        by_basis = rows.reshape(len(rows), -1, self._columns)[:, :, : self.network.n_neurons]
        return by_basis.transpose(2, 0, 1)

    def _set_means(self, means: NDArray[np.float64]) -> None:
        self.means = means
        w, kept = self._window, means if means.any() else means[:0]
        t, begin = (int(place) for place in w.place)
        made = []
        for p, part in zip(self._populations, self.plan.sources, strict=True):
            if p.of_inputs:
                p = p._replace(mean=np.array(kept[part.columns], dtype=self.dtype))
                p.mean_square[0] = (p.mean * p.mean).sum()
                if begin < t:
                    mean_traces(p, w.synapses.taps, t, begin, w.active[0])
            made.append(p)
        self._set_populations(made)
        self._stale = self._time > 0  # what the filters make of the means is made anew as well

    def _set_populations(self, populations: Iterable[Population]) -> None:
        self._populations = tuple(populations)
        self._filled_up = _filled_up(self._populations)

    def _steps(self, T: int, inputs: Array, targets: Array, clamped: Array, uniforms: Array) -> Steps:
        K, n = self.n_compartments, self.network.n_neurons
        given = np.ascontiguousarray(inputs).view(np.uint8), np.ascontiguousarray(targets).view(np.uint8)
        found = np.empty((T, K, n), dtype=np.bool_), np.empty((T, K)), np.empty((T, K)), np.empty((T, K))
        return Steps(*given, clamped, uniforms, *found)

    def _advance(self, steps: Steps, T: int) -> None:
        """Through all steps, moving the window on whenever it is full."""
        done = 0
        while done < T:
            room = self._room - int(self._window.place[0])
            if not room:
                self._move_on()
                continue
            many = min(room, T - done, LONGEST_SEQUENCE)
            if self._stale:
                self._renew_filters()
            what = self._window, self._filled_up, len(self._populations), steps, *self._functions, done, done + many
            self._in_team(partial(advance, *what))
            done += many
            self._time += many
            self._written = False

    def _in_team(self, work: Callable[[Share, Any], None]) -> None:
        run_team(lambda thread, counter: work(self._shares[thread], counter), len(self._shares))

    def _make_window(self, parameters: Parameters, M: int) -> Window:
        network, plan, rule, f, K = self.network, self.plan, self.rule, self.dtype, self.n_compartments
        n, n_hidden, n_visible = network.n_neurons, network.n_hidden, network.n_visible
        n_basis, D = plan.synapses.taps.shape
        n_somatic, columns, team = network.somatic_filter.n_basis, self._columns, len(self._shares)
        has_local, own_trace = rule.local is not None, zeros((team, K, n_basis, columns), f)
        return Window(
            **rule_numbers(rule, self.dtype),
            has_local=has_local,
            synapses=plan.synapses,
            soma=plan.soma,
            one_filter=plan.one_filter,
            circuits=plan.circuits,
            segment=plan.segments,
            own_source=_wider(plan.own_source, columns),
            reaches=plan.reaches,
            has_memory=_wider(network.has_memory, columns),
            time=np.array([self._time]),
            place=np.zeros(2, dtype=np.int64),
            bias=_wider(parameters.bias, columns),
            somatic=_wider(np.repeat(parameters.somatic.T[None], team, axis=0), columns),
            somatic_eligibility=zeros((team, K, n_somatic, columns), f),
            somatic_trace=own_trace if plan.one_filter else zeros((team, K, n_somatic, columns), f),
            past=np.zeros((network.memory, K, n), dtype=np.bool_),
            own_trace=own_trace,
            virtual=zeros((team, n_basis, columns), f),
            virtual_eligibility=zeros((team, K, n_basis, columns), f),
            reach=np.array(self._reach(parameters.synaptic), order="C"),
            reach_eligibility=np.zeros((K, n_visible if has_local else 0, n_hidden), dtype=f),
            log_weights=np.zeros((team, K)),
            processor_memory=np.zeros((team, rule.processor_memory(K))),
            neuron_memory=np.zeros((n_hidden, rule.neuron_memory)),
            post=zeros((M * K, columns), f),
            visible_factor=np.zeros((team, M * K), dtype=f),
            hidden_factor=np.zeros((team, M * K), dtype=f),
            fading=np.zeros((team, M), dtype=f),
            accumulated=zeros((M * K if has_local else 0, columns), f),
            signal=np.zeros((n_hidden, K), dtype=f),
            gram=np.zeros((team, int(plan.segments[:, 2].max()) + 1, K, M * K), dtype=f),
            scaled=np.zeros((team, K, M * K), dtype=f),
            alike=np.zeros((team, M), dtype=f),
            potentials=zeros((team, K, columns), f),
            own_drive=zeros((K, columns), f),
            fired=np.zeros((n, K), dtype=np.bool_),
            fired_rows=zeros((K, columns), np.dtype(np.bool_)),
            factors=zeros((K, columns), np.dtype(np.float64)),
            log_probability=np.zeros((K, n_visible)),
            reached=np.zeros((n_hidden, n_visible), dtype=f),
            whole=np.zeros((team, (D + M) * K), dtype=np.int32),
            counts=np.zeros((team, (D + M) * K), dtype=f),
            left_counts=np.zeros((team, (D + M) * K), dtype=f),
            left=zeros((team, n_basis * columns), f),
            starts=np.zeros((team, 2, n_basis, K), dtype=f),
            sums=np.zeros((team, max(K * K, D + 1)), dtype=f),
            offsets=np.zeros((team, D * n_basis + network.memory), dtype=np.intp),
            lag_factors=np.zeros((team, D * n_basis + network.memory), dtype=f),
            turned=np.zeros((team, n_basis, D + 1), dtype=f),
            active=np.zeros((team, max((part.size for part in plan.sources), default=0)), dtype=np.intp),
            shares=zeros((K, columns), np.dtype(np.float64)),
            rates=zeros((team, columns), f),
            of_neuron=zeros((team, columns), f),
            likelihood=np.zeros((team, K)),
            importance=np.zeros((team, K)),
            visible_signal=np.zeros((team, K)),
            hidden_signal=np.zeros((team, K)),
            errors=np.zeros((team, K, n_visible), dtype=f),
        )

    def _reach(self, synaptic: Array) -> Array:
        """(n_visible, n_hidden): weights summed over bases; no rows where no rule asks for them."""
        first = self.network.n_hidden if self.rule.local is not None else self.network.n_neurons
        onto_visible = synaptic[first:, self.network.n_inputs :][:, : self.network.n_hidden]
        reach: Array = onto_visible.sum(axis=2)
        return reach

    def _make_population(self, part: Any, M: int) -> Population:
        f = self.dtype
        n_basis, D = self.plan.synapses.taps.shape
        K = 1 if part.shared else self.n_compartments
        recursive = self.plan.synapses.recursive
        # A recursion has no use for the last D steps, finite filters have none for the products of each basis.
        lags, columns = (0, M * K) if recursive else (D, 0)
        ring = lags + LONGEST_SEQUENCE if part.of_inputs else max(lags, 1)  # inputs are taken in ahead
        return Population(
            first=part.first,
            size=part.size,
            of_inputs=part.of_inputs,
            shared=part.shared,
            feeds=part.feeds,
            weights=self._synaptic[part.columns],
            bits=np.zeros((-(-part.size // 64), (D + M) * K), dtype=np.uint64),
            impulse=zeros((K, ring * n_basis * self._columns), f),
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
            mean_impulse=np.zeros((ring, n_basis), dtype=f),
            mean_filtered=np.zeros(n_basis, dtype=f),
            mean_trace=np.zeros(M + 1, dtype=f),
            mean_square=np.zeros(1, dtype=f),
        )

    # ---- writing back, and moving on

    def _changes(self, w: Window) -> Array:
        a = zeros((int(w.place[0]) * self.n_compartments, self._columns), self.dtype)
        changes(w, self.network.n_hidden, a)
        return a

    def _bias_change(self, a: Array) -> Array:
        """sum_s a_s (1 - mean . (R_s - mean)), for each neuron with the means of its own inputs; (n_neurons,)."""
        change: Array = a.sum(axis=0)
        for p in self._populations:
            if len(p.mean):
                factor = p.mean_square - p.mean_trace[: len(a) // self.n_compartments]
                learned = (factor[:, None] * self._of_population(p, a)).sum(axis=0)
                for first, last, of_class in self.plan.segments:
                    change[first:last] += learned[first:last] * p.feeds[of_class]
        return change

    def _of_population(self, p: Population, a: Array) -> Array:
        """(M * K_p, n_neurons): what the population's own compartments learn."""
        K = self.n_compartments
        own: Array = a.reshape(-1, K, a.shape[1]).sum(axis=1) if p.shared and K > 1 else a
        return own

    def _write_populations(self, populations: Iterable[Population], a: Array) -> None:
        filled_up = _filled_up(tuple(populations))
        own = tuple(self._of_population(p, a) if p.size else a for p in filled_up)
        self._in_team(lambda share, counter: write_back(self._window, filled_up, own, share))

    def _write(self) -> None:
        """Write what was learned to the weights; what the filters hold has then to be made anew."""
        w = self._window
        t, begin = (int(place) for place in w.place)
        if self._written or begin >= t:
            return
        self._written = True
        a = self._changes(w)
        w.bias[:] += self._bias_change(a)
        self._write_populations(self._populations, a)
        w.virtual[:] = 0
        self._stale = True

    def _renew_filters(self) -> None:
        w = self._window
        for p in self._populations:
            if w.synapses.recursive:
                begin_drive(p, w.synapses.taps, int(w.place[0]), w.active[0])
            else:
                take_in_again(p, w.synapses, self._time, int(w.place[0]), w.active[0], w.left[0])
        self._stale = False

    def _move_on(self) -> None:
        """Write, and make room: only what still matters is kept."""
        self._write()
        w, K = self._window, self.n_compartments
        t, begin = (int(place) for place in w.place)
        keep = min(t - begin, t if self._keep is None else self._keep)
        drop = t - keep
        _shift(w.post, 0, drop * K)
        _shift(w.fading, 1, drop)
        for p in self._populations:
            K_p = p.products.shape[0]
            _shift(p.bits, 1, drop * K_p)
            _shift(self._by_column(p.half), 2, drop * K_p)
            _shift(p.products, 1, drop * K_p)
            _shift(p.mean_trace, 0, drop)
        w.place[:] = keep, max(begin - drop, 0)
        self._make_room(keep + BLOCK)
        self._begin_recursions()

    def _make_room(self, M: int) -> None:
        """A window for so many steps; what it holds stays."""
        self._room = M
        if self._window.fading.shape[1] >= M:
            return
        K, D = self.n_compartments, self._duration
        w = self._window
        self._window = w._replace(
            fading=_longer(w.fading, 1, M),
            post=_longer(w.post, 0, M * K),
            visible_factor=_longer(w.visible_factor, 1, M * K),
            hidden_factor=_longer(w.hidden_factor, 1, M * K),
            accumulated=_longer(w.accumulated, 0, M * K),
            gram=_longer(w.gram, 3, M * K),
            scaled=_longer(w.scaled, 2, M * K),
            alike=_longer(w.alike, 1, M),
            whole=_longer(w.whole, 1, (D + M) * K),
            counts=_longer(w.counts, 1, (D + M) * K),
            left_counts=_longer(w.left_counts, 1, (D + M) * K),
        )
        self._set_populations(
            p._replace(
                bits=_longer(p.bits, 1, (D + M) * len(p.products)),
                half=_longer(self._by_column(p.half), 2, M * len(p.products)).reshape(len(p.half), -1),
                by_basis=_longer(p.by_basis, 2, M * len(p.products)),
                products=_longer(p.products, 1, M * len(p.products)),
                mean_trace=_longer(p.mean_trace, 0, M + 1),
            )
            for p in self._populations
        )

    def _by_column(self, half: Array) -> Array:
        """(K_p, D * n_basis, M * K_p), or none of these."""
        taps = self.plan.synapses.taps
        return half.reshape(len(half), taps.size if half.size else 0, -1 if half.size else 0)

    def _begin_after(self, inputs: Array, spikes: Array) -> None:
        """Begin with the spikes, (memory, n_inputs) and (memory, K, n_neurons), that the filters still see."""
        D = self._duration
        for p in self._populations:
            for position in range(D):
                before = len(spikes) - D + position
                for k in range(len(p.products)):
                    of_all = inputs[before] if p.of_inputs else spikes[before, k].view(np.uint8)
                    pack(of_all[p.first : p.first + p.size], p.bits, position * len(p.products) + k)
        self._resume(spikes)

    def _restore(self, state: State) -> None:
        w, kept, K = self._window, state.kept, self.n_compartments
        t, D, n = int(kept["place"][0]), self._duration, self.network.n_neurons
        w.place[:] = kept["place"]
        w.somatic_eligibility[..., :n] = kept["somatic_eligibility"]
        w.virtual_eligibility[..., :n] = kept["virtual_eligibility"]
        w.reach_eligibility[:] = kept["reach_eligibility"]
        w.post[: t * K, :n], w.fading[:, :t] = kept["post"], kept["fading"]
        for index, p in enumerate(self._populations):
            p.bits[:, : (D + t) * len(p.products)] = kept[f"bits_{index}"]
        self._resume(kept["past"])

    def _resume(self, past: Array) -> None:
        """Make from the spikes what follows from them; ``past`` (memory, K, n_neurons), the oldest first."""
        w = self._window
        w.past[self._order_of_past()] = past
        for traces, bank in ((w.somatic_trace, w.soma), (w.own_trace, w.synapses)):
            if not bank.recursive:
                traces[..., : self.network.n_neurons] = self._own_traces(bank)
        self._set_means(self.means)
        if not w.synapses.recursive and self._time > 0:
            t, begin = int(w.place[0]), int(w.place[1])
            scratch = [array[0] for array in (w.whole, w.counts, w.turned, w.sums, w.offsets, w.lag_factors)]
            for p in self._populations:
                begin_finite_products(p, w.synapses.taps, self._time, t, begin, *scratch)
        self._begin_recursions()

    def _begin_recursions(self) -> None:
        """Make what the recursions hold from the spikes that their filters see; the drive is made before it is used."""
        w = self._window
        for traces, bank in ((w.somatic_trace, w.soma), (w.own_trace, w.synapses)):
            if bank.recursive:
                traces[..., : self.network.n_neurons] = self._own_traces(bank)
        if w.synapses.recursive:
            for p in self._populations:
                begin_recursive_products(p, w.synapses, int(w.place[0]), w.active[0])

    def _own_traces(self, bank: Bank) -> Array:
        """(K, n_basis, n_neurons), of the neurons' own spikes so far."""
        newest_first = self._order_of_past()[::-1][: bank.taps.shape[1]]
        traces: Array = np.tensordot(bank.taps, self._window.past[newest_first].astype(self.dtype), axes=1)
        return traces.transpose(1, 0, 2)

    def _order_of_past(self) -> Array:
        """The slots of the past, the oldest first."""
        memory = self.network.memory
        return (self._time + np.arange(memory)) % memory

    @property
    def _duration(self) -> int:
        return len(self.plan.synapses.taps[0])


def declared(network: Network, rule: Rule, n_compartments: int, state: State) -> Declared:
    """What :meth:`Learner.take` keeps, after as many steps as ``fading`` has."""
    plan, f, K, t = event_plan(network, False, state.dtype), state.dtype, n_compartments, length(state.kept, "fading")
    if plan is None:
        return {}
    n, n_hidden, (n_basis, D) = network.n_neurons, network.n_hidden, plan.synapses.taps.shape
    n_visible = 0 if rule.local is None else network.n_visible
    arrays = {
        "place": Kept((2,), np.int64, least=(t, 0), most=t),
        "past": Kept((network.memory, K, n), np.bool_),
        "somatic_eligibility": Kept((K, network.somatic_filter.n_basis, n), f),
        "virtual_eligibility": Kept((K, n_basis, n), f),
        "reach_eligibility": Kept((K, n_visible, n_hidden), f),
        "post": Kept((t * K, n), f),
        "fading": Kept((t,), f),
    }
    for index, part in enumerate(plan.sources):
        words, most = -(-part.size // 64), [[2 ** min(64, part.size - at) - 1] for at in range(0, part.size, 64)]
        steps = (D + t) * (1 if part.shared else K)
        arrays[f"bits_{index}"] = Kept((words, steps), np.uint64, most=np.array(most, dtype=np.uint64))
    return arrays


def _shares(threads: int, n_compartments: int, n_neurons: int, dtype: np.dtype[Any]) -> list[Share]:
    """Of a team of so many threads, or as many as there is work for."""
    pairs, each = -(-n_compartments // 2), LINE // dtype.itemsize
    lines = -(-n_neurons // each)
    team = max(1, min(threads, n_compartments // 4, lines))
    shares = []
    for thread in range(team):
        first_k, last_k = (2 * (pairs * end // team) for end in (thread, thread + 1))
        first, last_column = (-each * (-lines * end // team) for end in (thread, thread + 1))
        shares.append(
            Share(thread, team, first_k, min(last_k, n_compartments), first, min(last_column, n_neurons), last_column)
        )
    return shares


def _filled_up(populations: tuple[Population, ...]) -> tuple[Population, ...]:
    """Four or eight for the kernels, which are compiled anew for each number of them."""
    number = len(populations)
    return populations + (populations[0]._replace(size=0),) * (max(4, 1 << (number - 1).bit_length()) - number)


def _room_for(steps: int | None) -> int:
    """Of a window that begins with a sequence of so many steps, or a stream."""
    return BLOCK if steps is None else min(steps, LONGEST_SEQUENCE)


def _shift(array: Array, axis: int, by: int) -> None:
    """Move what is in an array towards its beginning along an axis; zeros come in."""
    if by and array.shape[axis]:
        moved = np.moveaxis(array, axis, 0)
        moved[: len(moved) - by] = moved[by:].copy()
        moved[len(moved) - by :] = 0


def _longer(array: Array, axis: int, size: int) -> Array:
    """The array with room for more along an axis."""
    if not array.shape[axis] or array.shape[axis] >= size:
        return array
    result = zeros((*array.shape[:axis], size, *array.shape[axis + 1 :]), array.dtype)
    np.moveaxis(result, axis, 0)[: array.shape[axis]] = np.moveaxis(array, axis, 0)
    return result


def _wider(array: Array, columns: int) -> Array:
    """A copy with columns of no neuron after the last."""
    result = zeros((*array.shape[:-1], columns), array.dtype)
    result[..., : array.shape[-1]] = array
    return result

"""The sparse form: cost follows the synapses whose sources spike. ``sparse_kernel.py`` explains and computes it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemsnn.engine import sparse_kernel as kernel
from gemsnn.engine.event import horizon
from gemsnn.engine.event_window import Steps
from gemsnn.engine.firing import circuit_table
from gemsnn.engine.kept import Declared, Kept
from gemsnn.engine.pointers import rule_functions, rule_numbers
from gemsnn.engine.protocol import Info, State, no_means
from gemsnn.engine.sparse_kernel import NEVER, REMEMBERED, Neurons, Synapses
from gemsnn.engine.synapses import synapse_lists
from gemsnn.engine.tables import histories, history_format, trace_table
from gemsnn.model import Network, Parameters
from gemsnn.rules import Rule

Array = NDArray[Any]

_KEPT = ("history", "input_history", "bias_eligibility", "somatic_eligibility", "reach_eligibility")


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
        overwrite: bool = False,
    ) -> None:
        self.network, self.dtype, self.rule = network, parameters.dtype, rule
        self.n_compartments = n_compartments
        self._functions = rule_functions(type(rule), self.dtype)
        self._lists = synapse_lists(network.topology)
        self._synaptic = parameters.synaptic if overwrite else parameters.synaptic.copy()
        self._synapses = self._make_synapses(parameters)
        self._neurons = self._make_neurons(parameters)
        self.means = no_means(network)
        if state is not None:
            self._restore(state)

    def run(self, inputs: Array, targets: Array, uniforms: NDArray[np.float64]) -> Info:
        """Learn from (T, n_inputs) inputs and (T, n_visible) targets, with (T, K, n_hidden) uniforms."""
        return self._advance(inputs, targets, np.ones(len(inputs), dtype=np.bool_), uniforms)

    def step(self, inputs_t: Array, target_t: Array | None, uniforms_t: NDArray[np.float64]) -> Info:
        """One step: learn if there is a target, else run freely; ``uniforms_t`` is (K, n_neurons)."""
        target = np.zeros(self.network.n_visible, dtype=np.uint8) if target_t is None else target_t
        info = self._advance(inputs_t[None], target[None], np.array([target_t is not None]), uniforms_t[None])
        return Info(*(values[0] for values in info))

    def take_off(self, means: NDArray[np.float64]) -> None:
        """From now on learn from the traces of the inputs less these means, (n_inputs, n_basis)."""
        kernel.finish(self._synapses, self._neurons)
        self.means = means
        kept = means if means.any() else means[:0]
        self._neurons = self._neurons._replace(mean=np.array(kept, dtype=self.dtype, order="C"))
        kernel.take_off(self._synapses, self._neurons)

    def restart(self, rule: Rule, steps: int | None = None) -> None:
        """Begin anew in silence, with the weights as they are and a rule of the same kind."""
        parameters = self.take()[0]
        self.rule, self.means = rule, no_means(self.network)
        nothing, numbers = np.zeros((0, self.means.shape[1]), dtype=self.dtype), rule_numbers(rule, self.dtype)
        y, w = self._synapses, self._neurons._replace(mean=nothing, horizon=self._horizon(), **numbers)
        for array in (
            w.time, w.bias_eligibility, w.mean_eligibility, w.mean_square, w.centre, w.somatic_eligibility,
            w.somatic_trace, w.history, w.input_history, w.reach_eligibility, w.log_weights, w.processor_memory,
            w.neuron_memory, w.post, w.rate, w.rates, y.eligibility, y.traces,
        ):  # fmt: skip
            array[...] = 0
        y.spoke[:], y.settled[:], w.reach[:] = NEVER, NEVER, self._reach(parameters)
        self._neurons = w

    def take(self) -> tuple[Parameters, State]:
        """Parameters and state without a copy: if the learner goes on, they change with it."""
        y, w = self._synapses, self._neurons
        kernel.finish(y, w)
        self._lists.write(y.weight.T, self._synaptic)
        kept = {name: getattr(w, name) for name in _KEPT}
        kept |= {"synapse_eligibility": y.eligibility, "spoke": y.spoke, "settled": y.settled}
        memories = w.processor_memory, w.neuron_memory
        state = State("compiled", self.network, self.dtype, int(w.time[0]), w.log_weights, *memories, kept, self.means)
        return Parameters(self._synaptic, w.somatic.T, w.bias), state

    def parameters(self) -> Parameters:
        """The weights as they are now, as a copy; the learner does not notice."""
        y, w = (_copied(arrays) for arrays in (self._synapses, self._neurons))
        kernel.finish(y, w)
        synaptic = self._synaptic.copy()
        self._lists.write(y.weight.T, synaptic)
        return Parameters(synaptic, w.somatic.T.copy(), w.bias)

    # ---- inside -----------------------------------------------------------------------------------------------------

    def _advance(self, inputs: Array, targets: Array, clamped: Array, uniforms: Array) -> Info:
        T, K, n = len(inputs), self.n_compartments, self.network.n_neurons
        given = np.ascontiguousarray(inputs).view(np.uint8), np.ascontiguousarray(targets).view(np.uint8)
        info = Info(np.empty((T, K, n), dtype=np.bool_), *np.empty((3, T, K)))
        steps = Steps(*given, clamped, uniforms, *info)
        kernel.advance(self._synapses, self._neurons, steps, *self._functions, 0, T)
        return info

    def _make_synapses(self, parameters: Parameters) -> Synapses:
        f, K, n_basis = self.dtype, self.n_compartments, self.network.synaptic_filter.n_basis
        start, neuron = self._lists
        return Synapses(
            start=start,
            neuron=neuron,
            weight=np.array(self._lists.weights(parameters.synaptic).T, order="C"),
            eligibility=np.zeros((K, n_basis, len(neuron)), dtype=f),
            traces=np.zeros((2, K, n_basis, self.network.n_sources), dtype=f),
            spoke=np.full(self.network.n_sources, NEVER),
            settled=np.full(self.network.n_sources, NEVER),
        )

    def _make_neurons(self, parameters: Parameters) -> Neurons:
        network, rule, f, K = self.network, self.rule, self.dtype, self.n_compartments
        n, n_hidden = network.n_neurons, network.n_hidden
        format_ = history_format(network.memory)
        n_somatic, has_local = network.somatic_filter.n_basis, rule.local is not None
        onto_visible = slice(n_hidden, None), slice(network.n_inputs, network.n_inputs + n_hidden)
        reach, most = self._reach(parameters), int(np.diff(self._lists.start).max())
        return Neurons(
            **rule_numbers(rule, f),
            has_local=has_local,
            horizon=self._horizon(),
            duration=network.synaptic_filter.duration,
            synaptic_table=trace_table(network.synaptic_filter.taps, format_, f),
            somatic_table=trace_table(network.somatic_filter.taps, format_, f),
            history_bits=format_.bits,
            circuits=circuit_table(network.circuits),
            reaches=np.ascontiguousarray(network.topology.mask[onto_visible]),
            has_memory=network.has_memory,
            mean=np.zeros((0, network.synaptic_filter.n_basis), dtype=f),
            mean_square=np.zeros(n, dtype=f),
            time=np.zeros(1, dtype=np.int64),
            bias=parameters.bias.copy(),
            bias_eligibility=np.zeros((K, n), dtype=f),
            mean_eligibility=np.zeros((K, n), dtype=f),
            centre=np.zeros(n, dtype=f),
            somatic=np.array(parameters.somatic.T, order="C"),
            somatic_eligibility=np.zeros((K, n_somatic, n), dtype=f),
            somatic_trace=np.zeros((K, n_somatic, n), dtype=f),
            history=np.zeros((n, K, format_.words), dtype=np.uint16),
            input_history=np.zeros((network.n_inputs, 1, format_.words), dtype=np.uint16),
            reach=np.array(reach, dtype=f, order="C"),
            reach_eligibility=np.zeros((K, len(reach), n_hidden), dtype=f),
            log_weights=np.zeros(K),
            processor_memory=np.zeros(rule.processor_memory(K)),
            neuron_memory=np.zeros((n_hidden, rule.neuron_memory)),
            post=np.zeros((K, n), dtype=f),
            rate=np.zeros((K, n), dtype=f),
            rates=np.zeros((K, n, REMEMBERED), dtype=f),
            of_synapses=np.zeros((3, most), dtype=f),
            mean_trace=np.zeros(n, dtype=f),
            potentials=np.zeros((K, n), dtype=f),
            fired=np.zeros((n, K), dtype=np.bool_),
            probabilities=np.zeros((n, K)),
            factors=np.zeros((n, K)),
        )

    def _horizon(self) -> int:
        steps = horizon(self.rule.gamma, self.dtype)
        return -NEVER if steps is None else steps

    def _reach(self, parameters: Parameters) -> Array:
        """(n_visible, n_hidden): weights summed over bases; no rows where no rule asks for them."""
        first = self.network.n_hidden if self.rule.local is not None else self.network.n_neurons
        onto_visible = parameters.synaptic[first:, self.network.n_inputs :][:, : self.network.n_hidden]
        reach: Array = onto_visible.sum(axis=2)
        return reach

    def _restore(self, state: State) -> None:
        y, w, kept = self._synapses, self._neurons, state.kept
        w.time[0], w.log_weights[:] = state.time, state.log_weights
        w.processor_memory[:], w.neuron_memory[:] = state.processor_memory, state.neuron_memory
        if "spikes" in kept:  # begin with the spikes that the filters still see
            format_ = history_format(self.network.memory)
            inputs, spikes = kept["inputs"], kept["spikes"]
            w.history[:], w.input_history[:] = histories(spikes, format_), histories(inputs[:, None], format_)
            for ago, spiked in enumerate(np.concatenate([inputs != 0, spikes.any(axis=1)], axis=1)):
                y.spoke[spiked] = state.time - len(spikes) + ago
        else:
            for name in _KEPT:
                getattr(w, name)[:] = kept[name]
            y.eligibility[:], y.spoke[:], y.settled[:] = kept["synapse_eligibility"], kept["spoke"], kept["settled"]
        kernel.make_traces(y, w, state.time)
        self.take_off(state.means)


def declared(network: Network, rule: Rule, n_compartments: int, state: State) -> Declared:
    """What :meth:`Learner.take` keeps."""
    f, n, n_hidden, K = state.dtype, network.n_neurons, network.n_hidden, n_compartments
    words, bits = history_format(network.memory)
    n_synapses, last = len(synapse_lists(network.topology).neuron), state.time - 1
    n_visible = 0 if rule.local is None else network.n_visible
    return {
        "history": Kept((n, K, words), np.uint16, most=2**bits - 1),
        "input_history": Kept((network.n_inputs, 1, words), np.uint16, most=2**bits - 1),
        "bias_eligibility": Kept((K, n), f),
        "somatic_eligibility": Kept((K, network.somatic_filter.n_basis, n), f),
        "reach_eligibility": Kept((K, n_visible, n_hidden), f),
        "synapse_eligibility": Kept((K, network.synaptic_filter.n_basis, n_synapses), f),
        "spoke": Kept((network.n_sources,), np.int64, most=last, besides=NEVER),
        "settled": Kept((network.n_sources,), np.int64, least=last, most=last, besides=NEVER),
    }


def _copied(arrays: Any) -> Any:
    return arrays._replace(**{k: v.copy() for k, v in arrays._asdict().items() if isinstance(v, np.ndarray)})

"""The sparse form: cost follows the synapses whose sources spike. ``sparse_kernel.py`` explains and computes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gemsnn.engine import sparse_kernel as kernel
from gemsnn.engine.arrays import Booleans, Doubles, Floats, Integers, add_changes
from gemsnn.engine.event_arrays import Steps
from gemsnn.engine.firing import circuit_table
from gemsnn.engine.horizon import horizon
from gemsnn.engine.input_spikes import Inputs, input_spikes
from gemsnn.engine.objective_functions import memory_of_eligibility, objective_arrays, objective_functions
from gemsnn.engine.protocol import Example, Info, Rested, State, no_means
from gemsnn.engine.rule_functions import rule_functions, rule_numbers
from gemsnn.engine.sparse_kernel import NEVER, REMEMBERED, Neurons, Synapses
from gemsnn.engine.synapses import synapse_lists
from gemsnn.engine.tables import histories, history_format, trace_table
from gemsnn.engine.threads import share_out
from gemsnn.model import Network, Parameters
from gemsnn.objectives import Objective
from gemsnn.rules import Rule


class Kept(NamedTuple):
    """What a state of this form keeps."""

    history: NDArray[np.uint16]
    input_history: NDArray[np.uint16]
    bias_eligibility: Floats
    somatic_eligibility: Floats
    reach_eligibility: Floats
    eligibility: Floats
    spoke: Integers
    settled: Integers


class Learner:
    """Learns in place; see :class:`gemsnn.engine.protocol.Learner`."""

    messages = None

    def __init__(
        self,
        network: Network,
        parameters: Parameters,
        rule: Rule,
        n_compartments: int,
        objective: Objective,
        *,
        state: State | None = None,
    ) -> None:
        self.network, self.dtype, self.rule = network, parameters.dtype, rule
        self.n_compartments = n_compartments
        self.objective = objective
        self._functions = *rule_functions(rule, self.dtype), *objective_functions(objective)
        self._lists = synapse_lists(network.topology)
        self._onto_visible = self._lists.onto_visible(network.n_inputs, network.n_hidden)
        self._synapses = self._make_synapses(parameters)
        self._neurons = self._make_neurons(parameters)
        self.means = no_means(network)
        if state is not None:
            self._restore(state)

    def run(self, inputs: Inputs, targets: NDArray[Any], uniforms: Doubles) -> Info:
        """Learn from T steps of inputs and (T, n_visible) targets, with (T, K, n_hidden) uniforms."""
        return self._advance(inputs, targets, np.ones(len(targets), dtype=np.bool_), uniforms)

    def step(self, inputs_t: NDArray[Any], target_t: NDArray[Any] | None, uniforms_t: Doubles) -> Info:
        """One step: learn if there is a target, else run freely; ``uniforms_t`` is (K, n_neurons)."""
        target = np.zeros(self.network.n_visible, dtype=np.uint8) if target_t is None else target_t
        if self.objective.rewarded:  # inputs side by side, those of all compartments
            own = np.broadcast_to(inputs_t, (self.n_compartments, self.network.n_inputs))
            inputs_t = np.ascontiguousarray(own.T).reshape(-1)
        info = self._advance(inputs_t[None], target[None], np.array([target_t is not None]), uniforms_t[None])
        return Info(*(values[0] for values in info))

    def end(self, over: Booleans) -> None:
        """Traces, eligibility and log-weights of some of the compartments (K,) begin anew."""
        y, w = self._synapses, self._neurons
        self.settle()
        for by_neuron in (w.history, w.input_history):
            by_neuron[:, over] = 0
        for by_compartment in (
            y.eligibility, w.log_weights, w.bias_eligibility, w.somatic_eligibility, w.somatic_trace,
            w.objective.memory,
        ):  # fmt: skip
            by_compartment[over] = 0
        y.traces[:, over] = 0

    def saved(self) -> dict[str, NDArray[Any]]:
        """All that changes from step to step, as it is in memory."""
        y, w = self._synapses, self._neurons
        found = {name: getattr(y, name) for name in ("weight", "eligibility", "traces", "spoke", "settled")}
        names = (
            "time", "bias", "bias_eligibility", "somatic", "somatic_eligibility", "somatic_trace", "history",
            "input_history", "log_weights", "processor_memory", "post", "rate", "rates",
        )  # fmt: skip
        return found | {name: getattr(w, name) for name in names} | {"objective_memory": w.objective.memory}

    def restore(self, saved: dict[str, NDArray[Any]]) -> None:
        """Go on from what was saved."""
        for name, array in self.saved().items():
            array[...] = saved[name]

    @property
    def visible_potential(self) -> Floats:
        """(K, n_visible): of the visible neurons at the latest step."""
        found: Floats = self._neurons.potentials[:, self.network.n_hidden :]
        return found

    def reward(self, rewards: Doubles) -> Doubles:
        """Learn from the rewards (K,) of the last step, with the eligibility as it stands; gives the importance."""
        importance = np.empty(self.n_compartments)
        kernel.reward(self._synapses, self._neurons, rewards, self._functions[1], importance)
        return importance

    def take_off(self, means: Doubles) -> None:
        """From now on learn from the traces of the inputs less these means, (n_inputs, n_basis)."""
        self.settle()
        self.means = means
        kept = means if means.any() else means[:0]
        self._neurons = self._neurons._replace(mean=np.array(kept, dtype=self.dtype, order="C"))
        kernel.take_off(self._synapses, self._neurons)

    def take(self) -> tuple[Parameters, State]:
        """Parameters and state; they may change if the learner goes on."""
        y, w = self._synapses, self._neurons
        self.settle()
        kept = Kept(*(getattr(w if hasattr(w, name) else y, name) for name in Kept._fields))
        memories = w.processor_memory, w.neuron_memory, w.objective.memory
        state = State("compiled", self.network, self.dtype, int(w.time[0]), w.log_weights, *memories, self.means, kept)
        return self._lists.parameters(y.weight.T, w.somatic.T, w.bias), state

    def parameters(self) -> Parameters:
        """The weights as they are now, as a copy; the learner does not notice."""
        y, w = (_copied(arrays) for arrays in (self._synapses, self._neurons))
        kernel.finish(y, w)
        return self._lists.parameters(y.weight.T, w.somatic.T, w.bias)

    def settle(self) -> None:
        """Apply all updates so far to all synapses."""
        kernel.finish(self._synapses, self._neurons)

    # ---- an example of a batch

    def begin(self, rule: Rule, means: Doubles, weights: Sequence[Floats]) -> None:
        """In silence, with a rule of the same kind and the given :attr:`weights`."""
        y = self._synapses
        w = self._neurons._replace(**rule_numbers(rule, self.dtype, memory_of_eligibility(self.objective, rule)))
        self.rule = rule
        for array in (
            w.time, w.bias_eligibility, w.mean_eligibility, w.mean_square, w.centre, w.somatic_eligibility,
            w.somatic_trace, w.history, w.input_history, w.reach_eligibility, w.log_weights, w.processor_memory,
            w.neuron_memory, w.post, w.rate, w.once, w.rates, w.objective.memory, y.eligibility, y.traces,
        ):  # fmt: skip
            array[...] = 0
        y.spoke[:], y.settled[:] = NEVER, NEVER
        self._neurons = w._replace(horizon=self._horizon())
        for own, given in zip(self.weights, weights, strict=True):
            own[:] = given
        self._neurons.reach[:] = self._reach(self._synapses.weight)
        self.take_off(means)

    @property
    def weights(self) -> tuple[Floats, ...]:
        """The parameters, as this form has them."""
        return self._synapses.weight, self._neurons.somatic, self._neurons.bias

    # ---- inside -----------------------------------------------------------------------------------------------------

    def _advance(self, inputs: Inputs, targets: NDArray[Any], learns: Booleans, uniforms: Doubles) -> Info:
        T, K, n = len(targets), self.n_compartments, self.network.n_neurons
        info = Info(np.empty((T, K, n), dtype=np.bool_), *np.empty((4, T, K)))
        start, source = input_spikes(inputs, self._neurons.fired_inputs.size)
        steps = Steps(start, source, np.ascontiguousarray(targets).view(np.uint8), learns, uniforms, *info)
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
        format_, own_inputs = history_format(network.memory), K if self.objective.rewarded else 1
        n_somatic, has_local = network.somatic_filter.n_basis, rule.local is not None
        onto_visible = slice(n_hidden, None), slice(network.n_inputs, network.n_inputs + n_hidden)
        reach, most = self._reach(self._synapses.weight), int(np.diff(self._lists.start).max())
        return Neurons(
            **rule_numbers(rule, f, memory_of_eligibility(self.objective, rule)),
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
            input_history=np.zeros((network.n_inputs, own_inputs, format_.words), dtype=np.uint16),
            reach=np.array(reach, dtype=f, order="C"),
            reach_eligibility=np.zeros((K, len(reach), n_hidden), dtype=f),
            log_weights=np.zeros(K),
            processor_memory=np.zeros(rule.processor_memory(K)),
            neuron_memory=np.zeros((n_hidden, rule.neuron_memory)),
            post=np.zeros((K, n), dtype=f),
            rate=np.zeros((K, n), dtype=f),
            once=np.zeros((K, n), dtype=f),
            rates=np.zeros((K, n, REMEMBERED), dtype=f),
            of_synapses=np.zeros((3, most), dtype=f),
            mean_trace=np.zeros(n, dtype=f),
            potentials=np.zeros((K, n), dtype=f),
            fired=np.zeros((n, K), dtype=np.bool_),
            fired_inputs=np.zeros((network.n_inputs, own_inputs), dtype=np.bool_),
            probabilities=np.zeros((n, K)),
            factors=np.zeros((n, K)),
            objective=objective_arrays(self.objective, rule, network, K),
        )

    def _horizon(self) -> int:
        steps = horizon(memory_of_eligibility(self.objective, self.rule), self.dtype)
        return -NEVER if steps is None else steps

    def _reach(self, weight: Floats) -> Floats:
        """(n_visible, n_hidden): weights summed over bases; no rows where no rule asks for them.

        It follows from the weights alone, so that a batch does not depend on those before it.
        """
        network = self.network
        if self.rule.local is None:
            return np.zeros((0, network.n_hidden), dtype=self.dtype)
        reach = np.zeros((network.n_visible, network.n_hidden), dtype=self.dtype)
        visible, hidden, synapse = self._onto_visible
        reach[visible, hidden] = weight[:, synapse].sum(axis=0)
        return reach

    def _restore(self, state: State) -> None:
        y, w, kept = self._synapses, self._neurons, state.kept
        w.time[0], w.log_weights[:] = state.time, state.log_weights
        w.processor_memory[:], w.neuron_memory[:] = state.processor_memory, state.neuron_memory
        w.objective.memory[:] = state.objective_memory
        if isinstance(kept, Rested):
            format_, inputs, spikes = history_format(self.network.memory), kept.inputs, kept.spikes
            w.history[:], w.input_history[:] = histories(spikes, format_), histories(inputs[:, None] != 0, format_)
            for ago, spiked in enumerate(np.concatenate([inputs != 0, spikes.any(axis=1)], axis=1)):
                y.spoke[spiked] = state.time - len(spikes) + ago
        elif isinstance(kept, Kept):
            for name in Kept._fields:
                getattr(w if hasattr(w, name) else y, name)[:] = getattr(kept, name)
        kernel.make_traces(y, w, state.time)
        self.take_off(state.means)


class Batches:
    """Learns batches; see :class:`gemsnn.engine.protocol.Batches`. Each example has its own copy of the weights."""

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
        self.network, self.n_compartments, self.threads = network, n_compartments, threads
        self._objective = objective
        self._learners = [Learner(network, parameters, rule, n_compartments, objective)]
        self._weights = [array.copy() for array in self._learners[0].weights]

    @property
    def parameters(self) -> Parameters:
        """A copy."""
        weight, somatic, bias = self._weights
        return synapse_lists(self.network.topology).parameters(weight.T, somatic.T, bias)

    def learn(self, examples: Sequence[Example], means: Doubles) -> list[Info]:
        """Learn the examples, each from the weights as they are; then add what they change, in their order."""
        while len(self._learners) < len(examples):
            own = (self.network, self.parameters, examples[0].rule, self.n_compartments, self._objective)
            self._learners.append(Learner(*own))
        infos: list[Any] = [None] * len(examples)

        def learn_one(number: int) -> None:
            learner, example = self._learners[number], examples[number]
            learner.begin(example.rule, means, self._weights)
            infos[number] = learner.run(example.inputs, example.targets, example.draws.draw(len(example.targets)))
            learner.settle()

        share_out(learn_one, len(examples), self.threads)
        learned = [learner.weights for learner in self._learners[: len(examples)]]
        for total, *values in zip(self._weights, *learned, strict=True):
            add_changes(total, values)
        return infos


def _copied(arrays: Any) -> Any:
    return arrays._replace(**{k: v.copy() for k, v in arrays._asdict().items() if isinstance(v, np.ndarray)})

"""The sparse form: cost follows the synapses whose sources spike. ``sparse_kernel.py`` explains and computes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gemsnn.engine import sparse_kernel as kernel
from gemsnn.engine.arrays import Booleans, Doubles, Floats, Histories, Integers, add_changes, allocate, copied
from gemsnn.engine.firing import circuit_table
from gemsnn.engine.input_spikes import InputSpikes
from gemsnn.engine.objective_functions import objective_arrays
from gemsnn.engine.protocol import Example, Info, Rested, State
from gemsnn.engine.rule_functions import rule_numbers
from gemsnn.engine.sparse_kernel import NEVER, REMEMBERED, Arrays, Carried, Graph, Scratch, Synapses
from gemsnn.engine.steps import FormLearner, new_steps
from gemsnn.engine.synapses import synapse_lists
from gemsnn.engine.tables import histories, history_format, trace_table
from gemsnn.engine.task import Task
from gemsnn.engine.threads import share_out
from gemsnn.model import Parameters
from gemsnn.rules import Rule


class Kept(NamedTuple):
    """What a state of this form keeps."""

    history: Histories
    input_history: Histories
    bias_eligibility: Floats
    somatic_eligibility: Floats
    reach_eligibility: Floats
    eligibility: Floats
    spoke: Integers
    settled: Integers


class Learner(FormLearner):
    """Learns in place; see :class:`gemsnn.engine.protocol.Learner`."""

    def __init__(self, task: Task, parameters: Parameters, state: State) -> None:
        super().__init__(task, parameters.dtype)
        network = task.network
        self._lists = synapse_lists(network.topology)
        self._onto_visible = self._lists.onto_visible(network.n_inputs, network.n_hidden)
        self._synapses, self._arrays = self._make_arrays(parameters)
        self.means = state.means
        if state.kept is not None:
            self._restore(state)

    def end(self, over: Booleans) -> None:
        y, c = self._synapses, self._arrays.carried
        self.settle()
        for by_neuron in (c.history, c.input_history):
            by_neuron[:, over] = 0
        for by_compartment in (
            y.eligibility, c.log_weights, c.bias_eligibility, c.somatic_eligibility, c.somatic_trace,
            self._arrays.objective.memory,
        ):  # fmt: skip
            by_compartment[over] = 0
        y.traces[:, over] = 0

    def saved(self) -> dict[str, NDArray[Any]]:
        y, c = self._synapses, self._arrays.carried
        found = {name: getattr(y, name) for name in ("weight", "eligibility", "traces", "spoke", "settled")}
        names = (
            "time", "bias", "bias_eligibility", "somatic", "somatic_eligibility", "somatic_trace", "history",
            "input_history", "log_weights", "processor_memory", "post", "rate", "rates",
        )  # fmt: skip
        return found | {name: getattr(c, name) for name in names} | {"objective_memory": self._arrays.objective.memory}

    def restore(self, saved: dict[str, NDArray[Any]]) -> None:
        for name, array in self.saved().items():
            array[...] = saved[name]

    @property
    def visible_potential(self) -> Floats:
        potential: Floats = self._arrays.scratch.potentials[:, self.task.network.n_hidden :]
        return potential

    def reward(self, rewards: Doubles) -> Doubles:
        importance = np.empty(self.task.n_compartments)
        kernel.reward(self._synapses, self._arrays, rewards, self._functions[1], importance)
        return importance

    def subtract_means(self, means: Doubles) -> None:
        self.settle()
        self.means = means
        kept = np.array(means if means.any() else means[:0], dtype=self.dtype, order="C")
        self._arrays = self._arrays._replace(graph=self._arrays.graph._replace(mean=kept))
        kernel.subtract_means(self._synapses, self._arrays)

    def take(self) -> tuple[Parameters, State]:
        self.settle()
        carried, network = self._arrays.carried, self.task.network
        arrays = self._synapses._asdict() | carried._asdict()
        memories = carried.processor_memory, carried.neuron_memory, self._arrays.objective.memory
        state = State(
            "compiled", network, self.dtype, int(carried.time[0]), carried.log_weights, *memories, self.means,
            Kept(*(arrays[name] for name in Kept._fields)),
        )  # fmt: skip
        return self._parameters(self._synapses, carried), state

    def parameters(self) -> Parameters:
        y, w = copied(self._synapses), self._arrays._replace(carried=copied(self._arrays.carried))
        kernel.finish(y, w)
        return self._parameters(y, w.carried)

    def settle(self) -> None:
        """Apply all updates so far to all synapses."""
        kernel.finish(self._synapses, self._arrays)

    # ---- an example of a batch --------------------------------------------------------------------------------------

    def begin(self, rule: Rule, means: Doubles, weights: Sequence[Floats]) -> None:
        """Begin in silence, with a rule of the same kind and the given :attr:`weights`."""
        self.task = self.task._replace(rule=rule)
        y, w = self._synapses, self._arrays
        for array in (*w.carried, w.objective.memory, y.eligibility, y.traces):
            array[...] = 0
        y.spoke[:], y.settled[:] = NEVER, NEVER
        graph = w.graph._replace(horizon=self._horizon)
        self._arrays = w._replace(rule=rule_numbers(self.task, self.dtype), graph=graph)
        for own, given in zip(self.weights, weights, strict=True):
            own[:] = given
        w.carried.reach[:] = self._reach(y.weight)
        self.subtract_means(means)

    @property
    def weights(self) -> tuple[Floats, ...]:
        """The parameters, as this form has them."""
        return self._synapses.weight, self._arrays.carried.somatic, self._arrays.carried.bias

    # ---- inside -----------------------------------------------------------------------------------------------------

    def step(self, inputs_t: NDArray[Any], target_t: NDArray[Any] | None, uniforms_t: Doubles) -> Info:
        if self.task.objective.rewarded:  # inputs side by side, those of all compartments
            own = np.broadcast_to(inputs_t, (self.task.n_compartments, self.task.network.n_inputs))
            inputs_t = np.ascontiguousarray(own.T).reshape(-1)
        return super().step(inputs_t, target_t, uniforms_t)

    def _advance(self, inputs: InputSpikes, targets: NDArray[Any], learns: Booleans, uniforms: Doubles) -> Info:
        steps, info = new_steps(inputs, targets, learns, uniforms, self.task.network.n_neurons)
        kernel.advance(self._synapses, self._arrays, steps, *self._functions, 0, len(targets))
        return info

    def _make_arrays(self, parameters: Parameters) -> tuple[Synapses, Arrays]:
        network, rule, K, objective = self.task
        n_hidden, (start, neuron), format_ = network.n_hidden, self._lists, history_format(network.memory)
        sizes = {
            "K": K, "n_neurons": network.n_neurons, "n_hidden": n_hidden, "n_visible": network.n_visible,
            "n_inputs": network.n_inputs, "n_sources": network.n_sources, "n_synapses": len(neuron),
            "n_basis": network.synaptic_filter.n_basis, "n_somatic": network.somatic_filter.n_basis,
            "K_inputs": K if objective.rewarded else 1, "words": format_.words, "remembered": REMEMBERED,
            "most_synapses": int(np.diff(start).max()), "n_reached": network.n_visible if self.task.has_local else 0,
            "processor_memory": rule.processor_memory(K), "neuron_memory": rule.neuron_memory,
        }  # fmt: skip
        synapses = allocate(
            Synapses,
            sizes,
            self.dtype,
            start=start,
            neuron=neuron,
            weight=np.array(self._lists.weights(parameters.synaptic).T, order="C"),
            spoke=np.full(network.n_sources, NEVER),
            settled=np.full(network.n_sources, NEVER),
        )
        graph = allocate(
            Graph,
            sizes,
            self.dtype,
            horizon=self._horizon,
            duration=network.synaptic_filter.duration,
            synaptic_table=trace_table(network.synaptic_filter.taps, format_, self.dtype),
            somatic_table=trace_table(network.somatic_filter.taps, format_, self.dtype),
            history_bits=format_.bits,
            circuits=circuit_table(network.circuits),
            reaches=np.ascontiguousarray(network.topology.mask[n_hidden:, network.n_inputs :][:, :n_hidden]),
            has_memory=network.has_memory,
        )
        carried = allocate(
            Carried,
            sizes,
            self.dtype,
            bias=parameters.bias.copy(),
            somatic=np.array(parameters.somatic.T, order="C"),
            reach=self._reach(synapses.weight),
        )
        scratch, numbers = allocate(Scratch, sizes, self.dtype), rule_numbers(self.task, self.dtype)
        return synapses, Arrays(numbers, graph, carried, scratch, objective_arrays(self.task))

    def _parameters(self, synapses: Synapses, carried: Carried) -> Parameters:
        """A copy."""
        return self._lists.parameters(synapses.weight.T, carried.somatic.T, carried.bias)

    @property
    def _horizon(self) -> int:
        steps = self.task.horizon(self.dtype)
        return -NEVER if steps is None else steps

    def _reach(self, weight: Floats) -> Floats:
        """(n_visible, n_hidden): weights summed over bases; no rows where no rule asks for them.

        It follows from the weights alone, so that a batch does not depend on those before it.
        """
        network = self.task.network
        reach = np.zeros((network.n_visible if self.task.has_local else 0, network.n_hidden), dtype=self.dtype)
        if self.task.has_local:
            visible, hidden, synapse = self._onto_visible
            reach[visible, hidden] = weight[:, synapse].sum(axis=0)
        return reach

    def _restore(self, state: State) -> None:
        y, w, kept = self._synapses, self._arrays, state.kept
        w.carried.time[0], w.carried.log_weights[:] = state.time, state.log_weights
        w.carried.processor_memory[:], w.carried.neuron_memory[:] = state.processor_memory, state.neuron_memory
        w.objective.memory[:] = state.objective_memory
        if isinstance(kept, Rested):
            format_, inputs, spikes = history_format(self.task.network.memory), kept.inputs, kept.spikes
            w.carried.history[:] = histories(spikes, format_)
            w.carried.input_history[:] = histories(inputs[:, None] != 0, format_)
            for number, spiked in enumerate(np.concatenate([inputs != 0, spikes.any(axis=1)], axis=1)):
                y.spoke[spiked] = state.time - len(spikes) + number
        elif isinstance(kept, Kept):
            own = y._asdict() | w.carried._asdict()
            for name, values in kept._asdict().items():
                own[name][:] = values
        kernel.make_traces(y, w, state.time)
        self.subtract_means(state.means)


class Batches:
    """Learns batches; see :class:`gemsnn.engine.protocol.Batches`. Each example has its own copy of the weights."""

    def __init__(self, task: Task, parameters: Parameters, steps: int, threads: int) -> None:
        self._task, self._threads = task, threads
        self._learners = [self._new_learner(parameters)]
        self._weights = [array.copy() for array in self._learners[0].weights]

    def _new_learner(self, parameters: Parameters) -> Learner:
        return Learner(self._task, parameters, State.initial("compiled", self._task, parameters.dtype))

    @property
    def parameters(self) -> Parameters:
        """A copy."""
        weight, somatic, bias = self._weights
        return synapse_lists(self._task.network.topology).parameters(weight.T, somatic.T, bias)

    def learn(self, examples: Sequence[Example], means: Doubles) -> list[Info]:
        while len(self._learners) < len(examples):
            self._learners.append(self._new_learner(self.parameters))
        infos: list[Any] = [None] * len(examples)

        def learn_one(number: int) -> None:
            learner, example = self._learners[number], examples[number]
            learner.begin(example.rule, means, self._weights)
            infos[number] = learner.run(example.inputs, example.targets, example.draws.draw(len(example.targets)))
            learner.settle()

        share_out(learn_one, len(examples), self._threads)
        learned = [learner.weights for learner in self._learners[: len(examples)]]
        for total, *values in zip(self._weights, *learned, strict=True):
            add_changes(total, values)
        return infos

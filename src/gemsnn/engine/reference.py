r"""The paper in float64 NumPy: one step of learning, one equation a line. Slow, and the oracle of the other engine.

For every compartment k and neuron i, at step t:

    trace       a * s_j,  b * s_i      spikes up to t - 1 through the synaptic and the somatic filter
    potential   u_i^k = sum_j w_ji . (a * s_j)^k + w_i . (b * s_i)^k + bias_i                               (eq. 3)
    spike       h_i^k = 1 if uniform < sigmoid(u_i^k); visible neurons are clamped to x_i, or draw too      (eq. 1)
    report      r^k, the objective's value of the visible spikes               visible neuron -> processor
                the paper's: r^k = sum_{i visible} log p(x_i | u_i^k)                                       (eq. 2)
    log-weight  v^k <- kappa v^k + r^k                                                                      (eq. 9)
    importance  SoftMax over the compartments of beta v, beta = 1 in the paper                              (eq. 10)
    signal      the rule's function of these; GEM: the importance              processor -> every neuron
    eligibility e_i^k <- gamma e_i^k + post_i^k trace                          GEM: post = s_i^k - sigmoid(u_i^k)
    update      w <- w + eta sum_k signal_i^k e_i^k                                                         (eq. 11)

The paper prints a minus sign in eq. 11; the loss falls along the plus sign, which is also that of its eq. 12.

Objectives for which visible neurons draw their own spikes (``objectives/``): these take the hidden neurons' signal.
Where a rule sends errors back, they learn from the objective's derivatives, with an eligibility decay of its own:

    signal      slope_i^k / K for visible neurons, with post = s_i'(u) = probability (1 - probability);
                hidden neurons are sent 1 / K, and back from visible neuron i slope_i^k s_i'(u)
    at once     w <- w + eta sum_k at_once_i^k / K s_i'(u_i^k) trace, for visible neurons, without eligibility

Mean-free traces, which the paper does not have: learning from the traces of the inputs minus their means m, while the
weights still multiply the traces themselves. With centred coordinates u = w . (trace - m) + c, gradient steps move w
by the centred eligibility and c by that of the bias; the bias that belongs to them is c - w . m. So with e_w and e_b
the eligibilities of synapses and bias:

    centred     e_w - m e_b                                                    m is 0 for all other sources
    update      w <- w + eta sum_k signal^k (e_w - m e_b)^k
                bias <- bias + eta sum_k signal^k (e_b - m . (e_w - m e_b))^k
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from gemsnn.engine.input_spikes import Inputs, as_array, n_steps
from gemsnn.engine.protocol import Example, Info, Simulation, State, Step
from gemsnn.engine.randomness import Draws
from gemsnn.engine.task import Task
from gemsnn.model import Network, Parameters
from gemsnn.model import spikes as spiking
from gemsnn.rules import Communication

Array = NDArray[np.float64]


class Eligibility(NamedTuple):
    """One number per compartment and parameter: (K, ...), followed by the parameter's own shape."""

    synaptic: Array
    somatic: Array
    bias: Array


class Kept(NamedTuple):
    """What a state of this engine keeps."""

    history: Array  # (memory, K, n_sources): spikes, the most recent first
    eligibility: Eligibility


class CentralProcessor:
    """Collects the reports of the visible neurons, sends learning signals to all neurons, and counts both."""

    def __init__(self) -> None:
        self.reals_received = 0
        self.reals_sent = 0
        self.reals_sent_back = 0  # from visible to hidden neurons, past the processor

    def collect(self, reports: Array, log_weights: Array, n_units: int) -> Array:
        """New log-weights (K,), from the reports (K,) of the visible neurons (or circuits)."""
        self.reals_received += n_units * reports.size
        return log_weights + reports

    def send(self, signal: Array, message: Array) -> Array:
        """The learning signal of one neuron; the message is what has to be sent for it."""
        self.reals_sent += message.size
        return signal


class Learner:
    """Learns step by step; see :class:`gemsnn.engine.protocol.Learner`."""

    def __init__(
        self,
        task: Task,
        parameters: Parameters,
        *,
        state: State | None = None,
        free: bool = False,
        steps: int | None = None,
    ) -> None:
        network, rule, K, objective = task
        n = network.n_neurons
        self.network, self.rule, self.objective, self.dtype = network, rule, objective, parameters.dtype
        self.weights = parameters.astype(np.float64)
        self.processor = CentralProcessor()
        before = state or State.initial("reference", task, self.dtype)
        self.time, self.log_weights, self.means = before.time, before.log_weights, before.means
        self.processor_memory, self.neuron_memory = before.processor_memory.copy(), before.neuron_memory.copy()
        self.objective_memory = before.objective_memory.copy()
        self.visible_potential = np.zeros((K, network.n_visible))
        self._last = np.zeros((K, n)), np.zeros((K, n))  # spikes and probabilities
        if isinstance(before.kept, Kept):
            self.history, self.eligibility = before.kept
            return
        self.history = np.zeros((network.memory, K, network.n_sources))  # the last steps, most recent first
        self.eligibility = Eligibility(
            synaptic=np.zeros((K, n, network.n_sources, network.synaptic_filter.n_basis)),
            somatic=np.zeros((K, n, network.somatic_filter.n_basis)),
            bias=np.zeros((K, n)),
        )

    def run(self, inputs: Inputs, targets: NDArray[Any], uniforms: Array) -> Info:
        """T steps, one after the other; each uses the weights learned at the step before."""
        given = as_array(inputs, self.network.n_inputs)
        infos = [self.step(*step) for step in zip(given, targets, uniforms, strict=True)]
        return Info(*(np.stack(values) for values in zip(*infos, strict=True)))

    def step(self, inputs_t: NDArray[Any], target_t: NDArray[Any] | None, uniforms_t: Array) -> Info:
        """One time step. With a target the weights learn; without, all neurons run freely.

        ``inputs_t`` (n_inputs,) or (K, n_inputs), ``target_t`` (n_visible,) or None, ``uniforms_t`` (K, n_hidden) or,
        if visible neurons draw, (K, n_neurons). An objective whose rewards come from outside has no targets.
        """
        network, rule, objective, K = self.network, self.rule, self.objective, len(self.log_weights)
        u, synaptic_trace, somatic_trace = potentials(network, self.weights, self.history)
        self.visible_potential = u[:, network.n_hidden :]
        probability = spiking.probability(network.circuits, u)
        spikes = fire(network, probability, None if objective.free else target_t, uniforms_t)
        log_probability = visible_log_probability(network, u, spikes)

        gamma = objective.eligibility_memory(rule.gamma) if objective.sends_errors_back(rule) else rule.gamma
        self.eligibility = Eligibility(*(gamma * array for array in self.eligibility))
        self.log_weights = rule.kappa * self.log_weights
        report = log_probability.sum(axis=1)
        if target_t is not None or objective.rewarded:
            self._remember(self._post(spikes, probability), synaptic_trace, somatic_trace)
        if target_t is not None:
            report = self._report(spikes, target_t, log_probability)
            self.log_weights = self.processor.collect(report, self.log_weights, log_probability.shape[1])
            self._learn(self._signals(spikes, probability))
            if objective.sends_errors_back(rule):
                self._learn_at_once(spikes, probability, synaptic_trace, somatic_trace)

        inputs = np.broadcast_to(inputs_t, (K, network.n_inputs))
        self.history = np.concatenate([np.concatenate([inputs, spikes], axis=1)[None], self.history[:-1]])
        self.time += 1
        self._last = spikes, probability
        return Info(spikes.astype(bool), log_probability.sum(axis=1), report, self.log_weights, self._importance())

    def reward(self, rewards: Array) -> Array:
        self.log_weights = self.processor.collect(rewards, self.log_weights, 1)
        self._learn(self._signals(*self._last))
        return self._importance()

    def end(self, over: NDArray[np.bool_]) -> None:
        lasts = ~over
        self.log_weights = self.log_weights * lasts
        self.history = self.history * lasts[:, None]
        self.eligibility = Eligibility(*((array.T * lasts).T for array in self.eligibility))
        self.objective_memory = self.objective_memory * lasts[:, None, None]

    def saved(self) -> dict[str, NDArray[Any]]:
        names = ("log_weights", "processor_memory", "objective_memory", "history")
        own = {name: getattr(self, name) for name in names} | {"time": np.array([self.time])}
        of_last = dict(zip(("last_spikes", "last_probability"), self._last, strict=True))
        return own | of_last | vars(self.weights) | {f"e_{k}": v for k, v in self.eligibility._asdict().items()}

    def restore(self, saved: dict[str, NDArray[Any]]) -> None:
        for name in ("log_weights", "processor_memory", "objective_memory", "history"):
            setattr(self, name, saved[name])
        self.time, self._last = int(saved["time"][0]), (saved["last_spikes"], saved["last_probability"])
        self.weights = Parameters(saved["synaptic"], saved["somatic"], saved["bias"])
        self.eligibility = Eligibility(*(saved[f"e_{name}"] for name in Eligibility._fields))

    def _importance(self) -> Array:
        weights: Array = softmax(self.rule.sharpness * self.log_weights)
        return weights

    def _post(self, spikes: Array, probability: Array) -> Array:
        """(K, n_neurons) post factors: of hidden neurons the rule's; of visible ones their error."""
        network, post = self.network, spikes - probability
        for k, i in np.ndindex(len(spikes), network.n_hidden):
            post[k, i] = self.rule.post(float(spikes[k, i]), float(probability[k, i]))
        if self.objective.sends_errors_back(self.rule):
            shown = probability[:, network.n_hidden :]
            post[:, network.n_hidden :] = shown * (1 - shown)
        return post

    def _report(self, spikes: Array, target_t: NDArray[Any], log_probability: Array) -> Array:
        """(K,): what the visible neurons of each compartment report to the processor."""
        network, objective = self.network, self.objective
        shown, settings = spikes[:, network.n_hidden :], objective.settings()
        hidden_spikes = spikes[:, : network.n_hidden].sum(axis=1)
        target, each = target_t.astype(np.float64), spiking.by_neuron(network.circuits.visible, log_probability)
        return np.array(
            [
                objective.report(settings, shown[k], target, each[k], hidden_spikes[k], self.objective_memory[k])
                for k in range(len(spikes))
            ]
        )

    def _signals(self, spikes: Array, probability: Array) -> Array:
        """(n_neurons, K) learning signals, from what the processor sends and what is sent back through synapses."""
        network, rule, K, n_hidden = self.network, self.rule, len(self.log_weights), self.network.n_hidden
        settings, visible, hidden = rule.settings(), np.zeros(K), np.zeros(K)
        errors = (spikes - probability)[:, n_hidden:]
        importance, slopes = self._importance(), None
        if self.objective.sends_errors_back(rule):
            importance, slopes = np.full(K, 1 / K), self._slopes()
            errors = slopes * (probability * (1 - probability))[:, n_hidden:]
        rule.broadcast(settings, self.log_weights, importance, self.processor_memory, visible, hidden)
        if self.objective.free:
            visible = hidden
        to_visible, to_hidden = rule.messages(visible, hidden)
        if self.objective.free:
            to_visible = to_hidden
        signals = np.empty((network.n_neurons, K))
        for i in range(network.n_neurons):
            signals[i] = (
                self.processor.send(hidden, to_hidden) if i < n_hidden else self.processor.send(visible, to_visible)
            )
        if slopes is not None:
            signals[n_hidden:] *= slopes.T
        if rule.local is not None:
            onto_visible = slice(network.n_inputs, network.n_inputs + n_hidden)
            reach = self.weights.synaptic[n_hidden:, onto_visible].sum(axis=2).T  # (n_hidden, n_visible)
            self.processor.reals_sent_back += K * int(network.topology.mask[n_hidden:, onto_visible].sum())
            fired = spikes.astype(bool)
            for i in range(n_hidden):
                rule.local(settings, hidden, errors, reach[i], fired[:, i], self.neuron_memory[i], signals[i])
        return signals

    def _slopes(self) -> Array:
        """(K, n_visible): by how much the reports to come rise with each visible neuron's filtered spikes."""
        settings, memory = self.objective.settings(), self.objective_memory
        slopes = np.empty(memory.shape[:2])
        for k, i in np.ndindex(*slopes.shape):
            slopes[k, i] = self.objective.slope(settings, memory[k, i])
        return slopes

    def _remember(self, post: Array, synaptic_trace: Array, somatic_trace: Array) -> None:
        """Add this step to the eligibility: each neuron on its own, from its post factor and its traces."""
        network, eligibility = self.network, self.eligibility
        for i in range(network.n_neurons):
            mask = network.topology.mask[i, :, None]
            eligibility.synaptic[:, i] += post[:, i, None, None] * synaptic_trace * mask
            eligibility.somatic[:, i] += post[:, i, None] * somatic_trace[:, i] * network.has_memory[i]
            eligibility.bias[:, i] += post[:, i]

    def _learn(self, signals: Array) -> None:
        """Each neuron changes its weights along its eligibility, by its own learning signals (K,)."""
        network, eta, eligibility = self.network, self.rule.step_size, self.eligibility
        learned = self.weights.copy()
        of_neurons = np.zeros((network.n_neurons, self.means.shape[1]))
        means = np.concatenate([self.means, of_neurons])  # (n_sources, n_basis)
        for i, signal in enumerate(signals):
            mask = network.topology.mask[i, :, None]
            centred = eligibility.synaptic[:, i] - means * mask * eligibility.bias[:, i, None, None]
            of_bias = eligibility.bias[:, i] - np.tensordot(centred, means, axes=2)
            learned.synaptic[i] += eta * np.tensordot(signal, centred, axes=1)
            learned.somatic[i] += eta * np.tensordot(signal, eligibility.somatic[:, i], axes=1)
            learned.bias[i] += eta * (signal @ of_bias)
        self.weights = learned

    def _learn_at_once(self, spikes: Array, probability: Array, synaptic_trace: Array, somatic_trace: Array) -> None:
        """Learn from what the spikes of visible neurons cost or gain by themselves, without eligibility."""
        network, settings, K = self.network, self.objective.settings(), len(spikes)
        post = np.zeros_like(spikes)
        for k, i in np.ndindex(K, network.n_visible):
            p = probability[k, network.n_hidden + i]
            spike = float(spikes[k, network.n_hidden + i])
            post[k, network.n_hidden + i] = self.objective.at_once(settings, spike) * p * (1 - p)
        kept, self.eligibility = self.eligibility, Eligibility(*(np.zeros_like(array) for array in self.eligibility))
        self._remember(post, synaptic_trace, somatic_trace)
        self._learn(np.full((network.n_neurons, K), 1 / K))
        self.eligibility = kept

    def subtract_means(self, means: Array) -> None:
        self.means = means.copy()

    def take(self) -> tuple[Parameters, State]:
        kept = Kept(self.history, self.eligibility)
        memory = self.processor_memory.copy(), self.neuron_memory.copy(), self.objective_memory.copy()
        state = State("reference", self.network, self.dtype, self.time, self.log_weights, *memory, self.means, kept)
        return self.parameters(), state

    def parameters(self) -> Parameters:
        return self.weights.astype(self.dtype)

    @property
    def messages(self) -> Communication:
        return Communication(self.processor.reals_received, self.processor.reals_sent, self.processor.reals_sent_back)


def potentials(network: Network, parameters: Parameters, history: Array) -> tuple[Array, Array, Array]:
    """Membrane potentials (K, n) and the synaptic (K, n_sources, n_basis) and somatic (K, n, n_basis) traces."""
    synaptic_taps, somatic_taps = network.synaptic_filter.taps, network.somatic_filter.taps
    synaptic_trace = np.einsum("bd,dkj->kjb", synaptic_taps, history[: synaptic_taps.shape[1]])
    own_history = history[: somatic_taps.shape[1], :, network.n_inputs :]
    somatic_trace = np.einsum("bd,dki->kib", somatic_taps, own_history)
    u = (
        np.einsum("ijb,kjb->ki", parameters.synaptic, synaptic_trace)
        + np.einsum("ib,kib->ki", parameters.somatic, somatic_trace)
        + parameters.bias
    )
    return u, synaptic_trace, somatic_trace


def fire(network: Network, probability: Array, target_t: NDArray[Any] | None, uniforms_t: Array) -> Array:
    """(K, n_neurons) spikes: drawn, except for visible neurons that have a target."""
    if target_t is None:
        return spiking.sample(network.circuits, probability, uniforms_t).astype(np.float64)
    draws = np.ones_like(probability)
    draws[:, : network.n_hidden] = uniforms_t[:, : network.n_hidden]
    spikes = spiking.sample(network.circuits, probability, draws).astype(np.float64)
    spikes[:, network.n_hidden :] = target_t
    return spikes


def visible_log_probability(network: Network, u: Array, spikes: Array) -> Array:
    """(K, n_units): one column for each visible neuron or circuit."""
    shown = slice(network.n_hidden, None)
    return spiking.log_probability(network.circuits.visible, u[:, shown], spikes[:, shown])


class Batches:
    """Learns batches; see :class:`gemsnn.engine.protocol.Batches`."""

    def __init__(self, task: Task, parameters: Parameters, *, steps: int, threads: int) -> None:
        self._task, self._weights, self._dtype = task, parameters.astype(np.float64), parameters.dtype

    @property
    def parameters(self) -> Parameters:
        """In the precision of the given parameters."""
        return self._weights.astype(self._dtype)

    def learn(self, examples: Sequence[Example], means: Array) -> list[Info]:
        """Each example from the same weights; then w <- w + sum over the examples of what they changed."""
        before, infos = self._weights, []
        for number, example in enumerate(examples):
            learner = Learner(self._task._replace(rule=example.rule), before)
            learner.subtract_means(means)
            infos.append(learner.run(example.inputs, example.targets, example.draws.draw(len(example.targets))))
            if number == 0:
                self._weights = learner.weights.copy()
            else:
                for name in ("synaptic", "somatic", "bias"):
                    change = getattr(learner.weights, name) - getattr(before, name)
                    getattr(self._weights, name)[...] += change
        # Rounded to the precision in which they can be written to a file.
        self._weights = self.parameters.astype(np.float64)
        return infos


class Recording:
    """A recording that arrives step by step; see :class:`gemsnn.engine.protocol.Recording`."""

    def __init__(self, network: Network, weights: Parameters, n_compartments: int, draws: Draws, clamped: bool) -> None:
        self.network, self._weights, self._K = network, weights, n_compartments
        self._target = np.zeros(network.n_visible) if clamped else None  # silence, until there is a target
        self.spikes = np.zeros((n_compartments, network.n_neurons), dtype=bool)
        self.begin(draws)

    def begin(self, draws: Draws) -> None:
        self._draws = draws
        self._history = np.zeros((self.network.memory, self._K, self.network.n_sources))

    def step(self, inputs_t: NDArray[Any], target_t: NDArray[Any] | None = None) -> Step:
        u, _, _ = potentials(self.network, self._weights, self._history)
        probability = spiking.probability(self.network.circuits, u)
        self._target = self._target if target_t is None else target_t
        fired = fire(self.network, probability, self._target, self._draws.draw(1)[0])
        given = np.broadcast_to(inputs_t, (self._K, self.network.n_inputs))
        self._history = np.concatenate([np.concatenate([given, fired], axis=1)[None], self._history[:-1]])
        self.spikes = fired.astype(bool)
        return Step(self.spikes, u[:, self.network.n_hidden :])


class Running:
    """Runs without learning; see :class:`gemsnn.engine.protocol.Running`."""

    def __init__(self, network: Network, parameters: Parameters) -> None:
        self.network, self._weights = network, parameters.astype(np.float64)

    def simulate(
        self,
        inputs: Sequence[Inputs] | NDArray[Any],
        n_compartments: int,
        draws_of: Callable[[int], Draws],
        targets: NDArray[Any] | None = None,
        threads: int = 1,
    ) -> Simulation:
        """Run N inputs of T steps, one after the other."""
        network, given = self.network, [as_array(one, self.network.n_inputs) for one in inputs]
        shape = (len(given), n_steps(inputs), n_compartments)
        spikes, potential = np.zeros((*shape, network.n_neurons), dtype=bool), np.zeros((*shape, network.n_visible))
        for n, sequence in enumerate(given):
            recording = self.recording(n_compartments, draws_of(n), targets is not None)
            for t, inputs_t in enumerate(sequence):
                spikes[n, t], potential[n, t] = recording.step(inputs_t, None if targets is None else targets[n, t])
        return Simulation(spikes, potential)

    def recording(self, n_compartments: int, draws: Draws, clamped: bool = False) -> Recording:
        return Recording(self.network, self._weights, n_compartments, draws, clamped)


learner, batches, running = Learner, Batches, Running
"""See :class:`gemsnn.engine.protocol.Engine`."""

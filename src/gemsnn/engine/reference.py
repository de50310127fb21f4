r"""The paper in float64 NumPy: one step of learning, one equation a line. Slow, and the oracle of the other engine.

For every compartment k and neuron i, at step t:

    trace       a * s_j,  b * s_i      spikes up to t - 1 through the synaptic and the somatic filter
    potential   u_i^k = sum_j w_ji . (a * s_j)^k + w_i . (b * s_i)^k + bias_i                               (eq. 3)
    spike       h_i^k = 1 if uniform < sigmoid(u_i^k); visible neurons are clamped to x_i, or draw too      (eq. 1)
    loss        l = -log p(x_i | u_i^k)                                        visible neuron -> processor  (eq. 2)
    log-weight  v^k <- kappa v^k - sum_{i visible} l_i^k                                                    (eq. 9)
    importance  SoftMax over the compartments of v                                                          (eq. 10)
    signal      what the rule makes of these; GEM: the importance              processor -> every neuron
    eligibility e_i^k <- gamma e_i^k + post_i^k trace                          GEM: post = s_i^k - sigmoid(u_i^k)
    update      w <- w + eta sum_k signal_i^k e_i^k                                                         (eq. 11)

The paper prints a minus sign in eq. 11; the loss falls along the plus sign, which is also that of its eq. 12.

Mean-free traces, which the paper does not have: learning from the traces of the inputs less their means m, while the
weights go on multiplying the traces themselves. With centred coordinates u = w . (trace - m) + c, gradient steps move w
by the centred eligibility and c by that of the bias; the bias that belongs to them is c - w . m. So with e_w and e_b
the eligibilities of synapses and bias:

    centred     e_w - m e_b                                                    m is 0 for all other sources
    update      w <- w + eta sum_k signal^k (e_w - m e_b)^k
                bias <- bias + eta sum_k signal^k (e_b - m . (e_w - m e_b))^k
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from gemsnn.engine.kept import Declared, Kept
from gemsnn.engine.protocol import Info, Simulation, State, no_means
from gemsnn.engine.randomness import Draws
from gemsnn.model import Network, Parameters
from gemsnn.model import spikes as spiking
from gemsnn.rules import Communication, Rule

Array = NDArray[np.float64]


class Eligibility(NamedTuple):
    """Per compartment, one number for each parameter: (K, ...) before the parameter's own shape."""

    synaptic: Array
    somatic: Array
    bias: Array


class CentralProcessor:
    """Collects the losses of the visible neurons, sends learning signals to all neurons, and counts both."""

    def __init__(self) -> None:
        self.reals_received = 0
        self.reals_sent = 0
        self.reals_sent_back = 0  # from visible to hidden neurons, past the processor

    def collect(self, losses: list[Array], log_weights: Array, kappa: float) -> Array:
        """New log-weights, from one message of K losses from each visible neuron (or circuit)."""
        self.reals_received += sum(loss.size for loss in losses)
        return kappa * log_weights - sum(losses, np.zeros_like(log_weights))

    def send(self, signal: Array, message: Array) -> Array:
        """The learning signal of one neuron, for which the message has to travel."""
        self.reals_sent += message.size
        return signal


class Learner:
    """Learns step by step; see :class:`gemsnn.engine.protocol.Learner`."""

    def __init__(
        self, network: Network, parameters: Parameters, rule: Rule, n_compartments: int, state: State | None
    ) -> None:
        self.network, self.dtype, self.n_compartments = network, parameters.dtype, n_compartments
        self.weights = parameters.astype(np.float64)
        self.processor = CentralProcessor()
        self.restart(rule)
        if state is not None:
            self.time, self.log_weights = state.time, state.log_weights
            self.processor_memory, self.neuron_memory = state.processor_memory.copy(), state.neuron_memory.copy()
            self.means = state.means
            self.history = state.kept["history"]
            self.eligibility = Eligibility(*(state.kept[name] for name in Eligibility._fields))

    def restart(self, rule: Rule, steps: int | None = None) -> None:
        """Begin anew in silence, with the weights as they are."""
        network, K, n = self.network, self.n_compartments, self.network.n_neurons
        self.rule, self.time = rule, 0
        self.log_weights = np.zeros(K)
        self.means = no_means(network)
        self.processor_memory = np.zeros(rule.processor_memory(K))
        self.neuron_memory = np.zeros((network.n_hidden, rule.neuron_memory))
        self.history = np.zeros((network.memory, K, network.n_sources))  # the last steps, most recent first
        self.eligibility = Eligibility(
            synaptic=np.zeros((K, n, network.n_sources, network.synaptic_filter.n_basis)),
            somatic=np.zeros((K, n, network.somatic_filter.n_basis)),
            bias=np.zeros((K, n)),
        )

    def run(self, inputs: NDArray[Any], targets: NDArray[Any], uniforms: Array) -> Info:
        """T steps, one after the other; each uses the weights that the step before has learned."""
        infos = [self.step(*step) for step in zip(inputs, targets, uniforms, strict=True)]
        return Info(*(np.stack(values) for values in zip(*infos, strict=True)))

    def step(self, inputs_t: NDArray[Any], target_t: NDArray[Any] | None, uniforms_t: Array) -> Info:
        """One time step. With a target the visible neurons are clamped and the weights learn; without, all run freely.

        ``inputs_t`` (n_inputs,), ``target_t`` (n_visible,) or None, ``uniforms_t`` (K, n_hidden) or (K, n_neurons).
        """
        network, rule, K = self.network, self.rule, len(self.log_weights)
        n_hidden = network.n_hidden
        u, synaptic_trace, somatic_trace = potentials(network, self.weights, self.history)
        probability = spiking.probability(network.circuits, u)
        spikes = fire(network, probability, target_t, uniforms_t)
        log_probability = visible_log_probability(network, u, spikes)

        self.eligibility = Eligibility(*(rule.gamma * array for array in self.eligibility))
        self.log_weights = rule.kappa * self.log_weights
        if target_t is not None:
            losses = [-log_probability[:, i] for i in range(log_probability.shape[1])]
            self.log_weights = self.processor.collect(losses, self.log_weights, 1.0)
            post = spikes - probability
            signals = self._signals(spikes, post[:, n_hidden:])
            hidden_post = np.empty((n_hidden, K))
            rule.post(spikes[:, :n_hidden].T, probability[:, :n_hidden].T, hidden_post)
            post[:, :n_hidden] = hidden_post.T
            self._update(signals, post, synaptic_trace, somatic_trace)

        sources = np.concatenate([np.broadcast_to(inputs_t, (K, network.n_inputs)), spikes], axis=1)
        self.history = np.concatenate([sources[None], self.history[:-1]])
        self.time += 1
        likelihood = log_probability.sum(axis=1)
        return Info(spikes.astype(bool), likelihood, self.log_weights, softmax(self.log_weights))

    def _signals(self, spikes: Array, errors: Array) -> Array:
        """(n_neurons, K) learning signals, from what the processor sends and what comes back through synapses."""
        network, rule, K, n_hidden = self.network, self.rule, len(self.log_weights), self.network.n_hidden
        settings, visible, hidden = np.array(rule.numbers()), np.zeros(K), np.zeros(K)
        rule.broadcast(settings, self.log_weights, softmax(self.log_weights), self.processor_memory, visible, hidden)
        to_visible, to_hidden = rule.messages(visible, hidden)
        signals = np.empty((network.n_neurons, K))
        for i in range(network.n_neurons):
            signals[i] = (
                self.processor.send(hidden, to_hidden) if i < n_hidden else self.processor.send(visible, to_visible)
            )
        if rule.local is not None:
            onto_visible = slice(network.n_inputs, network.n_inputs + n_hidden)
            reach = self.weights.synaptic[n_hidden:, onto_visible].sum(axis=2).T  # (n_hidden, n_visible)
            self.processor.reals_sent_back += K * int(network.topology.mask[n_hidden:, onto_visible].sum())
            rule.local(
                settings, hidden, errors, np.ascontiguousarray(reach), spikes[:, :n_hidden].T.astype(bool),
                self.neuron_memory, signals[:n_hidden],
            )  # fmt: skip
        return signals

    def _update(self, signals: Array, post: Array, synaptic_trace: Array, somatic_trace: Array) -> None:
        network, eta = self.network, self.rule.learning_rate
        learned, eligibility = self.weights.copy(), self.eligibility
        of_neurons = np.zeros((network.n_neurons, self.means.shape[1]))
        means = np.concatenate([self.means, of_neurons])  # (n_sources, n_basis)
        for i in range(network.n_neurons):  # each neuron on its own: its post factor, its traces, its learning signal
            mask, signal = network.topology.mask[i, :, None], signals[i]
            eligibility.synaptic[:, i] += post[:, i, None, None] * synaptic_trace * mask
            eligibility.somatic[:, i] += post[:, i, None] * somatic_trace[:, i] * network.has_memory[i]
            eligibility.bias[:, i] += post[:, i]
            centred = eligibility.synaptic[:, i] - means * mask * eligibility.bias[:, i, None, None]
            of_bias = eligibility.bias[:, i] - np.tensordot(centred, means, axes=2)
            learned.synaptic[i] += eta * np.tensordot(signal, centred, axes=1)
            learned.somatic[i] += eta * np.tensordot(signal, eligibility.somatic[:, i], axes=1)
            learned.bias[i] += eta * (signal @ of_bias)
        self.weights = learned

    def take_off(self, means: Array) -> None:
        """From now on learn from the traces of the inputs less these means, (n_inputs, n_basis)."""
        self.means = means.copy()

    def take(self) -> tuple[Parameters, State]:
        """Parameters, in the precision that they came in, and state."""
        kept = {"history": self.history, **self.eligibility._asdict()}
        memory = self.processor_memory.copy(), self.neuron_memory.copy()
        state = State("reference", self.network, self.dtype, self.time, self.log_weights, *memory, kept, self.means)
        return self.parameters(), state

    def parameters(self) -> Parameters:
        """As they are now, in the precision that they came in."""
        return self.weights.astype(self.dtype)

    @property
    def messages(self) -> Communication:
        """Real numbers sent so far."""
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
    """(K, n_neurons) spikes: drawn, but for visible neurons that have a target."""
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


def learner(
    network: Network,
    parameters: Parameters,
    rule: Rule,
    n_compartments: int,
    *,
    state: State | None = None,
    free: bool = False,
    steps: int | None = None,
    overwrite: bool = False,
    threads: int = 1,
) -> Learner:
    """See :class:`gemsnn.engine.protocol.Engine`."""
    return Learner(network, parameters, rule, n_compartments, state)


def declared(network: Network, rule: Rule, n_compartments: int, state: State) -> Declared:
    """See :class:`gemsnn.engine.protocol.Engine`."""
    K, n = n_compartments, network.n_neurons
    return {
        "history": Kept((network.memory, K, network.n_sources), np.float64),
        "synaptic": Kept((K, n, network.n_sources, network.synaptic_filter.n_basis), np.float64),
        "somatic": Kept((K, n, network.somatic_filter.n_basis), np.float64),
        "bias": Kept((K, n), np.float64),
    }


def simulate(
    network: Network,
    parameters: Parameters,
    inputs: NDArray[Any],
    n_compartments: int,
    draws_of: Callable[[int], Draws],
    targets: NDArray[Any] | None = None,
    threads: int = 1,
) -> Simulation:
    """See :class:`gemsnn.engine.protocol.Engine`."""
    exact = parameters.astype(np.float64)
    steps = (*inputs.shape[:2], n_compartments)
    spikes, potential = np.zeros((*steps, network.n_neurons), dtype=bool), np.zeros((*steps, network.n_visible))
    for n, sequence in enumerate(inputs):
        uniforms = draws_of(n).draw(inputs.shape[1])
        history = np.zeros((network.memory, n_compartments, network.n_sources))
        for t, inputs_t in enumerate(sequence):
            u, _, _ = potentials(network, exact, history)
            target_t = None if targets is None else targets[n, t]
            fired = fire(network, spiking.probability(network.circuits, u), target_t, uniforms[t])
            spikes[n, t], potential[n, t] = fired, u[:, network.n_hidden :]
            given = np.broadcast_to(inputs_t, (n_compartments, network.n_inputs))
            history = np.concatenate([np.concatenate([given, fired], axis=1)[None], history[:-1]])
    return Simulation(spikes, potential)

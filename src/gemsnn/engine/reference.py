r"""The paper in float64 NumPy: one step of GEM-VLSNN, an equation a line. Slow, and the oracle of the other engine.

For every compartment k and neuron i, at step t:

    trace       a * s_j,  b * s_i      spikes up to t - 1 through the synaptic and the somatic filter
    potential   u_i^k = sum_j w_ji . (a * s_j)^k + w_i . (b * s_i)^k + bias_i                               (eq. 3)
    spike       h_i^k = 1 if uniform < sigmoid(u_i^k); visible neurons are clamped to x_i, or draw too      (eq. 1)
    loss        l = -log p(x_i | u_i^k)                                        visible neuron -> processor  (eq. 2)
    log-weight  v^k <- kappa v^k - sum_{i visible} l_i^k                                                    (eq. 9)
    importance  SoftMax over the compartments of v                             processor -> every neuron    (eq. 10)
    eligibility e_i^k <- gamma e_i^k + (s_i^k - sigmoid(u_i^k)) trace
    update      w <- w + eta sum_k importance^k e^k                                                         (eq. 11)

The paper prints a minus sign in eq. 11; the loss falls along the plus sign, which is also that of its eq. 12.

Not in the paper (``GEM.feedback``): a hidden neuron's learning signal becomes what its potential does to the visible
neurons' log-probability, spikes taken for their probability and one synapse far, and its factor in the eligibility the
derivative of its probability:

    signal      feedback importance^k sum_{c visible} (x_c - sigmoid(u_c^k)) sum_basis w_ic
    eligibility e_i^k <- gamma e_i^k + sigmoid'(u_i^k) trace
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, softmax

from gemsnn.engine.gem import GEM
from gemsnn.model import Network, Parameters

Array = NDArray[np.float64]


class Eligibility(NamedTuple):
    """Per compartment, one number for each parameter: (K, ...) before the parameter's own shape."""

    synaptic: Array
    somatic: Array
    bias: Array


class State(NamedTuple):
    """What the next step needs, besides the parameters. Everything is zero before the first step."""

    time: int
    history: Array  # (memory, K, n_sources): the spikes of the last steps, most recent first
    log_weights: Array  # (K,)
    eligibility: Eligibility


class Info(NamedTuple):
    """What one step is worth knowing for; with a leading T for a run."""

    spikes: NDArray[np.bool_]  # (K, n_neurons)
    log_likelihood: Array  # (K,): sum over visible neurons of log p(x_i | u_i^k)
    log_weights: Array  # (K,)
    importance: Array  # (K,)


class CentralProcessor:
    """Collects the losses of the visible neurons, sends importance weights to all neurons, and counts both."""

    def __init__(self) -> None:
        self.reals_received = 0
        self.reals_sent = 0
        self.reals_sent_back = 0  # from visible to hidden neurons, past the processor

    def collect(self, losses: list[Array], log_weights: Array, kappa: float) -> Array:
        """New log-weights from one message of K losses a visible neuron."""
        self.reals_received += sum(loss.size for loss in losses)
        return kappa * log_weights - sum(losses, np.zeros_like(log_weights))

    def send(self, importance: Array) -> Array:
        """One message of K importance weights, to one neuron."""
        self.reals_sent += importance.size
        return importance


def init(network: Network, n_compartments: int) -> State:
    """The state before the first step: silence."""
    K, n = n_compartments, network.n_neurons
    return State(
        time=0,
        history=np.zeros((network.memory, K, network.n_sources)),
        log_weights=np.zeros(K),
        eligibility=Eligibility(
            synaptic=np.zeros((K, n, network.n_sources, network.synaptic_filter.n_basis)),
            somatic=np.zeros((K, n, network.somatic_filter.n_basis)),
            bias=np.zeros((K, n)),
        ),
    )


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


def step(
    network: Network,
    parameters: Parameters,
    state: State,
    inputs_t: NDArray[Any],
    target_t: NDArray[Any] | None,
    uniforms_t: Array,
    rule: GEM,
    processor: CentralProcessor,
) -> tuple[Parameters, State, Info]:
    """One time step. With a target the visible neurons are clamped and the weights learn; without, all run freely.

    ``inputs_t`` (n_inputs,), ``target_t`` (n_visible,) or None, ``uniforms_t`` (K, n_hidden) or (K, n_neurons).
    """
    K, n_hidden, n_neurons = state.log_weights.size, network.n_hidden, network.n_neurons
    u, synaptic_trace, somatic_trace = potentials(network, parameters, state.history)
    probability = expit(u)

    spikes = np.empty((K, n_neurons))
    spikes[:, :n_hidden] = uniforms_t[:, :n_hidden] < probability[:, :n_hidden]
    spikes[:, n_hidden:] = uniforms_t[:, n_hidden:] < probability[:, n_hidden:] if target_t is None else target_t

    # log sigmoid(u) for a spike, log(1 - sigmoid(u)) = log sigmoid(-u) for none.
    log_probability = log_expit(np.where(spikes == 1, u, -u))[:, n_hidden:]
    eligibility = Eligibility(*(rule.gamma * array for array in state.eligibility))
    log_weights = rule.kappa * state.log_weights
    learned = parameters
    if target_t is not None:
        losses = [-log_probability[:, i] for i in range(network.n_visible)]
        log_weights = processor.collect(losses, state.log_weights, rule.kappa)
        importance = softmax(log_weights)

        synaptic, somatic, bias = parameters.synaptic.copy(), parameters.somatic.copy(), parameters.bias.copy()
        mask = network.topology.mask
        error = spikes - probability
        for i in range(n_neurons):  # each neuron on its own: its post factor, its traces, and its learning signal
            signal, post = processor.send(importance), error[:, i]
            if i < n_hidden and rule.feedback > 0:
                reach = parameters.synaptic[n_hidden:, network.n_inputs + i].sum(axis=1)  # (n_visible,)
                processor.reals_sent_back += K * int(mask[n_hidden:, network.n_inputs + i].sum())
                signal = rule.feedback * signal * (error[:, n_hidden:] @ reach)
                post = probability[:, i] * (1 - probability[:, i])
            elif i < n_hidden and rule.centred:
                signal = signal - 1 / K
            eligibility.synaptic[:, i] += post[:, None, None] * synaptic_trace * mask[i, :, None]
            eligibility.somatic[:, i] += post[:, None] * somatic_trace[:, i] * network.has_memory[i]
            eligibility.bias[:, i] += post
            synaptic[i] += rule.learning_rate * np.tensordot(signal, eligibility.synaptic[:, i], axes=1)
            somatic[i] += rule.learning_rate * np.tensordot(signal, eligibility.somatic[:, i], axes=1)
            bias[i] += rule.learning_rate * (signal @ eligibility.bias[:, i])
        learned = Parameters(synaptic, somatic, bias)

    sources = np.concatenate([np.broadcast_to(inputs_t, (K, network.n_inputs)), spikes], axis=1)
    history = np.concatenate([sources[None], state.history[:-1]])
    info = Info(spikes.astype(bool), log_probability.sum(axis=1), log_weights, softmax(log_weights))
    return learned, State(state.time + 1, history, log_weights, eligibility), info


def run(
    network: Network,
    parameters: Parameters,
    state: State,
    inputs: NDArray[Any],
    targets: NDArray[Any] | None,
    uniforms: Array,
    rule: GEM,
    processor: CentralProcessor,
) -> tuple[Parameters, State, Info]:
    """T steps, one after the other; each uses the weights that the step before has learned."""
    infos = []
    for t in range(len(inputs)):
        target_t = None if targets is None else targets[t]
        parameters, state, info = step(
            network,
            parameters,
            state,
            inputs[t],
            target_t,
            uniforms[t],
            rule,
            processor,
        )
        infos.append(info)
    return parameters, state, Info(*(np.stack(values) for values in zip(*infos, strict=True)))

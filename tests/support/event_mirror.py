r"""The event form in NumPy, to be read and stepped through: the same five points as the kernels, one matrix each.

Learning adds eta sum_k signal_{i,k,t} <post_{i,k} R_k>_gamma to the weights of neuron i at every step t. Unrolled over
the steps since the weights W_0 were written, with R_t^k the traces and m the means subtracted from those of inputs,

    u_{i,t}^k = bias_0 + W_0 . R_t^k + own_{i,t}^k + eta sum_{s<t, k'} a_{i,s}^{k'} (1 + (R_s^{k'} - m) . (R_t^k - m)),
    a_{i,s}^k = post_{i,s}^k sum_{r=s}^{t-1} gamma^(r-s) signal_{i,k,r}.

1. Drive: W_0 . R_t = sum_b F_b q_b, with q the rows of weights of the sources that spiked, F_b the filter as a matrix.
2. Scalar products: R_s . R_t = sum_b F_b C F_b^T, with C the number of sources that spiked at both of two steps.
3. Learning: a, and what it adds to the potentials.
4. The synapse that is not there: a neuron's scalar products contain its own trace. That synapse is learned virtually,
   from 0, and its drive is subtracted; self-memory is learned in the same way, and its drive is added.
5. Writing back: W_0 += sum over spikes of F_b^T (eta a).

Nothing is fast, nothing forgotten. ``test_event_mirror.py`` tests it against the reference, and the kernels against it.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from gemsnn.model import Network, Parameters
from gemsnn.model import spikes as spiking
from gemsnn.rules import Rule

Array = NDArray[Any]


class Step(NamedTuple):
    """All that one step has computed."""

    drive: Array  # (K, n)
    counts: list[Array]  # (t, K, t, K) for each population
    products: list[Array]  # (t, K', K) for each population: R_s^{k'} . R_t^k
    learned: Array  # (K, n)
    own: Array  # (K, n)
    potential: Array  # (K, n)
    spikes: Array  # (K, n) bool
    log_weights: Array  # (K,)
    signals: Array  # (n, K)
    a: Array  # (t + 1, K, n): after this step's learning


# ---- the five points, each for one population of sources; x (T, K, n_sources) are their spikes


def filter_matrix(taps: Array, n: int) -> Array:
    """F (n_basis, n + 1, n): the trace of step s sees the spike at step p by F[b, s, p], later steps' never."""
    lags = range(1, min(taps.shape[1], n) + 1)
    return sum((taps[:, lag - 1, None, None] * np.eye(n + 1, n, -lag) for lag in lags), np.zeros((len(taps), n + 1, n)))


def drive(taps: Array, weights: Array, x: Array) -> Array:
    """1. W_0 . R_s of every step s, the next one included: (T + 1, K, n), of weights (n, n_sources, n_basis)."""
    q = np.einsum("ijb,pkj->pkbi", weights, x, optimize=True)
    return np.einsum("bsp,pkbi->ski", filter_matrix(taps, len(x)), q, optimize=True)


def pair_counts(x: Array) -> Array:
    """2. How many sources spike in compartment k at p and in compartment l at q: (T, K, T, K)."""
    return np.einsum("pkj,qlj->pkql", x, x, optimize=True)


def products(taps: Array, counts: Array) -> Array:
    """2. R_s^k . R_r^l of any two steps, the next one included: (T + 1, K, T + 1, K)."""
    F = filter_matrix(taps, len(counts))
    return np.einsum("bsp,pkql,brq->skrl", F, counts, F, optimize=True)


def traces(taps: Array, x: Array) -> Array:
    """R of every step, the next one included: (T + 1, K, n_sources, n_basis)."""
    return np.einsum("bsp,pkj->skjb", filter_matrix(taps, len(x)), x, optimize=True)


def learned(rate: float, gram: Array, a: Array) -> Array:
    """3. eta sum_s a_s gram_s: (K, n), of gram (T, K', K, n) and a (T, K', n)."""
    return rate * np.einsum("smki,smi->ki", gram, a)


def written(taps: Array, x: Array, a: Array, mean: Array) -> Array:
    """5. sum_s a_s (R_s - mean), spike by spike: (n, n_sources, n_basis); a (T, K, n), mean (n_sources, n_basis)."""
    by_spike = np.einsum("bsp,ski->pkbi", filter_matrix(taps, len(x))[:, : len(x)], a, optimize=True)
    return np.einsum("pkj,pkbi->ijb", x, by_spike, optimize=True) - a.sum((0, 1))[:, None, None] * mean


def populations(network: Network) -> list[tuple[Array, Array]]:
    """Sources with the same targets, but for a synapse to itself (point 4), and which neurons these are, (n,) bool."""
    given, first, n = network.topology.mask, network.n_inputs, network.n_neurons
    with_own, groups = given.copy(), {}
    with_own[:, first:] |= np.eye(n, dtype=bool)
    for j in range(network.n_sources):
        shared = j >= first and (with_own[:, first:] == with_own[:, j, None]).all(axis=0).sum() > 1
        targets = with_own[:, j] if shared else given[:, j]
        groups.setdefault((j < first, targets.tobytes()), ([], targets))[0].append(j)
    return [(np.array(sources), targets) for sources, targets in groups.values()]


class EventMirror:
    """All points, step by step; ``window`` is the number of steps after which the weights are written."""

    def __init__(
        self, network: Network, parameters: Parameters, rule: Rule, K: int, means: Array | None = None, window: int = 99
    ) -> None:
        n, n_inputs = network.n_neurons, network.n_inputs
        self.network, self.rule, self.K, self.window = network, rule, K, window
        self.taps, self.soma = network.synaptic_filter.taps, network.somatic_filter.taps
        self.populations = populations(network)
        self.synaptic, self.somatic, self.bias = (np.array(array) for array in vars(parameters).values())
        self.mean = np.zeros((network.n_sources, len(self.taps)))  # of the inputs; 0 for all other sources
        self.mean[:n_inputs] = 0 if means is None else means
        has_own = np.array([any(n_inputs + i in group and to[i] for group, to in self.populations) for i in range(n)])
        self.x = np.zeros((0, K, network.n_sources))
        self.post, self.a = np.zeros((2, 0, K, n))  # post: with what is left of it by gamma
        self.log_weights = np.zeros(K)
        self.processor_memory = np.zeros(rule.processor_memory(K))
        self.neuron_memory = np.zeros((network.n_hidden, rule.neuron_memory))
        self.virtual = np.zeros((n, len(self.taps)))
        self.direct = [  # weights, their eligibility (K, n, n_basis), and where they exist
            (self.somatic, np.zeros((K, *self.somatic.shape)), network.has_memory),
            (self.virtual, np.zeros((K, *self.virtual.shape)), has_own),
        ]

    def step(self, inputs_t: Array, target_t: Array | None, uniforms_t: Array) -> Step:
        """One step, clamped where there is a target; ``uniforms_t`` is (K, n_neurons)."""
        network, x, t, first = self.network, self.x, len(self.x), self.network.n_inputs
        driven, gram = np.zeros((self.K, network.n_neurons)), np.ones((t, self.K, self.K, network.n_neurons))
        counts, all_products = [], []
        for sources, feeds in self.populations:
            driven += drive(self.taps, self.synaptic[:, sources], x[:, :, sources])[t]  # 1.
            counts.append(pair_counts(x[:, :, sources]))  # 2.
            all_products.append(products(self.taps, counts[-1])[:t, :, t])
            mean = self.mean[sources]
            trace = np.einsum("skjb,jb->sk", traces(self.taps, x[:, :, sources]), mean)
            centred = all_products[-1] - trace[:t, :, None] - trace[t] + (mean * mean).sum()
            gram += centred[..., None] * feeds
        more = learned(self.rule.learning_rate, gram, self.a)  # 3.
        own_trace, somatic_trace = (traces(taps, x[:, :, first:])[t] for taps in (self.taps, self.soma))  # 4.
        own = (self.somatic * somatic_trace).sum(axis=2) - (self.virtual * own_trace).sum(axis=2)
        potential = self.bias + driven + own + more
        probability = spiking.probability(network.circuits, potential)
        spikes = spiking.sample(network.circuits, probability, uniforms_t).astype(np.float64)
        if target_t is not None:
            spikes[:, network.n_hidden :] = target_t
        signals = self._learn(spikes, probability, potential, target_t is not None, somatic_trace, own_trace)
        self.x = np.concatenate([x, np.hstack([np.broadcast_to(inputs_t, (self.K, first)), spikes])[None]])
        a, fired = self.a.copy(), spikes != 0
        found = Step(driven, counts, all_products, more, own, potential, fired, self.log_weights, signals, a)
        if (t + 1) % self.window == 0:
            self.write()
        return found

    def _learn(self, spikes: Array, probability: Array, u: Array, clamped: bool, *own_traces: Array) -> Array:
        """3. and 4.: a, self-memory and the synapse that is not there; the learning signals (n, K)."""
        rule, n_hidden = self.rule, self.network.n_hidden
        self.log_weights = rule.kappa * self.log_weights
        post, signals = np.zeros_like(probability), np.zeros(probability.T.shape)
        if clamped:
            units = self.network.circuits.visible
            self.log_weights += spiking.log_probability(units, u[:, n_hidden:], spikes[:, n_hidden:]).sum(axis=1)
            post = spikes - probability
            signals = self._signals(spikes.astype(bool), post[:, n_hidden:])
            for k, i in np.ndindex(self.K, n_hidden):
                post[k, i] = rule.post(float(spikes[k, i]), float(probability[k, i]))
        self.post = np.concatenate([rule.gamma * self.post, post[None]])
        self.a = np.concatenate([self.a, np.zeros((1, *post.shape))]) + signals.T * self.post
        for (weights, eligibility, exists), trace in zip(self.direct, own_traces, strict=True):
            eligibility[:] = rule.gamma * eligibility + post[:, :, None] * trace * exists[:, None]
            weights += rule.learning_rate * np.einsum("ik,kib->ib", signals, eligibility)
        return signals

    def _signals(self, fired: Array, errors: Array) -> Array:
        """The rule's, for its importance weights, and for the reach that the weights have now."""
        rule, n_hidden, settings = self.rule, self.network.n_hidden, self.rule.settings()
        visible, hidden = np.zeros((2, self.K))
        rule.broadcast(settings, self.log_weights, softmax(self.log_weights), self.processor_memory, visible, hidden)
        signals = np.concatenate([np.tile(hidden, (n_hidden, 1)), np.tile(visible, (len(self.bias) - n_hidden, 1))])
        if rule.local is not None:
            reach = self.parameters().synaptic[n_hidden:, self.network.n_inputs :][:, :n_hidden].sum(axis=2).T
            for i in range(n_hidden):
                rule.local(settings, hidden, errors, reach[i], fired[:, i], self.neuron_memory[i], signals[i])
        return signals

    def parameters(self) -> Parameters:
        """5. The weights with all that was learned since they were written."""
        synaptic, bias, rate = self.synaptic.copy(), self.bias.copy(), self.rule.learning_rate
        for sources, feeds in self.populations:
            mean = self.mean[sources]
            change = rate * feeds[:, None, None] * written(self.taps, self.x[:, :, sources], self.a, mean)
            synaptic[:, sources] += change
            bias -= (change * mean).sum((1, 2))
        bias += rate * self.a.sum((0, 1))
        return Parameters(synaptic * self.network.topology.mask[:, :, None], self.somatic.copy(), bias)

    def write(self) -> None:
        """5. What was learned becomes part of W_0; a begins anew, the eligibility (``post``) stays."""
        self.synaptic, _, self.bias = vars(self.parameters()).values()
        self.a[:] = self.virtual[:] = 0

"""GEM-VLSNN as a competent user would write it in vectorised PyTorch: the yardstick of ``bench_engine.py``.

All compartments live in one tensor, with the full eligibility (K, n_neurons, n_basis * n_sources). The mathematics is
that of gemsnn, to rounding (``tests/benchmarks``). ``learn`` comes in two forms:

in place
    The fastest of the formulations tried. Nothing is allocated in the loop over time; the eligibility is read and
    written once by rank-one updates (``addr_`` a compartment: faster than one ``baddbmm_``, and than ``mul_`` followed
    by ``addcmul_``), and read once more by one matrix-vector product that adds to the weights.
plain
    The same, with the two expensive lines written as the formula reads,
    ``eligibility = gamma * eligibility + error * trace`` and a weighted sum, so that every step allocates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import logsigmoid, pad

from gemsnn import GEM, Network, Parameters


class Learned(NamedTuple):
    parameters: Parameters
    hidden: Tensor  # (T, K, n_hidden)
    log_likelihood: Tensor  # (T, K)
    importance: Tensor  # (T, K)


def filtered(spikes: Tensor, taps: Tensor) -> Tensor:
    """Traces (..., T, n_basis, n) of spikes (..., T, n); row t sees the spikes before t."""
    T, duration = spikes.shape[-2], taps.shape[1]
    past = pad(spikes, (0, 0, duration, 0)).unfold(-2, duration, 1)[
        ..., :T, :, :
    ]  # (..., T, n, duration), oldest first
    return torch.einsum("...tjd,bd->...tbj", past, taps.flip(1))


@torch.inference_mode()
def learn(
    network: Network,
    parameters: Parameters,
    rule: GEM,
    inputs: np.ndarray,
    targets: np.ndarray,
    n_compartments: int = 1,
    uniforms: np.ndarray | None = None,
    *,
    in_place: bool = True,
) -> Learned:
    """Learn from one sequence, as ``gemsnn.learn`` does; float32 or float64 after the parameters."""
    K, T, n_inputs, n_hidden, n = n_compartments, len(inputs), network.n_inputs, network.n_hidden, network.n_neurons
    dtype = torch.float32 if parameters.dtype == np.float32 else torch.float64
    eta, kappa, gamma = rule.learning_rate, rule.kappa, rule.gamma
    synaptic_taps, somatic_taps = (
        torch.tensor(bank.taps, dtype=dtype) for bank in (network.synaptic_filter, network.somatic_filter)
    )
    n_basis, n_basis_somatic = len(synaptic_taps), len(somatic_taps)
    same_filter = network.synaptic_filter == network.somatic_filter
    duration = network.memory

    # Sources that feed nobody are left out. Columns: basis by basis, inputs then neurons.
    n_sources = network.n_sources if network.topology.mask[:, n_inputs + n_hidden :].any() else n_inputs + n_hidden
    n_recurrent = n_sources - n_inputs
    weights = torch.from_numpy(parameters.synaptic[:, :n_sources]).permute(0, 2, 1).reshape(n, -1).clone()
    absent = torch.from_numpy(~network.topology.mask[:, :n_sources])[:, None].expand(n, n_basis, n_sources)
    absent = absent.reshape(-1).nonzero()[:, 0]
    # Self-memory and bias together: the bias is a weight whose trace is always 1.
    own = torch.cat([torch.from_numpy(parameters.somatic.T), torch.from_numpy(parameters.bias)[None]])
    memory = torch.from_numpy(network.has_memory)

    eligibility = torch.zeros(K, n, weights.shape[1], dtype=dtype)
    own_eligibility = torch.zeros(K, n_basis_somatic + 1, n, dtype=dtype)
    trace = torch.empty(K, n_basis, n_sources, dtype=dtype)
    own_trace = torch.ones(K, n_basis_somatic + 1, n, dtype=dtype)
    log_weights = torch.zeros(K, dtype=dtype)
    log_likelihood, importance = torch.empty(T, K, dtype=dtype), torch.empty(T, K, dtype=dtype)

    input_trace = filtered(torch.from_numpy(inputs).to(dtype), synaptic_taps)  # (T, n_basis, n_inputs)
    target = torch.from_numpy(targets).to(dtype)
    sign = 2 * target - 1
    spikes = torch.zeros(duration + T, K, n, dtype=dtype)  # rows before the first step are silent
    spikes[duration:, :, n_hidden:] = target[:, None]
    draws = torch.rand(T, K, n_hidden, dtype=dtype) if uniforms is None else torch.from_numpy(uniforms)
    synaptic_taps, somatic_taps = (  # oldest first, over the rows of ``spikes`` that a step sees
        pad(taps.flip(1), (duration - taps.shape[1], 0)) for taps in (synaptic_taps, somatic_taps)
    )

    for t in range(T):
        past = spikes[t : t + duration].view(duration, K * n)
        synaptic_trace = (synaptic_taps @ past).view(n_basis, K, n).transpose(0, 1)
        somatic_trace = (
            synaptic_trace if same_filter else (somatic_taps @ past).view(n_basis_somatic, K, n).transpose(0, 1)
        )
        trace[:, :, :n_inputs] = input_trace[t]
        trace[:, :, n_inputs:] = synaptic_trace[:, :, :n_recurrent]
        own_trace[:, :n_basis_somatic] = somatic_trace
        flat_trace = trace.view(K, -1)

        potential = torch.addmm((own * own_trace).sum(1), flat_trace, weights.t())
        probability = potential.sigmoid()
        spike = spikes[duration + t]
        spike[:, :n_hidden] = draws[t] < probability[:, :n_hidden]
        error = spike - probability

        log_likelihood[t] = logsigmoid(sign[t] * potential[:, n_hidden:]).sum(1)
        log_weights = kappa * log_weights + log_likelihood[t]
        signal = torch.softmax(log_weights, 0, out=importance[t])

        own_eligibility.mul_(gamma).addcmul_(error[:, None], own_trace)
        change = (signal @ own_eligibility.view(K, -1)).view_as(own)
        change[:-1] *= memory
        own.add_(change, alpha=eta)
        if in_place:
            for k in range(K):
                eligibility[k].addr_(error[k], flat_trace[k], beta=gamma)
            weights.view(-1).addmv_(eligibility.view(K, -1).t(), signal, alpha=eta)
        else:
            eligibility = gamma * eligibility + error[:, :, None] * flat_trace[:, None, :]
            weights = weights + eta * torch.einsum("k,kic->ic", signal, eligibility)
        weights.view(-1)[absent] = 0

    synaptic = parameters.synaptic.copy()
    synaptic[:, :n_sources] = weights.view(n, n_basis, n_sources).permute(0, 2, 1).numpy()
    learned = Parameters(synaptic, own[:-1].t().contiguous().numpy(), own[-1].numpy())
    return Learned(learned, spikes[duration:, :, :n_hidden], log_likelihood, importance)


@torch.inference_mode()
def visible_counts(
    network: Network,
    parameters: Parameters,
    inputs: np.ndarray,
    n_compartments: int = 1,
    uniforms: np.ndarray | None = None,
) -> Tensor:
    """Run (N, T, n_inputs) sequences freely, all N * K rows in one tensor; spikes a visible neuron, (N, K, n_visible).

    The exogenous drive is computed once an example. The last ``duration`` steps' spikes lie in a ring, so that nothing
    is shifted: the taps turn instead.
    """
    (N, T, _), K = inputs.shape, n_compartments
    n_inputs, n_hidden, n = network.n_inputs, network.n_hidden, network.n_neurons
    dtype = torch.float32 if parameters.dtype == np.float32 else torch.float64
    synaptic_taps, somatic_taps = (
        torch.tensor(bank.taps, dtype=dtype) for bank in (network.synaptic_filter, network.somatic_filter)
    )
    duration, rows = network.memory, N * K
    taps = torch.cat([pad(bank, (0, duration - bank.shape[1])) for bank in (synaptic_taps, somatic_taps)])
    n_basis = len(synaptic_taps)

    synaptic = torch.from_numpy(parameters.synaptic)
    exogenous = synaptic[:, :n_inputs].permute(2, 1, 0).reshape(-1, n)  # (n_basis * n_inputs, n)
    drive = torch.from_numpy(parameters.bias).repeat(T, N, 1)
    for example in range(N):  # one at a time: the traces of all together would take n_basis times the inputs' memory
        traces = filtered(torch.from_numpy(inputs[example]).to(dtype), synaptic_taps)
        drive[:, example].addmm_(traces.reshape(T, -1), exogenous)
    recurrent = synaptic[:, n_inputs:].permute(2, 1, 0).contiguous()  # (n_basis, n, n)
    somatic = torch.from_numpy(parameters.somatic).t()
    if network.synaptic_filter == network.somatic_filter:  # self-memory is then the diagonal of the recurrent weights
        taps = taps[:n_basis]
        recurrent.diagonal(dim1=1, dim2=2).add_(somatic)

    ring = torch.zeros(duration, rows, n, dtype=dtype)
    trace = torch.empty(len(taps), rows * n, dtype=dtype)
    potential, draws = torch.empty(rows, n, dtype=dtype), torch.empty(rows, n, dtype=dtype)
    counts = torch.zeros(rows, network.n_visible, dtype=dtype)
    for t in range(T):
        # Slot s holds step t - lag, with lag = (t - 1 - s) % duration + 1.
        turned = taps[:, (t - 1 - torch.arange(duration)) % duration]
        torch.mm(turned, ring.view(duration, -1), out=trace)
        basis = trace.view(len(taps), rows, n)
        potential.view(N, K, n).copy_(drive[t][:, None])
        for b in range(n_basis):
            potential.addmm_(basis[b], recurrent[b])
        for b in range(n_basis, len(taps)):
            potential.addcmul_(basis[b], somatic[b - n_basis])
        if uniforms is None:
            draws.uniform_()
        else:
            draws.copy_(torch.from_numpy(uniforms[:, t]).reshape(rows, n))
        spike = ring[t % duration]
        torch.lt(draws, potential.sigmoid_(), out=spike)
        counts += spike[:, n_hidden:]
    return counts.view(N, K, -1)


def predict(
    network: Network, parameters: Parameters, inputs: np.ndarray, n_compartments: int, batch: int
) -> tuple[Tensor, Tensor]:
    """Votes (N, n_visible) of the compartments and the winning class (N,), ``batch`` sequences at a time."""
    parts = [
        visible_counts(network, parameters, inputs[first : first + batch], n_compartments)
        for first in range(0, len(inputs), batch)
    ]
    return vote(torch.cat(parts))


def vote(counts: Tensor) -> tuple[Tensor, Tensor]:
    """Votes (N, n_visible) and class (N,) from counts (N, K, n_visible); ties: more spikes, then lower index."""
    choice = counts.argmax(-1)  # (N, K)
    votes = (choice[..., None] == torch.arange(counts.shape[-1])).sum(1)
    leading = votes == votes.amax(-1, keepdim=True)
    return votes, torch.where(leading, counts.sum(1), -1).argmax(-1)

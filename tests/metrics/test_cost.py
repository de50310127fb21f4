"""What a network costs: counted by hand, and by NeuroBench itself where it is installed."""

import importlib.util

import numpy as np
import pytest
from problems import random_parameters

import gemsnn
from gemsnn.metrics import network_cost, step_cost

N_INPUTS, N_HIDDEN, N_VISIBLE, T = 6, 5, 3, 12
NETWORK = gemsnn.Network(gemsnn.Topology.random(N_INPUTS, N_HIDDEN, N_VISIBLE, 0.6, seed=1), gemsnn.RaisedCosine(2, 5))
PARAMETERS = random_parameters(NETWORK, np.random.default_rng(2)).astype(np.float32)
INPUTS = np.random.default_rng(0).integers(0, 2, (4, T, N_INPUTS)).astype(np.uint8)
SPIKES = gemsnn.sample(NETWORK, PARAMETERS, INPUTS, 3, seed=1)


def test_parameters_are_those_that_the_graph_has():
    cost, n = network_cost(NETWORK, PARAMETERS), N_HIDDEN + N_VISIBLE
    assert cost.parameter_count == 2 * NETWORK.topology.n_synapses + 3 * n + n
    assert cost.footprint == 4 * (2 * n * (N_INPUTS + n) + 3 * n + n + 2 * 5 + 3 * 10)
    assert cost.connection_sparsity == pytest.approx(1 - NETWORK.topology.n_synapses / (n * (N_INPUTS + n)))
    without = gemsnn.Network(NETWORK.topology, NETWORK.synaptic_filter, visible_memory=False)
    assert network_cost(without, without.init()).parameter_count == cost.parameter_count - 3 * N_VISIBLE


def test_operations_are_those_of_the_spikes_one_by_one():
    found = step_cost(NETWORK, INPUTS, SPIKES)
    out = NETWORK.topology.mask.sum(axis=0)
    for n, t in np.ndindex(4, T):
        of_inputs = sum(2 * out[j] for j in range(N_INPUTS) if INPUTS[n, t, j])
        of_neurons = sum(2 * out[N_INPUTS + i] for k in range(3) for i in range(8) if SPIKES[n, t, k, i])
        assert found.effective_acs[n, t] == of_inputs + of_neurons
        assert found.spikes[n, t] == SPIKES[n, t].sum()
    assert (found.dense, found.activations, found.membrane_updates) == (2 * 8 * (N_INPUTS + 3 * 8), 24, 24)
    clamped = step_cost(NETWORK, INPUTS, SPIKES, drawn=N_HIDDEN)
    assert clamped.activations == 3 * N_HIDDEN
    np.testing.assert_array_equal(clamped.spikes, SPIKES[..., :N_HIDDEN].sum(axis=(2, 3)))
    np.testing.assert_array_equal(clamped.effective_acs, found.effective_acs)


@pytest.mark.skipif(importlib.util.find_spec("neurobench") is None, reason="neurobench is not installed")
@pytest.mark.filterwarnings("default")
def test_they_are_what_neurobench_counts():
    """Of the same network in PyTorch: one layer of synapses, the filters in the neurons, one compartment."""
    import torch
    from neurobench.benchmarks import Benchmark
    from neurobench.metrics.static import ConnectionSparsity, Footprint, ParameterCount
    from neurobench.metrics.workload import ActivationSparsity, MembraneUpdates, SynapticOperations
    from neurobench.models import SNNTorchModel
    from snntorch import SpikingNeuron
    from torch.utils.data import DataLoader, TensorDataset

    n, spikes = N_HIDDEN + N_VISIBLE, torch.tensor(SPIKES[:, :, 0].astype(np.float32))

    class Neurons(SpikingNeuron):
        """Filters, self-memory, biases; spikes are those that gemsnn drew, so that both count the same ones."""

        def __init__(self):
            super().__init__(init_hidden=True)
            self.somatic = torch.nn.Parameter(torch.tensor(PARAMETERS.somatic))
            self.bias = torch.nn.Parameter(torch.tensor(PARAMETERS.bias))
            self.mem = torch.zeros(1)
            self.restart()

        def restart(self):
            self.step, self.q = 0, []

        def forward(self, q):
            self.q.append(q.reshape(len(q), 2, n))
            self.mem = self.mem + 1  # every potential is computed anew
            fired = spikes[:, self.step]
            self.step += 1
            return fired

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.synapses = torch.nn.Linear(N_INPUTS + n, 2 * n, bias=False)
            by_source = PARAMETERS.synaptic.transpose(2, 0, 1).reshape(2 * n, N_INPUTS + n)
            self.synapses.weight.data = torch.tensor(np.ascontiguousarray(by_source))
            self.neurons = Neurons()

        def reset(self):
            self.before = torch.zeros(len(spikes), n)
            self.neurons.mem = torch.zeros(len(spikes), n)
            self.neurons.restart()

        def forward(self, inputs):
            fired = self.neurons(self.synapses(torch.cat([inputs, self.before], dim=1)))
            self.before = fired
            return fired, None

    given = TensorDataset(torch.tensor(INPUTS.astype(np.float32)), torch.zeros(4))
    static = [Footprint, ParameterCount, ConnectionSparsity]
    workload = [ActivationSparsity, SynapticOperations, MembraneUpdates]
    model = SNNTorchModel(Net())
    found = Benchmark(model, DataLoader(given, batch_size=4), [], [], [static, workload]).run(quiet=True)

    cost, steps = network_cost(NETWORK, PARAMETERS), step_cost(NETWORK, INPUTS, SPIKES[:, :, :1])
    assert found["ConnectionSparsity"] == pytest.approx(cost.connection_sparsity, abs=1e-4)  # it rounds
    zeros = int((PARAMETERS.synaptic == 0).sum())
    assert found["ParameterCount"] == cost.parameter_count + zeros  # it counts what a layer holds
    buffers = sum(buffer.numel() * buffer.element_size() for buffer in model.__net__().buffers())
    taps = NETWORK.synaptic_filter.taps.size + NETWORK.somatic_filter.taps.size
    assert found["Footprint"] - buffers == cost.footprint - 4 * taps  # its buffers are the state of snnTorch's neurons
    assert found["ActivationSparsity"] == pytest.approx(1 - steps.spikes.sum() / (4 * T * steps.activations))
    # The layer takes the neurons' spikes a step later: those of the last step are not used.
    last = SPIKES[:, -1, 0] @ (2 * NETWORK.topology.mask.sum(axis=0)[N_INPUTS:])
    operations = found["SynapticOperations"]
    assert operations["Effective_ACs"] == (steps.effective_acs.sum() - last.sum()) / 4
    assert operations["Effective_MACs"] == 0
    assert operations["Dense"] == T * steps.dense
    assert found["MembraneUpdates"] == T * steps.membrane_updates

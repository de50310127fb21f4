"""Each update is eta times the negative gradient of the discounted loss, found by finite differences.

At step t, with the spikes and the importance weights held fixed, the loss is

    L(delta) = sum_k importance_k sum_{s <= t} gamma^(t-s) sum_i l(s_i^k, sigmoid(u_i^k)),

where the potentials of step s are computed with the weights that step s used, all shifted by delta.
"""

import exact
import numpy as np
import pytest
from problems import random_parameters

import gemsnn

STEP = 1e-4


def trajectory(network, parameters, rule, inputs, targets, K, engine):
    """Parameters before each step and after the last, and the step infos."""
    stream = gemsnn.Stream(network, parameters, rule, K, seed=11, engine=engine)
    states, infos = [stream.parameters], []
    for input_t, target_t in zip(inputs, targets, strict=True):
        infos.append(stream.step(input_t, target_t))
        states.append(stream.parameters)
    return states, infos


def discounted_loss(network, states, spikes, importance, gamma, t, shifted):
    """L, with ``shifted(parameters)`` in place of the parameters of every step."""
    loss = 0.0
    for weight, train in zip(importance, spikes, strict=True):
        for s in range(t + 1):
            parameters = shifted(states[s])
            for i in range(network.n_neurons):
                u = exact.potential(network, parameters, train, i, s)
                loss -= weight * gamma ** (t - s) * exact.log_bernoulli(train[s][network.n_inputs + i], u)
    return loss


@pytest.mark.parametrize("engine", ["reference", "compiled"])
@pytest.mark.parametrize(("gamma", "kappa", "density"), [(0.8, 0.9, 1.0), (1.0, 1.0, 0.6), (0.3, 0.5, 0.6)])
def test_every_update_descends_the_discounted_loss(engine, gamma, kappa, density):
    network = gemsnn.Network(
        gemsnn.Topology.random(2, 2, 2, density, seed=1),
        gemsnn.Filter([[0.6, 0.3], [-0.2, 0.9]]),
        gemsnn.Filter([[0.5, 0.3, 0.2]]),
    )
    rng = np.random.default_rng(0)
    parameters = random_parameters(network, rng)
    T, K, eta = 4, 3, 0.05
    inputs, targets = rng.integers(0, 2, (T, 2)), rng.integers(0, 2, (T, 2))
    states, infos = trajectory(network, parameters, gemsnn.GEM(eta, kappa, gamma), inputs, targets, K, engine)
    spikes = [exact.sources(inputs, [info.spikes[k, :2] for info in infos], targets) for k in range(K)]

    for t in (0, T - 1):
        importance = infos[t].importance
        for name in ("synaptic", "somatic", "bias"):
            update = getattr(states[t + 1], name) - getattr(states[t], name)
            exists = np.broadcast_to(network.topology.mask[:, :, None], update.shape) if name == "synaptic" else None
            for place in np.ndindex(*update.shape):
                if exists is not None and not exists[place]:
                    assert update[place] == 0
                    continue

                def shift(p, size, name=name, place=place):
                    moved = p.copy()
                    getattr(moved, name)[place] += size
                    return moved

                high, low = (
                    discounted_loss(network, states, spikes, importance, gamma, t, lambda p, size=size: shift(p, size))
                    for size in (STEP, -STEP)
                )
                gradient = (high - low) / (2 * STEP)
                # Central differences are off by about STEP^2; a wrong sign, decay or lag is off by the update itself.
                assert update[place] == pytest.approx(-eta * gradient, abs=2e-8 * eta), (name, place, t)
            if t:
                assert np.abs(update).max() > 1e-4  # there was something to compare


def test_repeated_learning_lowers_the_exact_loss_of_what_is_learned():
    network = gemsnn.Network(gemsnn.Topology.random(2, 2, 1, 1.0), gemsnn.RaisedCosine(2, 3), gemsnn.RaisedCosine(1, 3))
    parameters = network.init(seed=0, dtype=np.float64)
    inputs, targets = np.array([[1, 0], [0, 1], [1, 1]]), np.array([[1], [0], [1]])
    before = exact.log_likelihood(network, parameters, inputs, targets)
    for example in range(200):
        parameters = gemsnn.learn(
            network, parameters, gemsnn.GEM(learning_rate=0.02), inputs, targets, 5, example=example
        ).parameters
    assert exact.log_likelihood(network, parameters, inputs, targets) > before + 0.5

"""Centred importance weights: the same gradient on average, less noise."""

from __future__ import annotations

import numpy as np
import pytest
from problems import make_problem
from scipy.special import expit

import gemsnn

NETWORK = gemsnn.Network.fully_connected(n_inputs=3, n_hidden=4, n_visible=2)


@pytest.mark.parametrize("engine", ["reference", "compiled"])
def test_one_compartment_leaves_hidden_neurons_alone_and_visible_ones_as_they_were(engine: str) -> None:
    problem = make_problem(NETWORK, gemsnn.GEM(0.05, centred=True), T=12, K=1)
    learned = problem.learn(engine).parameters
    np.testing.assert_allclose(learned.synaptic[:4], problem.parameters.synaptic[:4], rtol=0, atol=1e-15)
    np.testing.assert_allclose(learned.bias[:4], problem.parameters.bias[:4], rtol=0, atol=1e-15)
    assert np.abs(learned.synaptic[4:] - problem.parameters.synaptic[4:]).max() > 1e-4


def test_takes_the_mean_eligibility_off_the_first_update() -> None:
    """After one step the eligibility is error times trace; for the bias, error alone."""
    plain = make_problem(NETWORK, gemsnn.GEM(0.05), T=1, K=5)
    centred = make_problem(NETWORK, gemsnn.GEM(0.05, centred=True), T=1, K=5)
    uniforms = plain.uniforms(4)
    before, after = (problem.learn("reference", uniforms=uniforms) for problem in (plain, centred))
    error = (uniforms[0] < expit(plain.parameters.bias[:4])) - expit(plain.parameters.bias[:4])  # (K, n_hidden)
    np.testing.assert_allclose(
        after.parameters.bias[:4], before.parameters.bias[:4] - 0.05 * error.mean(axis=0), rtol=0, atol=1e-15
    )
    np.testing.assert_array_equal(after.parameters.bias[4:], before.parameters.bias[4:])


def test_keeps_the_mean_of_the_hidden_update_and_shrinks_its_spread() -> None:
    """Over many draws: means agree within 4.5 standard errors (false alarm below 1e-4 over 12 weights)."""
    changes = {}
    for centred in (False, True):
        problem = make_problem(NETWORK, gemsnn.GEM(1e-3, centred=centred), T=6, K=4)
        changes[centred] = np.array(
            [
                (problem.learn("compiled", seed=seed).parameters.synaptic - problem.parameters.synaptic)[:4, :3, 0]
                for seed in range(4000)
            ]
        )
    error = np.hypot(*(change.std(axis=0) / np.sqrt(len(change)) for change in changes.values()))
    assert (np.abs(changes[True].mean(axis=0) - changes[False].mean(axis=0)) < 4.5 * error + 1e-12).all()
    assert changes[True].std(axis=0).sum() < 0.8 * changes[False].std(axis=0).sum()

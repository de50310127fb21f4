"""Sequences of different lengths, in a list: each is answered as if alone, in the given order."""

import numpy as np
import pytest
from problems import make_problem

import gemsnn
from gemsnn import DataError, ShapeError

NETWORK = gemsnn.Network.fully_connected(4, 5, 3)
PARAMETERS = make_problem(NETWORK, gemsnn.GEM(), T=1, K=1).parameters
LENGTHS = (9, 3, 9, 1, 5, 3)
RNG = np.random.default_rng(0)
LIST = [RNG.integers(0, 2, (T, 4)) for T in LENGTHS]


@pytest.mark.parametrize("decoder", ["vote", "likelihood", "per-step"])
def test_predictions_are_those_of_each_alone(decoder):
    found = gemsnn.predict(NETWORK, PARAMETERS, LIST, 4, decoder=decoder, seed=3)
    anytime = gemsnn.predict_anytime(NETWORK, PARAMETERS, LIST, 4, decoder=decoder, seed=3)
    assert len(anytime) == len(LIST)
    for n, inputs in enumerate(LIST):
        alone = gemsnn.predict(NETWORK, PARAMETERS, [inputs], 4, decoder=decoder, seed=3)
        for mine, among in zip(alone, found, strict=True):
            np.testing.assert_allclose(mine[0], among[n], rtol=1e-12)
        assert anytime[n].classes.shape == anytime[n].hidden_spikes.shape == (LENGTHS[n],)
        assert anytime[n].classes[-1] == found.classes[n]
        np.testing.assert_array_equal(anytime[n].probabilities[-1], found.probabilities[n])
        assert anytime[n].stop(confidence=0.0, min_steps=LENGTHS[n]).steps == LENGTHS[n]


def test_samples_come_back_as_a_list():
    found = gemsnn.sample(NETWORK, PARAMETERS, LIST, 2, seed=1)
    for n, inputs in enumerate(LIST):
        np.testing.assert_array_equal(found[n], gemsnn.sample(NETWORK, PARAMETERS, inputs, 2, seed=1, example=n))
    uniforms = [np.full((T, 2, 8), 0.3) for T in LENGTHS]
    found = gemsnn.sample(NETWORK, PARAMETERS, LIST, 2, uniforms=uniforms)
    for n, inputs in enumerate(LIST):
        np.testing.assert_array_equal(found[n], gemsnn.sample(NETWORK, PARAMETERS, inputs, 2, uniforms=uniforms[n]))


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_log_likelihoods_are_those_of_each_alone(engine):
    targets = [RNG.integers(0, 2, (T, 3)) for T in LENGTHS]
    found = gemsnn.log_likelihood(NETWORK, PARAMETERS, LIST, targets, 3, seed=1, engine=engine)
    for n, (inputs, wanted) in enumerate(zip(LIST, targets, strict=True)):
        alone = gemsnn.log_likelihood(NETWORK, PARAMETERS, inputs, wanted, 3, seed=1, engine=engine, example=n)
        assert found[n] == pytest.approx(alone, rel=1e-12)


def test_one_sequence_may_be_nested_lists_and_so_may_several():
    one, several = LIST[0].tolist(), [inputs.tolist() for inputs in LIST]
    assert gemsnn.sample(NETWORK, PARAMETERS, one, 2).shape == (9, 2, 8)
    assert [len(spikes) for spikes in gemsnn.sample(NETWORK, PARAMETERS, several, 2)] == list(LENGTHS)
    assert gemsnn.sample(NETWORK, PARAMETERS, [], 2) == []
    assert gemsnn.predict(NETWORK, PARAMETERS, []).probabilities.shape == (0, 3)


@pytest.mark.parametrize(
    ("place", "wrong", "error", "message"),
    [
        (2, np.ones((3, 5)), ShapeError, r"inputs\[2\] has shape \(3, 5\), but \(T, n_inputs\) = \(any, 4\) is needed"),
        (0, np.ones(4), ShapeError, r"inputs\[0\] has shape \(4,\), but"),
        (5, np.ones((0, 4)), ShapeError, r"inputs\[5\] has shape \(0, 4\): there must be at least one time step"),
        (1, np.full((3, 4), 2), DataError, r"inputs\[1\]\[0, 0\] is 2"),
    ],
)
def test_a_wrong_element_is_named(place, wrong, error, message):
    spoiled = [*LIST[:place], wrong, *LIST[place + 1 :]]
    for call in (gemsnn.predict, gemsnn.predict_anytime, gemsnn.sample):
        with pytest.raises(error, match=message):
            call(NETWORK, PARAMETERS, spoiled)


def test_targets_must_be_a_list_that_fits():
    targets = [np.ones((T, 3)) for T in LENGTHS]
    with pytest.raises(ShapeError, match="targets must be a list of 6, one for each sequence"):
        gemsnn.log_likelihood(NETWORK, PARAMETERS, LIST, targets[:5])
    with pytest.raises(ShapeError, match=r"targets\[4\] has shape \(4, 3\), but \(T, n_visible\) = \(5, 3\) is needed"):
        gemsnn.log_likelihood(NETWORK, PARAMETERS, LIST, [*targets[:4], np.ones((4, 3)), targets[5]])
    with pytest.raises(ShapeError, match=r"patterns has shape \(3, 9, 3\), but \(C, T, n_visible\) = \(any, 1, 3\)"):
        gemsnn.predict(NETWORK, PARAMETERS, LIST, decoder="per-step", patterns=np.ones((3, 9, 3)))

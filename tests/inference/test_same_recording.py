"""The same recording, the same answer: whatever stands before, after or beside it."""

import numpy as np
import pytest

import gemsnn
from gemsnn.inference import predict_labels, recording_key

NETWORK = gemsnn.Network.fully_connected(20, 30, 3)
PARAMETERS = NETWORK.init(seed=1, weight_scale=3.0)
INPUTS = np.random.default_rng(0).integers(0, 2, (40, 12, 20))
DECODERS = ("vote", "likelihood", "per-step")


def assert_same(one, other):
    """To the bit."""
    for mine, theirs in zip(one, other, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("decoder", DECODERS)
def test_order_and_company_do_not_matter(decoder):
    def predict(inputs):
        return gemsnn.predict(NETWORK, PARAMETERS, inputs, 2, decoder=decoder, seed=4)

    together, order = predict(INPUTS), np.random.default_rng(1).permutation(40)
    assert len(np.unique(together.classes)) > 1
    assert_same(predict(INPUTS[order]), [values[order] for values in together])
    assert_same(predict(INPUTS[7]), [values[7:8] for values in together])
    ragged = predict([INPUTS[3][:5], INPUTS[7], INPUTS[9][:1]])
    assert_same([values[1] for values in ragged], [values[7] for values in together])
    anytime = gemsnn.predict_anytime(NETWORK, PARAMETERS, INPUTS[order], 2, decoder=decoder, seed=4)
    np.testing.assert_array_equal(anytime.classes[:, -1], together.classes[order])


def test_labels_too():
    together = predict_labels(NETWORK, PARAMETERS, INPUTS, 2, seed=4)
    assert_same(predict_labels(NETWORK, PARAMETERS, INPUTS[::-1], 2, seed=4), [values[::-1] for values in together])


def test_equal_recordings_have_equal_answers_and_another_seed_gives_others():
    twice = gemsnn.predict(NETWORK, PARAMETERS, INPUTS[[5, 6, 5]], 2, decoder="vote", seed=4)
    assert_same([values[0] for values in twice], [values[2] for values in twice])
    seeds = [gemsnn.predict(NETWORK, PARAMETERS, INPUTS, 1, seed=seed).hidden_spikes_per_step for seed in (0, 1)]
    assert (seeds[0] != seeds[1]).any()


def test_draws_can_follow_from_the_recording_in_sampling_and_learning():
    together = gemsnn.sample(NETWORK, PARAMETERS, INPUTS, 2, seed=4, example=None)
    alone = gemsnn.sample(NETWORK, PARAMETERS, INPUTS[7], 2, seed=4, example=recording_key(INPUTS[7]))
    np.testing.assert_array_equal(together[7], alone)


def test_the_key_is_that_of_spikes_and_shape_whatever_their_type():
    spikes = INPUTS[0]
    key = recording_key(spikes)
    assert 0 <= key < 2**63
    assert key == recording_key(spikes.astype(bool)) == recording_key(spikes.astype(np.float32).tolist())
    changed = spikes.copy()
    changed[-1, -1] ^= 1
    keys = {key, recording_key(changed), recording_key(spikes[:-1]), recording_key(spikes.reshape(20, 12))}
    assert len(keys) == 4
    assert recording_key(np.zeros((2, 3))) != recording_key(np.zeros((3, 2)))


def test_without_a_decoder_the_probabilities_are_averaged_over_steps():
    default, named = (gemsnn.predict(NETWORK, PARAMETERS, INPUTS, 2, **how) for how in ({}, {"decoder": "per-step"}))
    np.testing.assert_array_equal(default.probabilities, named.probabilities)

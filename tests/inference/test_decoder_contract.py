"""What every decoder promises, those of gemsnn and a user's own: one list of checks, run on each."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from problems import make_problem
from scipy.special import softmax

import gemsnn
from gemsnn.inference import DECODERS, Answer, Decoder

N, T, K, C = 7, 12, 5, 4


class MostSpikes:
    """A user's own decoder: the class with most spikes, whichever compartment they come from."""

    name = "most-spikes"
    free = True

    def start(self, shape: tuple[int, ...]) -> np.ndarray:
        return np.zeros(shape)

    def update(self, state: np.ndarray, evidence: np.ndarray) -> np.ndarray:
        return state + evidence

    def answer(self, state: np.ndarray) -> Answer:
        total = state.sum(axis=-2)
        winner = total.argmax(axis=-1)
        return Answer(
            winner, softmax(total, axis=-1), state.shape[-2] * (winner[..., None] == np.arange(total.shape[-1]))
        )


EVERY = [*DECODERS.values(), MostSpikes()]


def evidence_for(decoder: Decoder) -> np.ndarray:
    """(T, N, K, C): spikes in which no two classes are as frequent, or log-probabilities."""
    rng = np.random.default_rng(3)
    if not decoder.free:
        return np.log(rng.dirichlet(np.ones(C), (T, N, K)))
    counts = rng.permuted(np.broadcast_to([1, 4, 6, 11], (N, K, C)), axis=-1)
    return np.arange(T)[:, None, None, None] < counts


def states_after_each_step(decoder: Decoder, evidence: np.ndarray) -> list[Any]:
    states = [decoder.start(evidence.shape[1:])]
    for step in evidence:
        states.append(decoder.update(states[-1], step))
    return states[1:]


def check_nothing_given_is_changed(decoder: Decoder) -> None:
    evidence = evidence_for(decoder)
    kept, state = evidence.copy(), decoder.start(evidence.shape[1:])
    for step in evidence:
        before = copy.deepcopy(state)
        later = decoder.update(state, step)
        assert_same(state, before)
        state = later
        before = copy.deepcopy(state)
        decoder.answer(state)
        assert_same(state, before)
    np.testing.assert_array_equal(evidence, kept)


def check_probabilities_sum_to_one_and_every_compartment_votes(decoder: Decoder) -> None:
    for state in states_after_each_step(decoder, evidence_for(decoder)):
        classes, probabilities, votes = decoder.answer(state)
        assert (classes.shape, probabilities.shape, votes.shape) == ((N,), (N, C), (N, C))
        np.testing.assert_allclose(probabilities.sum(axis=-1), 1, rtol=1e-12)
        assert (probabilities >= 0).all()
        assert (votes.sum(axis=-1) == K).all()


def check_many_at_once_are_answered_as_each_alone_to_the_bit(decoder: Decoder) -> None:
    evidence = evidence_for(decoder)
    together = [decoder.answer(state) for state in states_after_each_step(decoder, evidence)]
    for n in range(N):
        for t, state in enumerate(states_after_each_step(decoder, evidence[:, n])):
            for alone, among in zip(decoder.answer(state), together[t], strict=True):
                np.testing.assert_array_equal(alone, among[n])


def check_any_leading_axes_are_a_batch(decoder: Decoder) -> None:
    evidence = evidence_for(decoder)[:, :6]
    flat = decoder.answer(states_after_each_step(decoder, evidence)[-1])
    folded = decoder.answer(states_after_each_step(decoder, evidence.reshape(T, 2, 3, K, C))[-1])
    for one, other in zip(flat, folded, strict=True):
        np.testing.assert_array_equal(one, other.reshape(one.shape))


def check_the_order_of_sequences_does_not_matter(decoder: Decoder) -> None:
    evidence, order = evidence_for(decoder), np.random.default_rng(0).permutation(N)
    straight = decoder.answer(states_after_each_step(decoder, evidence)[-1])
    mixed = decoder.answer(states_after_each_step(decoder, evidence[:, order])[-1])
    for one, other in zip(straight, mixed, strict=True):
        np.testing.assert_array_equal(one[order], other)


def check_classes_have_no_names(decoder: Decoder) -> None:
    evidence, order = evidence_for(decoder), np.array([2, 0, 3, 1])
    straight = decoder.answer(states_after_each_step(decoder, evidence)[-1])
    renamed = decoder.answer(states_after_each_step(decoder, evidence[..., order])[-1])
    np.testing.assert_allclose(renamed.probabilities, straight.probabilities[:, order], rtol=1e-12)
    np.testing.assert_array_equal(renamed.votes, straight.votes[:, order])
    np.testing.assert_array_equal(order[renamed.classes], straight.classes)


def check_more_for_a_class_makes_it_likelier(decoder: Decoder) -> None:
    evidence = np.full((3, K, C), -2.0) if not decoder.free else np.zeros((3, K, C), dtype=bool)
    evidence[:, :, 2] = -0.1 if not decoder.free else True
    for state in states_after_each_step(decoder, evidence):
        found = decoder.answer(state)
        assert found.classes == 2
        assert found.probabilities.argmax() == 2


def check_predict_is_the_last_of_the_answers_and_a_name_stands_for_the_object(decoder: Decoder) -> None:
    for mask_seed in (None, 1):  # with and without synapses from visible to hidden neurons
        topology = gemsnn.Topology.fully_connected(4, 5, 3)
        if mask_seed is not None:
            topology = gemsnn.Topology.random(4, 5, 3, 0.8, seed=mask_seed)
        network = gemsnn.Network(topology)
        parameters = make_problem(network, gemsnn.GEM(), T=1, K=1).parameters
        inputs = np.random.default_rng(0).integers(0, 2, (6, 9, 4))
        last = gemsnn.predict(network, parameters, inputs, 4, decoder=decoder, seed=3)
        anytime = gemsnn.predict_anytime(network, parameters, inputs, 4, decoder=decoder, seed=3)
        np.testing.assert_array_equal(anytime.classes[:, -1], last.classes)
        np.testing.assert_array_equal(anytime.probabilities[:, -1], last.probabilities)
        np.testing.assert_array_equal(anytime.hidden_spikes.mean(axis=1), last.hidden_spikes_per_step)
        if decoder.name in DECODERS:
            named = gemsnn.predict(network, parameters, inputs, 4, decoder=decoder.name, seed=3)
            for one, other in zip(last, named, strict=True):
                np.testing.assert_array_equal(one, other)


def assert_same(one: Any, other: Any) -> None:
    if isinstance(one, tuple):
        for mine, theirs in zip(one, other, strict=True):
            assert_same(mine, theirs)
    else:
        np.testing.assert_array_equal(one, other)


CHECKS = [value for name, value in list(globals().items()) if name.startswith("check_")]


@pytest.mark.parametrize("decoder", EVERY, ids=lambda decoder: decoder.name)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_every_decoder_keeps_the_contract(check: Any, decoder: Decoder) -> None:
    check(decoder)


def test_each_decoder_is_listed_under_its_own_name() -> None:
    assert {name: decoder.name for name, decoder in DECODERS.items()} == {name: name for name in DECODERS}


def test_something_that_is_no_decoder_is_refused_with_what_it_lacks() -> None:
    network = gemsnn.Network.fully_connected(4, 5, 3)
    with pytest.raises(gemsnn.ConfigError, match="has no name, free, start, update, answer: give 'vote', "):
        gemsnn.predict(network, network.init(), np.ones((1, 2, 4)), decoder=3)

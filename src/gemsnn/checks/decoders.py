"""Promises of every decoder."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gemsnn.checks.promise import check, require
from gemsnn.inference import DECODERS, Answer, Decoder, predict, predict_anytime
from gemsnn.model import Network, Topology

N, T, K, C = 7, 12, 5, 4


def check_decoder(decoder: Decoder) -> None:
    """Check that a decoder keeps the contract of :class:`gemsnn.Decoder`; an AssertionError names a broken promise.

    Examples
    --------
    >>> import gemsnn
    >>> gemsnn.checks.check_decoder(gemsnn.inference.DECODERS["vote"])
    """
    missing = [name for name in ("name", "free", "start", "update", "answer") if not hasattr(decoder, name)]
    if missing:
        raise AssertionError(f"{decoder!r} is not a decoder: it has no {', '.join(missing)}")
    for promise in PROMISES:
        check(promise, decoder)


# ---- the evidence


def _evidence(decoder: Decoder) -> NDArray[Any]:
    """(T, N, K, C): spikes, with a different number for each class, or log-probabilities."""
    rng = np.random.default_rng(3)
    if not decoder.free:
        log_probabilities: NDArray[Any] = np.log(rng.dirichlet(np.ones(C), (T, N, K)))
        return log_probabilities
    counts = rng.permuted(np.broadcast_to([1, 4, 6, 11], (N, K, C)), axis=-1)
    spikes: NDArray[Any] = np.arange(T)[:, None, None, None] < counts
    return spikes


def _states(decoder: Decoder, evidence: NDArray[Any]) -> Iterator[Any]:
    """The state after each step."""
    state = decoder.start(evidence.shape[1:])
    for step in evidence:
        state = decoder.update(state, step)
        yield state


def _last(decoder: Decoder, evidence: NDArray[Any]) -> Answer:
    return decoder.answer(list(_states(decoder, evidence))[-1])


def _assert_same(one: Any, other: Any, what: str) -> None:
    if isinstance(one, tuple | list):
        for mine, theirs in zip(one, other, strict=True):
            _assert_same(mine, theirs, what)
    elif isinstance(one, dict):
        _assert_same([*one.values()], [*other.values()], what)
    else:
        np.testing.assert_array_equal(one, other, err_msg=what)


# ---- the promises


def leaves_what_it_is_given_unchanged(decoder: Decoder) -> None:
    """``update`` and ``answer`` modify neither the state passed to them nor the evidence."""
    evidence = _evidence(decoder)
    kept, state = evidence.copy(), decoder.start(evidence.shape[1:])
    for step in evidence:
        before = copy.deepcopy(state)
        later = decoder.update(state, step)
        _assert_same(state, before, "update() has changed its state: return a new one")
        state, before = later, copy.deepcopy(later)
        decoder.answer(state)
        _assert_same(state, before, "answer() has changed its state")
    np.testing.assert_array_equal(evidence, kept, err_msg="the evidence has changed")


def gives_probabilities_and_one_vote_per_compartment(decoder: Decoder) -> None:
    """Probabilities are not negative and sum to 1, and votes sum to the number of compartments."""
    for state in _states(decoder, _evidence(decoder)):
        classes, probabilities, votes = decoder.answer(state)
        shapes = np.shape(classes), np.shape(probabilities), np.shape(votes)
        require(shapes == ((N,), (N, C), (N, C)), f"of {N} sequences and {C} classes, the answer has shapes {shapes}")
        np.testing.assert_allclose(probabilities.sum(axis=-1), 1, rtol=1e-12, err_msg="sums of probabilities")
        require(bool((probabilities >= 0).all()), "a probability is negative")
        np.testing.assert_array_equal(votes.sum(axis=-1), K, err_msg=f"sums of the votes of {K} compartments")


def answers_many_at_once_as_each_alone(decoder: Decoder) -> None:
    """A sequence has the same answer alone and among others, bit for bit."""
    evidence = _evidence(decoder)
    together = [decoder.answer(state) for state in _states(decoder, evidence)]
    for n in range(N):
        for t, state in enumerate(_states(decoder, evidence[:, n])):
            for name, alone, among in zip(Answer._fields, decoder.answer(state), together[t], strict=True):
                np.testing.assert_array_equal(alone, among[n], err_msg=f"{name} of sequence {n} after step {t}")


def takes_any_leading_axes_as_a_batch(decoder: Decoder) -> None:
    """Evidence of shape (..., K, C) can have any leading axes."""
    evidence = _evidence(decoder)[:, :6]
    flat, folded = _last(decoder, evidence), _last(decoder, evidence.reshape(T, 2, 3, K, C))
    for name, one, other in zip(Answer._fields, flat, folded, strict=True):
        np.testing.assert_array_equal(one, np.reshape(other, one.shape), err_msg=name)


def does_not_depend_on_the_order_of_sequences(decoder: Decoder) -> None:
    """Sequences in another order have the same answers in that order."""
    evidence, order = _evidence(decoder), np.random.default_rng(0).permutation(N)
    for name, one, other in zip(
        Answer._fields, _last(decoder, evidence), _last(decoder, evidence[:, order]), strict=True
    ):
        np.testing.assert_array_equal(one[order], other, err_msg=name)


def treats_all_classes_alike(decoder: Decoder) -> None:
    """Classes in another order have the same probabilities in that order."""
    evidence, order = _evidence(decoder), np.array([2, 0, 3, 1])
    straight, renamed = _last(decoder, evidence), _last(decoder, evidence[..., order])
    np.testing.assert_allclose(
        renamed.probabilities, straight.probabilities[:, order], rtol=1e-12, err_msg="probabilities"
    )
    np.testing.assert_array_equal(renamed.votes, straight.votes[:, order], err_msg="votes")
    np.testing.assert_array_equal(order[renamed.classes], straight.classes, err_msg="classes")


def prefers_the_class_with_more_evidence(decoder: Decoder) -> None:
    """The answer is the class that is most likely in all compartments."""
    evidence = np.full((3, K, C), -2.0) if not decoder.free else np.zeros((3, K, C), dtype=bool)
    evidence[:, :, 2] = -0.1 if not decoder.free else True
    for state in _states(decoder, evidence):
        found = decoder.answer(state)
        require(found.classes == 2, f"the answer is {found.classes}, all evidence is for 2")
        require(found.probabilities.argmax() == 2, f"probabilities {found.probabilities}, all evidence is for 2")


def answers_last_what_predict_answers(decoder: Decoder) -> None:
    """``predict`` is the last of the answers of ``predict_anytime``; a listed decoder's name stands for it."""
    # with and without synapses from visible to hidden neurons
    for topology in (Topology.fully_connected(4, 5, 3), Topology.random(4, 5, 3, 0.8, seed=1)):
        network = Network(topology)
        parameters = network.init(seed=0, dtype=np.float64)
        parameters.synaptic[:] *= 20  # so that spikes depend on the inputs
        inputs = np.random.default_rng(0).integers(0, 2, (6, 9, 4))
        last = predict(network, parameters, inputs, 4, decoder=decoder, seed=3)
        anytime = predict_anytime(network, parameters, inputs, 4, decoder=decoder, seed=3)
        np.testing.assert_array_equal(anytime.classes[:, -1], last.classes, err_msg="classes")
        np.testing.assert_array_equal(anytime.probabilities[:, -1], last.probabilities, err_msg="probabilities")
        np.testing.assert_array_equal(anytime.hidden_spikes.mean(axis=1), last.hidden_spikes_per_step)
        if DECODERS.get(decoder.name) is decoder:
            named = predict(network, parameters, inputs, 4, decoder=decoder.name, seed=3)
            for name, one, other in zip(last._fields, last, named, strict=True):
                np.testing.assert_array_equal(one, other, err_msg=name)


PROMISES = (
    leaves_what_it_is_given_unchanged,
    gives_probabilities_and_one_vote_per_compartment,
    answers_many_at_once_as_each_alone,
    takes_any_leading_axes_as_a_batch,
    does_not_depend_on_the_order_of_sequences,
    treats_all_classes_alike,
    prefers_the_class_with_more_evidence,
    answers_last_what_predict_answers,
)

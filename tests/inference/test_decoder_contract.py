"""What every decoder promises, those of gemsnn and a user's own: the package's checks, run on each."""

import numpy as np
import pytest
from scipy.special import softmax

import gemsnn
from gemsnn.checks import check_decoder
from gemsnn.checks.decoders import PROMISES
from gemsnn.checks.promise import check
from gemsnn.inference import DECODERS, Answer


class MostSpikes:
    """A user's own decoder: the class with most spikes, whichever compartment they come from."""

    name = "most-spikes"
    free = True

    def start(self, shape):
        return np.zeros(shape)

    def update(self, state, evidence):
        return state + evidence

    def answer(self, state):
        total = state.sum(axis=-2)
        winner = total.argmax(axis=-1)
        return Answer(
            winner, softmax(total, axis=-1), state.shape[-2] * (winner[..., None] == np.arange(total.shape[-1]))
        )


EVERY = [*DECODERS.values(), MostSpikes()]


@pytest.mark.parametrize("decoder", EVERY, ids=lambda decoder: decoder.name)
@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
def test_every_decoder(promise, decoder):
    check(promise, decoder)


class InPlace(MostSpikes):
    def update(self, state, evidence):
        state += evidence
        return state


class Partial(MostSpikes):
    """Favours the first class."""

    def start(self, shape):
        return np.zeros(shape) + 7.5 * (np.arange(shape[-1]) == 0)


class Unsure(MostSpikes):
    def answer(self, state):
        return super().answer(state)._replace(probabilities=np.full(state.shape[:-2] + state.shape[-1:], 0.2))


@pytest.mark.parametrize(
    ("decoder", "found"),
    [
        (InPlace(), "modify neither(.|\n)*has changed its state: return a new one"),
        (Partial(), "Classes in another order have the same probabilities"),
        (Unsure(), "sum to 1(.|\n)*sums of probabilities"),
        (object(), "it has no name, free, start, update, answer"),
    ],
)
def test_a_decoder_that_breaks_a_promise_is_told_which_and_what_was_found(decoder, found):
    with pytest.raises(AssertionError, match=found):
        check_decoder(decoder)


def test_each_decoder_is_listed_under_its_own_name():
    assert {name: decoder.name for name, decoder in DECODERS.items()} == {name: name for name in DECODERS}


def test_something_that_is_no_decoder_is_refused_with_what_it_lacks():
    network = gemsnn.Network.fully_connected(4, 5, 3)
    with pytest.raises(gemsnn.ConfigError, match="has no name, free, start, update, answer: give 'vote', "):
        gemsnn.predict(network, network.init(), np.ones((1, 2, 4)), decoder=3)

"""Parts of one's own get a name in the lists of parts, once."""

from dataclasses import dataclass
from unittest.mock import patch

import numpy as np
import pytest

import gemsnn
from gemsnn import ConfigError
from gemsnn.events import datasets, recordings
from gemsnn.experiments import claims
from gemsnn.inference import Answer, decoders
from gemsnn.model import filters
from gemsnn.training import TrainingConfig

LISTS = (
    gemsnn.rules.RULES, filters.FILTERS, decoders.DECODERS, recordings.READERS, datasets.DATASETS, claims.CLAIMS,
)  # fmt: skip


@pytest.fixture(autouse=True)
def lists_as_they_were():
    before = [dict(each) for each in LISTS]
    yield
    for each, kept in zip(LISTS, before, strict=True):
        each.clear()
        each.update(kept)


@dataclass(frozen=True)
class Slow(gemsnn.GEM):
    learning_rate: float = 1e-5


class Flat(gemsnn.Filter):
    def __init__(self, duration=4):
        super().__init__(np.full((1, duration), 1 / duration))


class Last:
    name, free = "last", True

    def start(self, shape):
        return np.zeros(shape)

    def update(self, state, evidence):
        return np.asarray(evidence, dtype=float)

    def answer(self, state):
        votes = state.sum(axis=-2) + 1
        return Answer(votes.argmax(axis=-1), votes / votes.sum(axis=-1, keepdims=True), votes.astype(int))


def read_nothing(path):
    return gemsnn.events.as_events(np.zeros(0, dtype=[(field, "i8") for field in "xytp"]), path)


def find_nothing(folder):
    raise gemsnn.DataError(f"{folder}: nothing here")


def nothing_is_claimed(results):
    raise AssertionError


REGISTERED = {
    "rule": (gemsnn.rules.register, "slow", Slow, "gem"),
    "filter": (filters.register, "flat", Flat, "exponential"),
    "decoder": (decoders.register, "last", Last, None),
    "reader": (recordings.register, ".nothing", read_nothing, ".csv"),
    "data set": (datasets.register, "nothing", find_nothing, "folder"),
    "claim": (claims.register, "nothing", nothing_is_claimed, "accuracy"),
}


@pytest.mark.parametrize("what", REGISTERED)
def test_a_name_is_taken_only_once_but_a_part_may_be_registered_again(what):
    register, name, part, taken = REGISTERED[what]
    register(name, part)
    register(name, part)  # as when a notebook's cell is run again
    if taken is not None:
        with pytest.raises(ConfigError, match=f"there is already a {what} called '{taken}': choose another name"):
            register(taken, part)
    for wrong in ("", " x", 3):
        with pytest.raises(ConfigError):
            register(wrong, part)


def test_a_decoder_cannot_take_the_name_of_another():
    class Vote(Last):
        name = "vote"

    with pytest.raises(ConfigError, match="there is already a decoder called 'vote'"):
        decoders.register("vote", Vote())
    with pytest.raises(ConfigError, match="name is 'last': register it by that name, not as 'first'"):
        decoders.register("first", Last)


@pytest.mark.parametrize(
    ("register", "part"),
    [(gemsnn.rules.register, int), (filters.register, gemsnn.GEM), (decoders.register, int), (datasets.register, 3)],
)
def test_what_is_no_part_of_that_kind_is_refused(register, part):
    with pytest.raises(ConfigError):
        register("mine", part)


def test_settings_and_files_can_then_name_it(tmp_path):
    for register, name, part, _ in REGISTERED.values():
        register(name, part)
    config = TrainingConfig.make(rule="slow", synaptic_filter={"kind": "flat", "duration": 3}, decoder="last")
    assert config.rule == Slow()
    assert config.synaptic_filter == Flat(3)
    assert config.decoder == "last"
    (tmp_path / "a.nothing").write_text("")
    assert len(gemsnn.events.read_recording(tmp_path / "a.nothing")) == 0
    with pytest.raises(gemsnn.DataError, match="nothing here"):
        gemsnn.events.find_dataset("nothing", tmp_path)
    assert nothing_is_claimed in claims.CLAIMS.values()


def test_without_the_name_settings_say_which_there_are():
    with (
        patch.dict(decoders.DECODERS),
        pytest.raises(ConfigError, match="unknown decoder 'last': choose one of 'vote'"),
    ):
        TrainingConfig.make(decoder="last")

"""What every rule promises, on every engine and form: the package's checks, run on all rules and one from outside."""

from collections import namedtuple
from dataclasses import dataclass, replace

import numpy as np
import pytest
from circuits import RULES as VARIANTS
from own_rule import Quiet
from states import arrays_of

import gemsnn
from gemsnn.checks import check_rule
from gemsnn.checks.promise import check
from gemsnn.checks.rules import LEARNING_RATE, PROMISES, PROMISES_OF_SETTINGS
from gemsnn.engine import ENGINES, compiled
from gemsnn.engine.rule_functions import rule_functions
from gemsnn.rules import RULES

FORMS = [
    *((name, None) for name in sorted(ENGINES.keys() - {"compiled"})),
    ("compiled", "event"),
    ("compiled", "sparse"),
]
EVERY_RULE = {kind: rule() for kind, rule in RULES.items()} | VARIANTS | {"a rule from outside": Quiet()}


@pytest.mark.parametrize(("engine", "form"), FORMS)
@pytest.mark.parametrize("rule", EVERY_RULE.values(), ids=EVERY_RULE)
@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
def test_every_rule(promise, rule, engine, form, monkeypatch):
    monkeypatch.setattr(compiled, "FORM", form)
    check(promise, replace(rule, learning_rate=LEARNING_RATE), engine)


@pytest.mark.parametrize("rule", EVERY_RULE.values(), ids=EVERY_RULE)
@pytest.mark.parametrize("promise", PROMISES_OF_SETTINGS, ids=lambda promise: promise.__name__)
def test_the_settings_of_every_rule(promise, rule):
    check(promise, rule)


def test_every_listed_rule_is_checked():
    assert {type(rule) for rule in EVERY_RULE.values()} >= set(RULES.values())


@pytest.mark.parametrize(("engine", "form"), FORMS)
def test_a_long_stream_holds_no_more_memory(engine, form, monkeypatch):
    monkeypatch.setattr(compiled, "FORM", form)
    network, rng = gemsnn.Network.fully_connected(4, 6, 3), np.random.default_rng(0)
    live = gemsnn.Stream(network, network.init(dtype=np.float64), Quiet(), 3, engine=engine)
    rounds, block = 18 if engine == "compiled" else 3, 48

    def most_held():
        """Of what goes on from step to step; a window may fill up and be emptied, so its ceiling counts."""
        most = 0
        for _ in range(rounds):
            for _ in range(block):
                live.step(rng.random(4) < 0.4, rng.random(3) < 0.4)
            _, state = live._learner.take()
            most = max(most, sum(array.nbytes for array in arrays_of(state)))
        return most

    first = most_held()
    assert 0 < most_held() <= 1.3 * first  # memory that grows would have doubled


# ---- a rule that breaks a promise is told which


@dataclass(frozen=True)
class Own(gemsnn.Rule):
    """What the rules below do not do wrong."""

    @staticmethod
    def broadcast(settings, log_weights, importance, memory, visible, hidden):
        for k in range(len(importance)):
            visible[k] = importance[k]
            hidden[k] = importance[k]


@dataclass(frozen=True)
class Deaf(Own):
    @staticmethod
    def broadcast(settings, log_weights, importance, memory, visible, hidden):
        for k in range(len(importance)):
            visible[k] = importance[k]
            hidden[k] = 0.0


@dataclass(frozen=True)
class Talkative(Own):
    def communication(self, network, n_compartments):
        return super().communication(network, n_compartments)._replace(to_neurons=1)


@dataclass(frozen=True)
class Careless(Own):
    own: float = 0.5

    def __post_init__(self):
        """Without the checks of those that all rules have."""


@dataclass(frozen=True)
class Wordy(Own):
    how: str = "well"

    def settings(self):
        return namedtuple("Settings", ["how"])(self.how)


@pytest.mark.parametrize(
    ("rule", "promise", "found"),
    [
        (Deaf(), "Hidden and visible neurons both learn", "hidden neurons is 0.0e"),
        (Talkative(), "agree with what is sent", r"sent \(.*communication\(\) says"),
        (Careless(), "are a ConfigError that names them", "learning_rate = -1.0 is accepted: call super"),
        (Wordy(), "named tuple of floats, ints and bools", "how is 'well'; give a number"),
    ],
)
def test_a_rule_that_breaks_a_promise_is_told_which_and_what_was_found(rule, promise, found):
    with pytest.raises(
        AssertionError, match=rf"{type(rule).__name__}\(.* breaks a promise(.|\n)*{promise}(.|\n)*{found}"
    ):
        check_rule(rule)


def test_what_is_not_a_rule_is_refused():
    with pytest.raises(AssertionError, match="is not a rule: it must be a frozen dataclass that inherits"):
        check_rule(3)


@dataclass(frozen=True)
class Uncompilable(gemsnn.rules.Rule):
    @staticmethod
    def broadcast(settings, log_weights, importance, memory, visible, hidden):
        visible[0] = settings.gain


def test_a_rule_that_numba_cannot_compile_is_refused_by_the_name_of_its_function():
    with pytest.raises(gemsnn.ConfigError, match=r"Uncompilable.broadcast cannot be compiled(.|\n)*gain"):
        check_rule(Uncompilable())


def test_settings_of_other_values_need_no_other_functions():
    dtype = np.dtype(np.float64)
    assert rule_functions(gemsnn.MB(baseline=None), dtype) is rule_functions(gemsnn.MB(baseline=0.5), dtype)

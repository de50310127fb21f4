"""Streams that learn from rewards: what is learned, episodes, bad rewards, saving and constant memory."""

import numpy as np
import pytest
from memory import bytes_held
from own_objective import Priced, Tempered
from problems import assert_parameters_close, random_parameters

import gemsnn
from gemsnn.checks import check_objective
from gemsnn.objectives import OBJECTIVES

K = 3
RULE = gemsnn.MB(0.05, kappa=0.0, gamma=0.9, baseline=0.9)
NETWORK = gemsnn.Network(gemsnn.Topology.fully_connected(4, 5, 2), circuits=[[5, 6]])
PARAMETERS = random_parameters(NETWORK, np.random.default_rng(0), 0.5)
_rng = np.random.default_rng(1)
INPUTS, REWARDS = (_rng.random((200, K, 4)) < 0.3), _rng.normal(size=(200, K))


def stream(engine="compiled", rule=RULE, n_compartments=K, objective=None, **options):
    return gemsnn.Stream(
        NETWORK, PARAMETERS, rule, n_compartments, 5, engine, objective=objective or gemsnn.Reward(), **options
    )


def live(of, first=0, last=200):
    for t in range(first, last):
        of.step(INPUTS[t])
        if t % 4:
            of.reward(REWARDS[t])
        if t % 50 == 49:
            of.end(np.array([True, False, t % 100 == 99]))
    return of


@pytest.mark.parametrize("kind", OBJECTIVES)
def test_every_objective_keeps_the_contract(kind):
    check_objective(OBJECTIVES[kind]())


@pytest.mark.parametrize("objective", [Priced(), Tempered()], ids=lambda objective: type(objective).__name__)
def test_objectives_from_outside_keep_the_contract(objective):
    check_objective(objective)


def test_the_action_that_is_rewarded_becomes_frequent():
    of = stream(rule=gemsnn.MB(0.02, kappa=0.0, gamma=0.5, baseline=0.99))
    visible = []
    for t in range(200):
        spikes = of.step(INPUTS[t]).spikes[:, 5:]
        of.reward(spikes[:, 1])
        visible.append(spikes[:, 1].mean())
    assert np.mean(visible[-50:]) > 0.9
    assert np.mean(visible[:20]) < 0.75


@pytest.mark.parametrize("rule", [RULE, gemsnn.MB(0.01, baseline="leave-one-out"), gemsnn.GEM(0.01, centred=True)])
def test_both_engines_learn_the_same_through_episodes(rule):
    compiled, reference = (live(stream(engine, rule)) for engine in ("compiled", "reference"))
    assert_parameters_close(compiled.parameters, reference.parameters, 1e-10)


def test_one_reward_for_all_is_the_same_reward_for_each():
    one, each = stream(), stream()
    for t in range(40):
        one.step(INPUTS[t, 0])
        each.step(np.broadcast_to(INPUTS[t, 0], (K, 4)))
        one.reward(REWARDS[t, 0])
        each.reward(np.full(K, REWARDS[t, 0]))
    assert one.parameters == each.parameters


def test_a_compartment_whose_episode_ended_is_as_new_but_for_what_the_processor_expects():
    of = stream(rule=gemsnn.MB(0.0, kappa=0.9, baseline=0.9))
    live(of, 0, 49)
    before = of.step(INPUTS[49]).log_weights
    of.end(np.array([True, False, False]))
    silent = of.step(np.zeros((K, 4)))
    fresh = stream(rule=gemsnn.MB(0.0)).step(np.zeros((K, 4)))
    assert silent.log_likelihood[0] in (fresh.log_likelihood[0], *np.log1p(-np.exp(fresh.log_likelihood[:1])))
    assert silent.log_weights[0] == 0
    np.testing.assert_allclose(silent.log_weights[1:], 0.9 * before[1:])


def test_a_running_mean_outlives_the_episode():
    of = stream(rule=gemsnn.MB(0.05, kappa=0.0, baseline=0.98))
    for _ in range(2):
        for t in range(400):
            of.step(INPUTS[t % 200])
            of.reward(1.0)
        of.end()
        before = of.parameters
    of.step(INPUTS[0])
    of.reward(1.0)  # as good as expected: hardly anything to learn
    assert np.abs(of.parameters.bias - before.bias).max() < 0.05 * 0.02


# ---- bad input: one clear message, and nothing is learned

BAD = {
    "not a number": (float("nan"), "finite"),
    "infinite": ([1.0, float("inf"), 0.0], "finite"),
    "for more compartments": (np.zeros(K + 1), r"shape \(4,\).*\(3,\)"),
    "a table": (np.zeros((K, 1)), "shape"),
    "text": ("good", "number"),
    "nothing": (None, "finite|number"),
}


@pytest.mark.parametrize(("reward", "message"), BAD.values(), ids=BAD)
def test_a_bad_reward_is_refused_and_a_good_one_may_follow(reward, message):
    of, other = live(stream(), 0, 5), live(stream(), 0, 5)
    for each in (of, other):
        each.step(INPUTS[5])
    with pytest.raises(gemsnn.GemsnnError, match=message):
        of.reward(reward)
    for each in (of, other):
        each.reward(REWARDS[5])
    assert live(of, 6, 60).parameters == live(other, 6, 60).parameters


def test_a_reward_needs_a_step_of_its_own():
    of = stream()
    with pytest.raises(gemsnn.ConfigError, match="no step to reward"):
        of.reward(1.0)
    of.step(INPUTS[0])
    of.reward(1.0)
    before = of.parameters
    with pytest.raises(gemsnn.ConfigError, match="no step to reward"):
        of.reward(1.0)
    of.step(INPUTS[1])
    of.end()
    with pytest.raises(gemsnn.ConfigError, match="no step to reward"):
        of.reward(1.0)
    of.reset()
    with pytest.raises(gemsnn.ConfigError, match="no step to reward"):
        of.reward(1.0)
    assert of.parameters == before


def test_streams_that_learn_from_targets_take_no_rewards_and_others_no_targets():
    clamped = stream(objective=gemsnn.Likelihood())
    clamped.step(INPUTS[0, 0], [1, 0])
    for refused in (lambda: clamped.reward(1.0), clamped.end, lambda: clamped.save("x"), lambda: clamped.restore("x")):
        with pytest.raises(gemsnn.ConfigError, match="reward"):
            refused()
    with pytest.raises(gemsnn.ShapeError):
        clamped.step(INPUTS[0])
    with pytest.raises(gemsnn.ConfigError, match="reward"):
        stream().step(INPUTS[0], [1, 0])
    with pytest.raises(gemsnn.ShapeError):
        stream().step(INPUTS[0, :2])
    with pytest.raises(gemsnn.ConfigError, match="reward"):
        stream(means=gemsnn.TraceMeans.zero(NETWORK))
    with pytest.raises(gemsnn.ShapeError, match="3 booleans"):
        stream().end([1, 0, 0])
    with pytest.raises(gemsnn.ConfigError, match=r"gemsnn.Stream"):
        gemsnn.learn(NETWORK, PARAMETERS, RULE, INPUTS[:, 0], np.zeros((200, 2)), objective=gemsnn.Reward())


REFUSED = {
    "errors that nobody knows": (gemsnn.Feedback(1e-3), 3, "MB"),
    "as if clamped": (gemsnn.GEM(), 3, "centred"),
    "nobody to compare with": (gemsnn.GEM(centred=True), 1, "2 or more"),
    "nobody to leave out": (gemsnn.MB(baseline="leave-one-out"), 1, "2 or more"),
}


@pytest.mark.parametrize(("rule", "n_compartments", "message"), REFUSED.values(), ids=REFUSED)
def test_rules_that_cannot_learn_from_rewards_are_refused_with_the_reason(rule, n_compartments, message):
    with pytest.raises(gemsnn.ConfigError, match=message):
        stream(rule=rule, n_compartments=n_compartments)


@pytest.mark.parametrize(
    "rule",
    [gemsnn.GEM(centred=True), gemsnn.MB(baseline="leave-one-out"), gemsnn.IW(baseline="leave-one-out")],
    ids=lambda rule: type(rule).__name__,
)
def test_a_reward_that_all_compartments_share_is_refused_where_it_would_teach_nothing(rule):
    of = stream(rule=rule)
    of.step(INPUTS[0])
    with pytest.raises(gemsnn.ConfigError, match="share"):
        of.reward(1.0)
    of.reward([1.0, 0.0, 0.0])


# ---- saving


@pytest.mark.parametrize("engine", ["compiled", "reference"])
@pytest.mark.parametrize("rewarded_first", [True, False])
def test_a_restored_stream_goes_on_to_the_same_bits_and_the_saved_one_as_if_it_had_not_been(
    engine, rewarded_first, tmp_path
):
    whole, first, second = stream(engine), stream(engine), stream(engine)
    for of in (whole, first):
        live(of, 0, 56)
        of.step(INPUTS[56])
        if rewarded_first:
            of.reward(REWARDS[56])
    first.save(tmp_path / "stream.npz")
    second.restore(tmp_path / "stream.npz")
    if not rewarded_first:
        for of in (whole, first, second):
            of.reward(REWARDS[56])
    cut = 57
    assert live(whole, cut).parameters == live(first, cut).parameters == live(second, cut).parameters


def test_what_is_no_saved_stream_or_another_one_is_refused(tmp_path):
    (tmp_path / "text.npz").write_text("no stream")
    other = gemsnn.Stream(NETWORK, PARAMETERS, RULE, 2, objective=gemsnn.Reward())
    other.save(tmp_path / "two.npz")
    for name, message in (("text.npz", "cannot be read"), ("none.npz", "cannot be read"), ("two.npz", "another")):
        with pytest.raises(gemsnn.DataError, match=message):
            stream().restore(tmp_path / name)


def test_a_long_life_takes_no_more_memory():
    of = live(stream())
    before = bytes_held(of)
    for _ in range(5):
        live(of)
    assert bytes_held(of) == before

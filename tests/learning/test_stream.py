"""A network that lives on."""

import numpy as np
import pytest
from memory import bytes_held, resident_bytes
from problems import assert_parameters_close, make_problem
from scipy.special import softmax

import gemsnn

ENGINES = ("compiled", "reference")


def make(T=150, K=3, gamma=0.9, seed=0, rule=gemsnn.GEM):
    network = gemsnn.Network(gemsnn.Topology.random(4, 3, 2, 0.8, seed=1), gemsnn.RaisedCosine(2, 6))
    return make_problem(network, rule(0.02, 0.9, gamma), T=T, K=K, seed=seed)


def stream_of(problem, engine="compiled", **options):
    return gemsnn.Stream(problem.network, problem.parameters, problem.rule, problem.K, engine=engine, **options)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_stream_that_never_learns_equals_sampling(engine):
    problem = make()
    stream = stream_of(problem, engine, seed=3)
    spikes = np.stack([stream.step(problem.inputs[t]).spikes for t in range(problem.T)])
    np.testing.assert_array_equal(
        spikes, gemsnn.sample(problem.network, problem.parameters, problem.inputs, 3, seed=3, engine=engine)
    )
    assert stream.parameters == problem.parameters


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("gamma", "rule"),
    [(0.9, gemsnn.GEM), (1.0, gemsnn.GEM), (0.9, gemsnn.Feedback), (0.9, gemsnn.MB), (0.9, gemsnn.IW)],
)
def test_reading_the_parameters_does_not_change_what_follows(engine, gamma, rule):
    problem = make(gamma=gamma, rule=rule)
    watched, left_alone = stream_of(problem, engine), stream_of(problem, engine)
    for t in range(problem.T):
        target = problem.targets[t] if t % 7 else None
        info, expected = (stream.step(problem.inputs[t], target) for stream in (watched, left_alone))
        np.testing.assert_array_equal(info.spikes, expected.spikes)
        np.testing.assert_allclose(info.log_likelihood, expected.log_likelihood, rtol=1e-11, atol=1e-12)
        if t % 5 == 0 or 60 < t < 70:
            watched.parameters.bias[:] = np.nan  # a copy: nobody minds
    assert_parameters_close(watched.parameters, left_alone.parameters, 1e-12)


@pytest.mark.parametrize("engine", ENGINES)
def test_what_a_step_returned_is_not_overwritten_by_later_steps(engine):
    problem = make()
    stream = stream_of(problem, engine)
    info = stream.step(problem.inputs[0], problem.targets[0])
    kept = [np.copy(value) for value in info]
    for t in range(1, 120):
        stream.step(problem.inputs[t], problem.targets[t] if t % 2 else None)
    for value, copied in zip(info, kept, strict=True):
        np.testing.assert_array_equal(value, copied)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_stream_never_changes_its_arguments(engine):
    problem = make(T=60)
    before = problem.parameters.copy()
    stream = stream_of(problem, engine)
    for t in range(problem.T):
        stream.step(problem.inputs[t], problem.targets[t])
    assert problem.parameters == before
    assert stream.parameters != before


@pytest.mark.parametrize("engine", ENGINES)
def test_votes_probabilities_and_importance_are_known_at_any_moment(engine):
    problem = make(T=40)
    stream = stream_of(problem, engine)
    np.testing.assert_array_equal(stream.importance, np.full(3, 1 / 3))
    np.testing.assert_array_equal(stream.votes(), [0, 0])
    np.testing.assert_array_equal(stream.probabilities(), [0.5, 0.5])
    counts = np.zeros((3, 2), dtype=int)
    for t in range(problem.T):
        free = t % 4 == 3
        info = stream.step(problem.inputs[t], None if free else problem.targets[t])
        assert info.time == stream.time == t + 1
        np.testing.assert_array_equal(info.importance, stream.importance)
        np.testing.assert_allclose(info.importance, softmax(info.log_weights), rtol=1e-12)
        if free:
            counts += info.spikes[:, 3:]
        else:
            np.testing.assert_array_equal(info.spikes[:, 3:], np.tile(problem.targets[t], (3, 1)))
        np.testing.assert_array_equal(info.counts, counts)
        votes = [sum(1 for row in counts if np.argmax(row) == c) for c in (0, 1)] if t >= 3 else [0, 0]
        np.testing.assert_array_equal(info.votes, votes)
        np.testing.assert_array_equal(stream.votes(), votes)
        np.testing.assert_allclose(info.probabilities, softmax(np.array(votes, dtype=float)), rtol=1e-12)
        np.testing.assert_array_equal(stream.probabilities(), info.probabilities)
        total = counts.sum(axis=0)
        ranking = sorted((0, 1), key=lambda c: (-votes[c], -total[c], c))
        assert stream.predict() == ranking[0]


@pytest.mark.parametrize("engine", ENGINES)
def test_while_running_freely_log_weights_fade_and_nothing_is_learned(engine):
    problem = make(T=30)
    stream = stream_of(problem, engine)
    for t in range(10):
        info = stream.step(problem.inputs[t], problem.targets[t])
    weights, log_weights = stream.parameters, info.log_weights
    for t in range(10, 20):
        info = stream.step(problem.inputs[t])
        log_weights = 0.9 * log_weights
        np.testing.assert_allclose(info.log_weights, log_weights, rtol=1e-12)
    assert_parameters_close(stream.parameters, weights, 1e-14)


@pytest.mark.parametrize("engine", ENGINES)
def test_after_a_reset_the_stream_is_a_new_one_with_the_weights_learned_so_far(engine):
    problem = make(T=60)
    stream = stream_of(problem, engine, seed=5)
    for t in range(problem.T):
        stream.step(problem.inputs[t], problem.targets[t] if t < 55 else None)
    learned = stream.parameters
    stream.reset()
    assert stream.parameters == learned
    assert stream.time == 0
    np.testing.assert_array_equal(stream.votes(), [0, 0])
    np.testing.assert_array_equal(stream.importance, np.full(3, 1 / 3))
    infos = [stream.step(problem.inputs[t], problem.targets[t]) for t in range(problem.T)]
    fresh = gemsnn.learn(
        problem.network, learned, problem.rule, problem.inputs, problem.targets, 3, seed=5, example=1, engine=engine
    )
    np.testing.assert_array_equal(np.stack([info.spikes[:, :3] for info in infos]), fresh.hidden)
    np.testing.assert_allclose(
        np.stack([info.log_weights for info in infos]), fresh.log_weights, rtol=1e-11, atol=1e-12
    )
    assert_parameters_close(stream.parameters, fresh.parameters, 1e-12)


def learn_to_swap(stream, n_steps):
    """Learn to say the two inputs in the other order, and try it out at every tenth step."""
    patterns = np.random.default_rng(0).integers(0, 2, (97, 2)).astype(np.uint8)
    for t in range(n_steps):
        x = patterns[t % 97]
        info = stream.step(x, x[::-1] if t % 10 else None)
    return info


def swapping_stream(engine, dtype, gamma):
    network = gemsnn.Network(gemsnn.Topology.random(2, 2, 2, 1.0), gemsnn.RaisedCosine(2, 5))
    return gemsnn.Stream(network, network.init(dtype=dtype), gemsnn.GEM(1e-4, 0.9, gamma), 2, engine=engine)


def test_a_hundred_thousand_steps_take_constant_memory_and_keep_numbers_finite():
    stream = swapping_stream("compiled", np.float32, gamma=0.9)
    learn_to_swap(stream, 20_000)
    held, resident = bytes_held(stream), resident_bytes()
    info = learn_to_swap(stream, 80_000)
    grown = resident_bytes() - resident
    assert stream.time == 100_000
    assert bytes_held(stream) == held > 0
    assert grown < 4e6  # 50 bytes a step; a leaked array takes more than 100
    for value in (*info, stream.parameters.synaptic, stream.parameters.somatic, stream.parameters.bias):
        assert np.isfinite(value).all()
    assert info.importance.sum() == pytest.approx(1)
    assert int(info.votes.sum()) == 2


@pytest.mark.parametrize(
    ("engine", "gamma", "dtype"),
    [
        ("reference", 1.0, np.float64),
        ("compiled", 0.9, np.float32),
        ("compiled", 0.999, np.float64),
        ("compiled", 1.0, np.float32),
    ],
)
def test_what_a_stream_holds_does_not_grow_whatever_the_memory_of_the_eligibility(engine, gamma, dtype):
    stream = swapping_stream(engine, dtype, gamma)

    def most_held(n_steps):  # the window fills up and is emptied, so what counts is its ceiling
        most = 0
        for _ in range(n_steps // 48):
            learn_to_swap(stream, 48)
            most = max(most, bytes_held(stream))
        return most

    first = most_held(2400 if engine == "compiled" else 96)
    assert most_held(2400 if engine == "compiled" else 480) == first > 0

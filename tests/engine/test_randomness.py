"""A draw depends on what it is for, and on nothing else."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from scipy.special import logit

import gemsnn
from gemsnn.engine import compiled, randomness
from gemsnn.engine.randomness import Given, Uniforms, take_logs, write_odds


def draw(n_steps=50, *, seed=1, example=2, K=3, n_hidden=4, n_visible=0, start=0):
    return Uniforms(seed, example, K, n_hidden, n_visible, start=start).draw(n_steps)


def test_draws_are_uniform_on_the_unit_interval():
    values = draw(2000, K=2, n_hidden=5).ravel()
    assert values.min() >= 0
    assert values.max() < 1
    assert stats.kstest(values, "uniform").pvalue > 1e-5  # false alarm: one seed in a hundred thousand


def test_a_compartment_draws_the_same_whatever_the_number_of_compartments():
    np.testing.assert_array_equal(draw(K=7)[:, :3], draw(K=3))


def test_hidden_neurons_draw_the_same_whether_or_not_the_visible_ones_draw():
    np.testing.assert_array_equal(draw(n_visible=3)[:, :, :4], draw(n_visible=0))


def test_the_number_of_hidden_neurons_does_not_change_the_draws_of_the_visible_ones():
    np.testing.assert_array_equal(draw(n_hidden=4, n_visible=3)[:, :, 4:], draw(n_hidden=1, n_visible=3)[:, :, 1:])


@pytest.mark.parametrize("n_hidden", [1, 3, 4, 5])
@pytest.mark.parametrize("start", [1, 2, 3, 4, 7, 64, 1001])
def test_draws_can_be_taken_up_at_any_step(n_hidden, start):
    whole = draw(start + 20, n_hidden=n_hidden, n_visible=2)
    np.testing.assert_array_equal(draw(20, n_hidden=n_hidden, n_visible=2, start=start), whole[start:])


def test_draws_in_several_calls_equal_those_in_one():
    uniforms = Uniforms(1, 2, 3, 4, 2)
    pieces = np.concatenate([uniforms.draw(n) for n in (1, 5, 64, 3)])
    np.testing.assert_array_equal(pieces, draw(73, n_visible=2))


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 5e-7), (np.float64, 1e-15)])
@pytest.mark.parametrize(("n_hidden", "n_visible"), [(4, 3), (201, 2), (0, 2), (3, 0)])
def test_logits_are_those_of_the_draws_and_go_on_where_these_stop(dtype, tolerance, n_hidden, n_visible):
    sizes = {"n_hidden": n_hidden, "n_visible": n_visible}
    expected = logit(draw(30, **sizes))
    uniforms, given = Uniforms(1, 2, 3, n_hidden, n_visible), Given(draw(30, **sizes))
    logits = np.empty(expected.shape, dtype)
    uniforms.draw(7)
    uniforms.draw_logits(logits[7:20])
    uniforms.draw_logits(logits[20:])
    np.testing.assert_allclose(logits[7:], expected[7:], rtol=tolerance, atol=tolerance)
    given.draw_logits(logits)
    np.testing.assert_allclose(logits, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 2e-7), (np.float64, 3e-16)])
def test_odds_keep_their_digits_at_both_ends(dtype, tolerance):
    ends = [0, 1, 2, 3, 2**24 + 1, 2**31 - 1, 2**31, 2**32 - 2**24, 2**32 - 3, 2**32 - 2, 2**32 - 1]
    numbers = np.array([[ends]], dtype=np.uint32)
    odds = np.empty((1, 1, len(ends)), dtype)
    write_odds(numbers, odds)
    exact = [Fraction(2 * n + 1, 2**33 - 2 * n - 1) for n in ends]
    np.testing.assert_allclose(odds[0, 0], [float(value) for value in exact], rtol=tolerance)


def test_logs_are_those_of_arithmetic_that_rounds_after_every_operation_and_near_the_exact_ones():
    odds = np.exp(np.random.default_rng(0).uniform(-22.9, 22.9, 20_000)).astype(np.float32)
    logs = odds.copy()
    take_logs(logs)
    above = odds.view(np.int32) - randomness._HALF_ROOT
    exponent = (above >> 23).astype(np.float32)
    x = ((above & 0x007FFFFF) + randomness._HALF_ROOT).view(np.float32) - np.float32(1)
    series = np.full_like(x, randomness._TERMS[0])
    for term in randomness._TERMS[1:]:
        series = series * x + term
    y = x * (x * x) * series + exponent * randomness._LOG_2[1] - np.float32(0.5) * (x * x)
    np.testing.assert_array_equal(logs, (x + y) + exponent * randomness._LOG_2[0])
    exact = np.log(odds.astype(np.float64))
    assert (np.abs(logs - exact) <= np.spacing(np.abs(exact).astype(np.float32))).all()


@pytest.mark.parametrize(("seed", "example"), [(0, 0), (1, 2), (2**64 - 1, 2**63 + 5)])
def test_numbers_are_those_of_numpys_philox(seed, example):
    """Its low counter words advance with the draws, the third tells populations apart, the fourth compartments."""
    drawn = draw(9, seed=seed, example=example, K=2, n_hidden=5, n_visible=3) * 2**32 - 0.5
    for population, columns in ((0, slice(0, 5)), (1, slice(5, 8))):
        for compartment in range(2):
            key = np.array([seed, example], dtype=np.uint64)
            numpys = np.random.Philox(key=key, counter=[0, 0, population, compartment]).random_raw(30)
            expected = numpys.astype("<u8").view("<u4")[: drawn[:, compartment, columns].size]
            np.testing.assert_array_equal(drawn[:, compartment, columns].ravel(), expected)


def test_every_seed_example_compartment_and_population_has_draws_of_its_own():
    streams = [
        draw(8, seed=seed, example=example, K=2, n_hidden=2, n_visible=2)[:, k, columns].tobytes()
        for seed, example, k, columns in itertools.product((0, 1, 2**63), (0, 1), (0, 1), (slice(0, 2), slice(2, 4)))
    ]
    assert len(set(streams)) == len(streams)


def test_seed_and_example_are_not_interchangeable():
    assert (draw(seed=1, example=2) != draw(seed=2, example=1)).all()


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_learning_sampling_and_a_stream_give_the_hidden_neurons_the_same_draws(engine):
    # Nothing reaches the hidden neurons from the visible ones, so the same draws are the same spikes.
    network = gemsnn.Network.fully_connected(3, 4, 2)
    parameters = network.init(seed=1, hidden_bias=0.0, dtype=np.float64)
    rng = np.random.default_rng(0)
    inputs, targets = rng.integers(0, 2, (80, 3)), rng.integers(0, 2, (80, 2))
    frozen = gemsnn.GEM(learning_rate=0.0)
    learned = gemsnn.learn(network, parameters, frozen, inputs, targets, 3, seed=6, engine=engine).hidden
    sampled = gemsnn.sample(network, parameters, inputs, 3, seed=6, engine=engine)[:, :, :4]
    stream = gemsnn.Stream(network, parameters, frozen, 5, seed=6, engine=engine)
    lived = np.stack([stream.step(inputs[t], targets[t] if t % 2 else None).spikes[:3, :4] for t in range(80)])
    np.testing.assert_array_equal(learned, sampled)
    np.testing.assert_array_equal(learned, lived)
    assert 0.2 < learned.mean() < 0.8


def test_sampling_with_more_compartments_keeps_the_spikes_of_the_others_on_both_engines():
    network = gemsnn.Network(gemsnn.Topology.random(3, 4, 2, 1.0))
    parameters = network.init(seed=1, hidden_bias=0.0, dtype=np.float64)
    inputs = np.random.default_rng(0).integers(0, 2, (40, 3))
    runs = [
        gemsnn.sample(network, parameters, inputs, K, seed=6, engine=engine, threads=threads)[:, :2]
        for K, engine, threads in ((2, "compiled", 1), (9, "compiled", 2), (5, "reference", 1))
    ]
    np.testing.assert_array_equal(runs[0], runs[1])
    np.testing.assert_array_equal(runs[0], runs[2])


@pytest.mark.parametrize("form", ["sparse", "event"])
def test_no_bit_depends_on_where_arrays_lie_in_memory(form, monkeypatch):
    """Sums that a vectorised loop adds up in another order than the loop beside it would show here."""
    monkeypatch.setattr(compiled, "FORM", form)
    network = gemsnn.Network(gemsnn.Topology.random(1, 2, 1, 1.0), gemsnn.RaisedCosine(1, 1))
    parameters, rng = network.init(0, dtype=np.float64), np.random.default_rng(0)
    targets, inputs = rng.random((20, 1)) < 0.5, rng.random((20, 1)) < 0.5
    rule, found, held = gemsnn.Feedback(0.01, 1.0, 1.0, gain=3.0), set(), []
    for n in range(200):
        held = held[-40:] + [np.empty(rng.integers(1, 400)) for _ in range(n % 3)]
        result = gemsnn.learn(network, parameters, rule, inputs, targets, 4, seed=3)
        found.add(result.parameters.synaptic.tobytes() + result.log_likelihood.tobytes())
    assert len(found) == 1

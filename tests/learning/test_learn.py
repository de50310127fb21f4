"""Contracts of learning from a sequence."""

import copy
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import assert_close, assert_parameters_close, assert_results_close, examples, make_problem, problems
from states import arrays_of

import gemsnn
from gemsnn.engine.randomness import Uniforms

ENGINES = ("compiled", "reference")


def feedback_network() -> gemsnn.Network:
    """Everything feeds everything, through filters that differ."""
    return gemsnn.Network(
        gemsnn.Topology.random(4, 3, 2, 1.0), gemsnn.RaisedCosine(2, 6), gemsnn.Exponential((1.0, 5.0, 20.0), 18)
    )


def sparse_network() -> gemsnn.Network:
    return gemsnn.Network(gemsnn.Topology.random(4, 3, 2, 0.6, seed=2), visible_memory=False)


def learn_in_pieces(problem, engine, borders, **options):
    """The sequence cut at the borders, each piece going on from the state of the one before."""
    parameters, state, parts = problem.parameters, None, []
    edges = [0, *borders, problem.T]
    for first, last in pairwise(edges):
        piece = {name: value[first:last] for name, value in options.items()}
        seed = {} if "uniforms" in options else {"seed": problem.seed}
        result = gemsnn.learn(
            problem.network, parameters, problem.rule, problem.inputs[first:last], problem.targets[first:last],
            problem.K, engine=engine, state=state, **piece, **seed,
        )  # fmt: skip
        parameters, state = result.parameters, result.state
        parts.append(result)
    names = ("log_weights", "importance", "log_likelihood", "report", "hidden")
    joined = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    return gemsnn.LearnResult(parameters=parameters, state=state, **joined)


@pytest.mark.parametrize("engine", ENGINES)
@examples(40)
@given(problem=problems(), data=st.data())
def test_pieces_run_one_after_the_other_equal_the_whole(engine, problem, data):
    borders = sorted(data.draw(st.sets(st.integers(1, max(1, problem.T - 1)), max_size=4))) if problem.T > 1 else []
    uniforms = problem.uniforms(problem.network.n_hidden)
    whole = problem.learn(engine, uniforms=uniforms)
    assert_results_close(learn_in_pieces(problem, engine, borders, uniforms=uniforms), whole, 1e-12)
    drawn = problem.learn(engine, seed=problem.seed)
    assert_results_close(learn_in_pieces(problem, engine, borders), drawn, 1e-12)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("gamma", [0.9, 0.995, 1.0])
@pytest.mark.parametrize("borders", [(150,), (1, 2, 130, 131, 299), (128, 256), (40, 80, 120, 160, 200, 240)])
@pytest.mark.parametrize("network", [feedback_network(), sparse_network()], ids=["feedback", "sparse"])
def test_pieces_of_a_long_sequence_equal_the_whole(engine, gamma, borders, network):
    problem = make_problem(network, gemsnn.GEM(0.01, 0.95, gamma), T=300, K=3, seed=1)
    whole = problem.learn(engine, seed=problem.seed)
    assert_results_close(learn_in_pieces(problem, engine, borders), whole, 1e-12)


@pytest.mark.parametrize("engine", ENGINES)
@examples(25)
@given(problem=problems(lengths=st.sampled_from([1, 10, 48, 49, 100, 130])))
def test_learning_equals_as_many_steps_of_a_stream(engine, problem):
    whole = problem.learn(engine, seed=problem.seed)
    stream = gemsnn.Stream(problem.network, problem.parameters, problem.rule, problem.K, problem.seed, engine)
    for t in range(problem.T):
        info = stream.step(problem.inputs[t], problem.targets[t])
        np.testing.assert_array_equal(info.spikes[:, : problem.network.n_hidden], whole.hidden[t])
        for name in ("log_likelihood", "log_weights", "importance"):
            assert_close(getattr(info, name), getattr(whole, name)[t], 1e-12, name)
    assert_parameters_close(stream.parameters, whole.parameters, 1e-12)


@pytest.mark.parametrize("engine", ENGINES)
def test_in_float32_pieces_equal_the_whole_to_rounding(engine):
    problem = make_problem(feedback_network(), gemsnn.GEM(0.01), T=150, K=3)
    single = problem.parameters.astype(np.float32)
    uniforms = np.round(problem.uniforms(3), 1)  # 0, 0.1, ..., 1: no probability of this run is that close to one
    whole = problem.learn(engine, parameters=single, uniforms=uniforms)
    parameters, state = single, None
    for first in (0, 50, 100):
        piece = slice(first, first + 50)
        result = gemsnn.learn(
            problem.network, parameters, problem.rule, problem.inputs[piece], problem.targets[piece], 3,
            uniforms=uniforms[piece], engine=engine, state=state,
        )  # fmt: skip
        parameters, state = result.parameters, result.state
    assert parameters.dtype == np.float32
    assert_parameters_close(parameters, whole.parameters, 2e-5)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_state_can_be_used_twice(engine):
    problem = make_problem(feedback_network(), gemsnn.GEM(0.01), T=140, K=3)
    first = problem.learn(engine, seed=1)
    kept, kept_state = first.parameters.copy(), copy.deepcopy(first.state)
    again = [problem.learn(engine, parameters=first.parameters, seed=1, state=first.state) for _ in range(2)]
    assert again[0].parameters == again[1].parameters
    assert first.parameters == kept
    assert_same_bits(first.state, kept_state)


def assert_same_bits(a, b):
    assert (a.time, a.network) == (b.time, b.network)
    for one, other in zip(arrays_of(a), arrays_of(b), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("engine", ENGINES)
def test_learning_never_changes_its_arguments(engine, dtype):
    problem = make_problem(feedback_network(), gemsnn.GEM(0.05), T=150, K=3)
    parameters, uniforms = problem.parameters.astype(dtype), problem.uniforms(3)
    inputs, targets = problem.inputs.astype(bool), problem.targets.astype(np.float64)
    arrays = [parameters.synaptic, parameters.somatic, parameters.bias, inputs, targets, uniforms]
    before = [array.copy() for array in arrays]
    result = gemsnn.learn(
        problem.network, parameters, problem.rule, inputs, targets, 3, uniforms=uniforms, engine=engine
    )
    assert result.parameters != parameters
    for array, copied in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, copied)
    for name in ("synaptic", "somatic", "bias"):
        assert not np.shares_memory(getattr(result.parameters, name), getattr(parameters, name))


@pytest.mark.parametrize("dtype", [bool, np.int64, np.uint8, np.float32, np.float64])
def test_spikes_may_come_in_any_dtype_and_memory_order(dtype):
    problem = make_problem(feedback_network(), gemsnn.GEM(0.05), T=20, K=2)
    expected = problem.learn("compiled", seed=1)
    result = gemsnn.learn(
        problem.network, problem.parameters, problem.rule, np.asfortranarray(problem.inputs.astype(dtype)),
        problem.targets.astype(dtype).tolist(), 2, seed=1,
    )  # fmt: skip
    assert result.parameters == expected.parameters


@pytest.mark.parametrize("engine", ENGINES)
def test_parameters_may_come_in_any_memory_order(engine):
    problem = make_problem(feedback_network(), gemsnn.GEM(0.05), T=140, K=2)
    expected = problem.learn(engine, seed=1)
    p = problem.parameters
    turned = gemsnn.Parameters(
        np.asfortranarray(p.synaptic), np.asfortranarray(p.somatic), np.stack([p.bias] * 2, 1)[:, 0]
    )
    assert_parameters_close(problem.learn(engine, seed=1, parameters=turned).parameters, expected.parameters, 1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("engine", ENGINES)
def test_the_same_seed_gives_the_same_bits_and_another_seed_others(engine, dtype):
    problem = make_problem(feedback_network(), gemsnn.GEM(0.05), T=40, K=3)
    parameters = problem.parameters.astype(dtype)
    one, same = (problem.learn(engine, parameters=parameters, seed=5) for _ in range(2))
    assert one.parameters == same.parameters
    np.testing.assert_array_equal(one.importance, same.importance)
    for other in ({"seed": 6}, {"seed": 5, "example": 1}):
        assert (problem.learn(engine, parameters=parameters, **other).hidden != one.hidden).any()


@pytest.mark.parametrize("engine", ENGINES)
def test_more_compartments_do_not_change_the_draws_of_the_others(engine):
    problem = make_problem(feedback_network(), gemsnn.GEM(0.0), T=30, K=1)
    arguments = (problem.network, problem.parameters, problem.rule, problem.inputs, problem.targets)
    few, many = (gemsnn.learn(*arguments, K, seed=7, engine=engine) for K in (2, 6))
    np.testing.assert_array_equal(many.hidden[:, :2], few.hidden)
    # The sums of another form of the engine may differ in the last bits.
    np.testing.assert_allclose(many.log_likelihood[:, :2], few.log_likelihood, rtol=1e-13)
    assert (many.hidden[:, 0] != many.hidden[:, 1]).any()


@pytest.mark.parametrize("engine", ENGINES)
def test_learning_and_drawing_by_hand_see_the_same_numbers(engine):
    problem = make_problem(feedback_network(), gemsnn.GEM(0.02), T=30, K=3)
    by_seed = problem.learn(engine, seed=7, example=4)
    by_hand = problem.learn(engine, uniforms=Uniforms(7, 4, 3, problem.network.n_hidden).draw(30))
    assert by_seed.parameters == by_hand.parameters


@pytest.mark.parametrize("engine", ENGINES)
def test_a_learning_rate_of_zero_changes_nothing(engine):
    problem = make_problem(feedback_network(), gemsnn.GEM(0.0), T=140, K=3)
    assert problem.learn(engine, seed=0).parameters == problem.parameters


@pytest.mark.parametrize("engine", ENGINES)
def test_synapses_that_do_not_exist_stay_exactly_zero(engine):
    problem = make_problem(sparse_network(), gemsnn.GEM(0.1), T=140, K=3)
    learned = problem.learn(engine, seed=0).parameters
    absent = ~problem.network.topology.mask
    assert absent.any()
    assert not learned.synaptic[absent].any()
    assert not learned.somatic[problem.network.n_hidden :].any()  # visible_memory=False
    assert (learned.synaptic[~absent] != problem.parameters.synaptic[~absent]).mean() > 0.9


def test_the_results_have_the_documented_shapes_and_types():
    problem = make_problem(feedback_network(), gemsnn.GEM(), T=7, K=3)
    for engine in ENGINES:
        result = problem.learn(engine, parameters=problem.parameters.astype(np.float32))
        for name in ("log_weights", "importance", "log_likelihood"):
            assert getattr(result, name).shape == (7, 3)
            assert getattr(result, name).dtype == np.float64
        assert result.hidden.shape == (7, 3, 3)
        assert result.hidden.dtype == bool
        assert result.parameters.dtype == np.float32
        np.testing.assert_allclose(result.importance.sum(axis=1), 1, rtol=1e-12)
    assert problem.learn("compiled").messages is None


def test_a_change_of_rule_between_two_pieces_acts_from_there_on():
    problem = make_problem(feedback_network(), gemsnn.GEM(0.05, 0.9, 0.9), T=60, K=3)
    changed = gemsnn.GEM(0.02, 0.7, 0.6)
    fast, slow = (problem.learn(engine, seed=0) for engine in ENGINES)
    arguments = (problem.inputs, problem.targets, 3)
    after_fast = gemsnn.learn(problem.network, fast.parameters, changed, *arguments, state=fast.state)
    after_slow = gemsnn.learn(
        problem.network, slow.parameters, changed, *arguments, state=slow.state, engine="reference"
    )
    assert_results_close(after_fast, after_slow, 1e-11)

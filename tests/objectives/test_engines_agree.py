"""Learning for any objective: both forms of the compiled engine against the reference engine."""

from dataclasses import replace

import numpy as np
import pytest
from circuits import circuit_problems
from hypothesis import assume, given
from hypothesis import strategies as st
from own_objective import Priced, Tempered
from problems import assert_parameters_close, assert_results_close, examples, problems

import gemsnn
from gemsnn.engine import compiled
from gemsnn.engine.event_plan import event_plan
from gemsnn.learning import Lesson, Lessons
from gemsnn.objectives import VanRossum

OBJECTIVES = st.one_of(
    st.builds(VanRossum, st.sampled_from([0.5, 5.0, 20.0])),
    st.builds(Priced, st.sampled_from([0.0, 0.1]), st.booleans()),
    st.builds(Tempered, st.sampled_from([0.5, 2.0])),
)
TOLERANCE = 1e-11


@pytest.fixture(params=["event", "sparse"], autouse=True, scope="module")
def form(request):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled, "FORM", request.param)
        yield request.param


def allowed(objective, problem):
    """The problem, with the settings that learning from free spikes needs."""
    rule = problem.rule
    if objective.free and isinstance(rule, gemsnn.GEM):
        problem = replace(problem, rule=replace(rule, centred=True))
    if compiled.FORM == "event":
        assume(event_plan(problem.network, objective.free, problem.parameters.dtype) is not None)
    assume(objective.refuse(problem.rule, problem.network, problem.K) is None or not objective.free)
    return problem


def learned(problem, objective, engine, **options):
    drawn = problem.network.n_neurons if objective.free else problem.network.n_hidden
    return problem.learn(engine, uniforms=problem.uniforms(drawn), objective=objective, **options)


def check(problem, objective, **options):
    problem = allowed(objective, problem)
    expected = learned(problem, objective, "reference", **options)
    assume(all(np.isfinite(vars(expected.parameters)[name]).all() for name in ("synaptic", "bias")))
    result = learned(problem, objective, "compiled", **options)
    assert_results_close(result, expected, TOLERANCE)
    problem.network.check_parameters(result.parameters)
    np.testing.assert_allclose(result.state.objective_memory, expected.state.objective_memory, rtol=0, atol=1e-11)


@examples(12)
@given(problems(), OBJECTIVES)
def test_bernoulli_neurons(problem, objective):
    check(problem, objective)


@examples(10)
@given(circuit_problems(), OBJECTIVES)
def test_winner_take_all_circuits(problem, objective):
    check(problem, objective)


@examples(2)
@given(problems(lengths=st.sampled_from([128, 129, 257]), most_compartments=3), OBJECTIVES)
def test_several_blocks(problem, objective):
    check(problem, objective)


@examples(6)
@given(problems(), OBJECTIVES, st.integers(0, 1000))
def test_traces_less_their_means(problem, objective, seed):
    shape = problem.network.n_inputs, problem.network.synaptic_filter.n_basis
    means = gemsnn.TraceMeans(np.random.default_rng(seed).random(shape))
    check(problem, objective, means=means)


@examples(4)
@given(problems(lengths=st.integers(2, 30)), OBJECTIVES, st.floats(0, 1))
def test_a_sequence_in_two_parts_is_the_sequence(problem, objective, where):
    problem = allowed(objective, problem)
    cut = min(1 + int(where * (problem.T - 1)), problem.T - 1)
    drawn = problem.uniforms(problem.network.n_neurons if objective.free else problem.network.n_hidden)
    whole = learned(problem, objective, "compiled")
    parameters, state = problem.parameters, None
    for part in (slice(0, cut), slice(cut, None)):
        result = gemsnn.learn(
            problem.network, parameters, problem.rule, problem.inputs[part], problem.targets[part], problem.K,
            uniforms=drawn[part], objective=objective, state=state,
        )  # fmt: skip
        parameters, state = result.parameters, result.state
    assert_parameters_close(result.parameters, whole.parameters, 1e-10)
    np.testing.assert_allclose(result.log_weights, whole.log_weights[cut:], rtol=0, atol=1e-9)


@pytest.mark.parametrize("objective", [VanRossum(3.0), Priced(), Tempered()], ids=lambda o: type(o).__name__)
@pytest.mark.parametrize("rule", [gemsnn.MB(0.01), gemsnn.Feedback(0.01)], ids=lambda r: type(r).__name__)
def test_a_batch_adds_what_each_of_its_examples_changes_on_any_number_of_threads(objective, rule):
    network = gemsnn.Network.fully_connected(5, 4, 3)
    rng = np.random.default_rng(2)
    start = network.init(seed=1, weight_scale=1.0)
    batch = [
        Lesson((rng.random((T, 5)) < 0.4).astype(np.uint8), (rng.random((T, 3)) < 0.3).astype(np.uint8), rule, n)
        for n, T in enumerate((30, 12, 21))
    ]
    expected = start.astype(np.float64)
    for number, lesson in enumerate(batch):
        alone = gemsnn.learn(
            network, start.astype(np.float64), rule, lesson.inputs, lesson.targets, 2,
            seed=3, example=number, engine="reference", objective=objective,
        )  # fmt: skip
        for name in ("synaptic", "somatic", "bias"):
            getattr(expected, name)[...] += getattr(alone.parameters, name) - getattr(start, name)
    for threads in (1, 2):
        lessons = Lessons(network, 2, 30, seed=3, threads=threads, objective=objective)
        parameters, found = lessons.learn(start.astype(np.float64), batch)
        assert_parameters_close(parameters, expected, TOLERANCE)
        assert [one.report.shape for one in found] == [(30, 2), (12, 2), (21, 2)]
        assert [one.visible.shape for one in found] == [(30, 2, 3), (12, 2, 3), (21, 2, 3)]

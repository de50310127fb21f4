"""What every engine promises: one list of checks, run on all engines."""

from dataclasses import replace

import circuits
import numpy as np
import pytest
from own_rule import Quiet
from problems import assert_close, assert_parameters_close, random_parameters
from states import arrays_of

import gemsnn
from gemsnn.engine import ENGINES, compiled, engine_named
from gemsnn.engine.protocol import Example, Info, State
from gemsnn.engine.randomness import Uniforms
from gemsnn.engine.task import Task
from gemsnn.model.spike_list import SpikeList

T, K, N = 50, 4, 6
TOLERANCE = 1e-10
FORMS = [
    *((name, None) for name in sorted(ENGINES.keys() - {"compiled"})),
    ("compiled", "event"),
    ("compiled", "sparse"),
]

network = gemsnn.Network(
    gemsnn.Topology.fully_connected(4, 6, 3),
    gemsnn.RaisedCosine(3, 10),
    gemsnn.Exponential((4.0,), 14),
    circuits=[[0, 5], gemsnn.Circuit((6, 7), silent=True)],
)
_rng = np.random.default_rng(1)
parameters = random_parameters(network, _rng, 0.7)
inputs = (_rng.random((N, T, 4)) < 0.4).astype(np.uint8)
targets = np.stack([circuits.random_targets(network, T, _rng) for _ in range(N)])
rule = Quiet(learning_rate=5e-3)


def draws_of(visible):
    return lambda n: Uniforms(7, n, K, network.n_hidden, network.n_visible if visible else 0)


def learned(engine, of=parameters):
    learner = engine.learner(Task(network, rule, K), of)
    info = learner.run(inputs[0], targets[0], draws_of(False)(0).draw(T))
    return (*learner.take(), info)


def simulated(engine, clamped=False, of=parameters, n=N, threads=1):
    given = targets[:n] if clamped else None
    return engine.running(network, of).simulate(inputs[:n], K, draws_of(not clamped), given, threads)


# ---- the checks


def says_what_it_did_in_the_shapes_of_the_protocol(engine):
    _, state, info = learned(engine)
    assert isinstance(state, State)
    assert (state.time, state.n_compartments, state.network, state.dtype) == (T, K, network, np.float64)
    assert ENGINES[state.engine] == engine.__name__
    assert isinstance(info, Info)
    assert info.spikes.shape == (T, K, network.n_neurons)
    assert info.spikes.dtype == bool
    for values in (info.log_likelihood, info.log_weights, info.importance):
        assert values.shape == (T, K)
    np.testing.assert_array_equal(
        info.spikes[:, :, network.n_hidden :], np.broadcast_to(targets[0][:, None], (T, K, network.n_visible))
    )
    np.testing.assert_array_equal(info.log_weights[-1], state.log_weights)
    spikes, potential = simulated(engine)
    assert (spikes.shape, potential.shape) == ((N, T, K, network.n_neurons), (N, T, K, network.n_visible))


def leaves_its_arguments_unchanged(engine):
    given = [*vars(parameters).values(), inputs, targets]
    before = [array.copy() for array in given]
    learned(engine)
    simulated(engine)
    simulated(engine, clamped=True)
    for array, copy in zip(given, before, strict=True):
        np.testing.assert_array_equal(array, copy)


def gives_the_same_bits_on_any_number_of_threads(engine):
    for dtype in (np.float32, np.float64):
        of = parameters.astype(dtype)
        runs = [simulated(engine, clamped, of) for clamped in (False, True)]
        for threads in (1, 2, 3):
            for clamped, run in zip((False, True), runs, strict=True):
                for a, b in zip(simulated(engine, clamped, of, threads=threads), run, strict=True):
                    np.testing.assert_array_equal(a, b)


def keeps_the_precision_that_it_is_given(engine):
    for dtype in (np.float32, np.float64):
        assert learned(engine, parameters.astype(dtype))[0].dtype == dtype


def learns_step_by_step_as_in_bulk(engine):
    bulk = learned(engine)
    uniforms = Uniforms(7, 0, K, network.n_hidden, network.n_visible).draw(T)
    for free in (False, True):
        learner = engine.learner(Task(network, rule, K), parameters, free=free)
        if not free:  # in pieces
            infos = [
                learner.run(inputs[0, part], targets[0, part], uniforms[part, :, : network.n_hidden])
                for part in (slice(0, 7), slice(7, 8), slice(8, T))
            ]
            info = Info(*(np.concatenate(values) for values in zip(*infos, strict=True)))
        else:
            infos = []
            for t in range(T):
                step = learner.step(inputs[0, t], targets[0, t], uniforms[t])
                infos.append(Info(*(np.array(value) for value in step)))
            info = Info(*(np.stack(values) for values in zip(*infos, strict=True)))
        np.testing.assert_array_equal(info.spikes, bulk[2].spikes)
        for a, b in zip(info[1:], bulk[2][1:], strict=True):
            assert_close(a, b, TOLERANCE)
        assert_parameters_close(learner.take()[0], bulk[0], TOLERANCE)


def computes_what_the_reference_engine_computes(engine):
    oracle = engine_named("reference")
    (of, state, info), (of_oracle, state_oracle, info_oracle) = learned(engine), learned(oracle)
    assert_parameters_close(of, of_oracle, TOLERANCE)
    np.testing.assert_array_equal(info.spikes, info_oracle.spikes)
    for a, b in zip(info[1:], info_oracle[1:], strict=True):
        assert_close(a, b, TOLERANCE)
    for name in ("log_weights", "processor_memory", "neuron_memory"):
        assert_close(getattr(state, name), getattr(state_oracle, name), TOLERANCE, name)
    for clamped in (False, True):
        run, expected = simulated(engine, clamped), simulated(oracle, clamped)
        np.testing.assert_array_equal(run.spikes, expected.spikes)
        assert_close(run.visible_potential, expected.visible_potential, TOLERANCE)


def goes_on_from_a_state_with_and_without_targets(engine):
    uniforms = Uniforms(7, 0, K, network.n_hidden, network.n_visible).draw(T)

    def steps(learner, part):
        for t in part:
            learner.step(inputs[0, t], targets[0, t] if t % 3 else None, uniforms[t])
        return learner.take()

    whole = steps(engine.learner(Task(network, rule, K), parameters, free=True), range(T))
    half = steps(engine.learner(Task(network, rule, K), parameters, free=True), range(20))
    rest = steps(engine.learner(Task(network, rule, K), half[0], free=True, state=half[1]), range(20, T))
    assert_parameters_close(rest[0], whole[0], TOLERANCE)
    assert_close(rest[1].log_weights, whole[1].log_weights, TOLERANCE)
    assert rest[1].time == whole[1].time == T


def learns_nothing_while_running_freely(engine):
    uniforms = Uniforms(7, 0, K, network.n_hidden, network.n_visible).draw(T)
    learner = engine.learner(Task(network, rule, K), parameters, free=True)
    for t in range(10):
        learner.step(inputs[0, t], targets[0, t], uniforms[t])
    before = learner.take()[0].copy()
    for t in range(10, T):
        learner.step(inputs[0, t], None, uniforms[t])
    assert learner.take()[0] == before


def gives_a_sequence_the_same_alone_and_among_others(engine):
    for clamped in (False, True):
        alone, together = simulated(engine, clamped, n=1), simulated(engine, clamped)
        for a, b in zip(alone, together, strict=True):
            np.testing.assert_array_equal(a[0], b[0])


def holds_no_more_memory_after_a_long_sequence(engine):
    fading = replace(rule, gamma=0.5)  # after some fifty steps nothing is left of an eligibility

    def held(n_steps):
        learner = engine.learner(Task(network, fading, K), parameters)
        uniforms = np.random.default_rng(0).random((n_steps, K, network.n_hidden))
        learner.run(np.resize(inputs[0], (n_steps, 4)), np.resize(targets[0], (n_steps, 3)), uniforms)
        return sum(array.nbytes for array in arrays_of(learner.take()[1]))

    # What is held depends on how far a window has come; memory that grows would have doubled.
    assert max(map(held, range(1500, 1800, 80))) <= 1.3 * max(map(held, range(700, 1000, 80)))


def learns_every_batch_as_if_it_were_the_first(engine):
    """To the bit: after others, with other settings of the rule, lengths and means, from arrays or from lists."""
    means = [np.full((4, 3), value) for value in (0.2, 0.0, 0.1)]
    orders = [[0, 1], [2, 1, 0], [1]]
    rules = [replace(rule, learning_rate=rule.learning_rate / (1 + n), gamma=0.9 - n / 10) for n in range(3)]

    def examples(number, as_list=False):
        found = []
        for n in orders[number]:
            spikes = inputs[n, : T - n]
            given = SpikeList.from_array(spikes, "inputs") if as_list else spikes
            found.append(Example(given, targets[n, : T - n], rules[number], draws_of(False)(n)))
        return found

    for dtype in (np.float32, np.float64):
        going_on = engine.batches(Task(network, rule, K), parameters.astype(dtype), steps=T, threads=1)
        for number in range(3):
            fresh = engine.batches(Task(network, rule, K), going_on.parameters.copy(), steps=T, threads=3)
            infos = zip(going_on.learn(examples(number), means[number]),
                        fresh.learn(examples(number, True), means[number]), strict=True)  # fmt: skip
            assert going_on.parameters.dtype == dtype
            assert going_on.parameters == fresh.parameters
            for one, other in infos:
                for a, b in zip(one, other, strict=True):
                    np.testing.assert_array_equal(a, b)


CHECKS = [
    learns_every_batch_as_if_it_were_the_first,
    says_what_it_did_in_the_shapes_of_the_protocol,
    leaves_its_arguments_unchanged,
    gives_the_same_bits_on_any_number_of_threads,
    keeps_the_precision_that_it_is_given,
    learns_step_by_step_as_in_bulk,
    computes_what_the_reference_engine_computes,
    goes_on_from_a_state_with_and_without_targets,
    learns_nothing_while_running_freely,
    gives_a_sequence_the_same_alone_and_among_others,
    holds_no_more_memory_after_a_long_sequence,
]


@pytest.mark.parametrize(("name", "form"), FORMS)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_every_engine(check, name, form, monkeypatch):
    monkeypatch.setattr(compiled, "FORM", form)
    check(engine_named(name))

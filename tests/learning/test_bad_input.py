"""Bad input gets a clear error, from whichever function is given it, and changes nothing."""

import numpy as np
import pytest

import gemsnn
from gemsnn import ConfigError, DataError, ShapeError

T, K = 5, 3
NETWORK = gemsnn.Network(gemsnn.Topology.random(4, 3, 2, 1.0), gemsnn.RaisedCosine(2, 6))
PARAMETERS = NETWORK.init(seed=0)
INPUTS, TARGETS = np.ones((T, 4)), np.zeros((T, 2))


def learn(**changes):
    arguments = {"inputs": INPUTS, "targets": TARGETS, "n_compartments": K, **changes}
    return gemsnn.learn(NETWORK, PARAMETERS, gemsnn.GEM(), **arguments)


def sample(**changes):
    return gemsnn.sample(NETWORK, PARAMETERS, **{"inputs": INPUTS, "n_compartments": K, **changes})


def log_likelihood(**changes):
    return gemsnn.log_likelihood(NETWORK, PARAMETERS, **{"inputs": INPUTS, "targets": TARGETS, **changes})


def predict(**changes):
    return gemsnn.predict(NETWORK, PARAMETERS, **{"inputs": INPUTS[None], "n_compartments": K, **changes})


def stream(**changes):
    return gemsnn.Stream(NETWORK, PARAMETERS, gemsnn.GEM(), **{"n_compartments": K, **changes})


def step(inputs_t=INPUTS[0], target_t=TARGETS[0]):
    return stream().step(inputs_t, target_t)


def spoiled(array, value):
    array = np.array(array, dtype=np.float64)
    array.flat[-1] = value
    return array


@pytest.fixture(autouse=True)
def _nothing_changes():
    before = PARAMETERS.copy()
    yield
    assert before == PARAMETERS


@pytest.mark.parametrize("engine", ["compiled", "reference"])
@pytest.mark.parametrize(
    ("call", "changes", "message"),
    [
        (learn, {"inputs": np.ones((T, 5))}, r"inputs has shape \(5, 5\), but \(T, n_inputs\) = \(any, 4\) is needed"),
        (learn, {"inputs": np.ones(4)}, r"inputs has shape \(4,\), but \(T, n_inputs\) = \(any, 4\)"),
        (learn, {"inputs": None}, r"inputs has shape \(\), but \(T, n_inputs\) = \(any, 4\)"),
        (
            learn,
            {"inputs": np.ones((0, 4)), "targets": np.ones((0, 2))},
            r"inputs has shape \(0, 4\): .* one time step",
        ),
        (learn, {"targets": np.ones((T + 1, 2))}, r"targets has shape \(6, 2\), but \(T, n_visible\) = \(5, 2\)"),
        (learn, {"targets": np.ones((T, 3))}, r"targets has shape \(5, 3\), but \(T, n_visible\) = \(5, 2\)"),
        (
            learn,
            {"uniforms": np.zeros((T, K, 5))},
            r"uniforms has shape \(5, 3, 5\), but \(T, K, n_hidden\) = \(5, 3, 3\)",
        ),
        (sample, {"inputs": np.ones((2, T, 3))}, r"inputs has shape \(2, 5, 3\), but .* = \(any, any, 4\)"),
        (sample, {"inputs": np.ones((2, 0, 4))}, r"inputs has shape \(2, 0, 4\): .* one time step"),
        (
            sample,
            {"uniforms": np.zeros((T, K, 3))},
            r"uniforms has shape \(5, 3, 3\), but \(T, K, n_neurons\) = \(5, 3, 5\)",
        ),
        (
            sample,
            {"inputs": np.ones((2, T, 4)), "uniforms": np.zeros((T, K, 5))},
            r"uniforms has shape \(5, 3, 5\), but \(N, T, K, n_neurons\) = \(2, 5, 3, 5\)",
        ),
        (
            log_likelihood,
            {"targets": np.ones((T, 3))},
            r"targets has shape \(5, 3\), but \(T, n_visible\) = \(5, 2\)",
        ),
        (
            log_likelihood,
            {"inputs": np.ones((2, T, 4))},
            r"targets has shape \(5, 2\), but \(N, T, n_visible\) = \(2, 5, 2\)",
        ),
    ],
)
def test_wrong_shapes_are_refused_naming_the_argument_and_both_shapes(engine, call, changes, message):
    with pytest.raises(ShapeError, match=message):
        call(engine=engine, **changes)


def test_wrong_patterns_and_steps_are_refused_naming_both_shapes():
    with pytest.raises(ShapeError, match=r"patterns has shape \(2, 4, 2\), but \(C, T, n_visible\) = \(any, 5, 2\)"):
        predict(decoder="likelihood", patterns=np.zeros((2, 4, 2)))
    with pytest.raises(ShapeError, match=r"inputs_t has shape \(1, 4\), but \(n_inputs,\) = \(4,\)"):
        step(inputs_t=INPUTS[:1])
    with pytest.raises(ShapeError, match=r"target_t has shape \(3,\), but \(n_visible,\) = \(2,\)"):
        step(target_t=np.zeros(3))


@pytest.mark.parametrize("value", [2, -1, 0.5, np.nan, np.inf])
def test_spikes_other_than_zero_and_one_are_refused_with_their_place(value):
    for call in (learn, sample, log_likelihood):
        with pytest.raises(DataError, match=r"inputs must hold spikes, 0 or 1, but inputs\[4, 3\] is"):
            call(inputs=spoiled(INPUTS, value))
    for call in (learn, log_likelihood):
        with pytest.raises(DataError, match=r"targets\[4, 1\] is"):
            call(targets=spoiled(TARGETS, value))
    with pytest.raises(DataError, match=r"inputs\[0, 4, 3\] is"):
        predict(inputs=spoiled(INPUTS[None], value))
    with pytest.raises(DataError, match=r"inputs_t\[3\] is"):
        step(inputs_t=spoiled(INPUTS[0], value))
    with pytest.raises(DataError, match=r"target_t\[1\] is"):
        step(target_t=spoiled(TARGETS[0], value))


def test_integer_spikes_are_looked_at_too():
    for dtype in (np.uint8, np.int64):
        with pytest.raises(DataError, match=r"inputs\[4, 3\] is 3"):
            learn(inputs=spoiled(INPUTS, 3).astype(dtype))


@pytest.mark.parametrize("value", [np.full((T, 4), "1"), np.ones((T, 4), dtype=complex), np.ones((T, 4), dtype=object)])
def test_spikes_that_are_no_numbers_are_refused(value):
    with pytest.raises(DataError, match="inputs must hold spikes, 0 or 1, but its dtype is"):
        learn(inputs=value)


@pytest.mark.parametrize("value", [-0.1, 1.1, np.nan])
def test_draws_outside_the_unit_interval_are_refused(value):
    with pytest.raises(DataError, match=r"uniforms must lie in \[0, 1\]"):
        learn(uniforms=spoiled(np.zeros((T, K, 3)), value))
    with pytest.raises(DataError, match=r"uniforms must lie in \[0, 1\]"):
        sample(uniforms=spoiled(np.zeros((T, K, 5)), value))


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "3", None])
def test_fewer_than_one_compartment_or_part_of_one_is_refused(value):
    for call in (learn, sample, predict, stream):
        with pytest.raises(ConfigError, match="n_compartments must be a whole number of at least 1, got"):
            call(n_compartments=value)
    with pytest.raises(ConfigError, match="n_samples must be a whole number of at least 1, got"):
        log_likelihood(n_samples=value)


@pytest.mark.parametrize("value", [0, -2, 1.5])
def test_impossible_thread_counts_are_refused(value):
    for call in (sample, predict, log_likelihood):
        with pytest.raises(ConfigError, match="threads must be a whole number of at least 1, got"):
            call(threads=value)


@pytest.mark.parametrize("value", [-1, 0.5, "seed"])
def test_impossible_seeds_are_refused(value):
    for call in (learn, sample, predict, log_likelihood, stream):
        with pytest.raises(ConfigError, match="seed must be a whole number of at least 0, got"):
            call(seed=value)
    for call, name in (
        (learn, "example"),
        (sample, "example"),
        (log_likelihood, "example"),
    ):
        with pytest.raises(ConfigError, match=f"{name} must be a whole number of at least 0, got"):
            call(**{name: value})


@pytest.mark.parametrize("value", [-0.5, 1.0001, np.nan, np.inf])
def test_memory_outside_zero_to_one_is_refused(value):
    with pytest.raises(ConfigError, match=r"kappa must lie in \[0, 1\], got"):
        gemsnn.GEM(kappa=value)
    with pytest.raises(ConfigError, match=r"gamma must lie in \(0, 1\], got"):
        gemsnn.GEM(gamma=value)


def test_log_weights_may_forget_at_once_but_eligibility_may_not():
    assert gemsnn.GEM(kappa=0).kappa == 0
    with pytest.raises(ConfigError, match=r"gamma must lie in \(0, 1\], got"):
        gemsnn.GEM(gamma=0.0)


@pytest.mark.parametrize("value", [-1e-3, np.nan, np.inf])
def test_an_impossible_learning_rate_is_refused(value):
    with pytest.raises(ConfigError, match="learning_rate must be a finite number of at least 0, got"):
        gemsnn.GEM(learning_rate=value)


def test_memory_of_one_is_allowed():
    assert gemsnn.GEM(kappa=1, gamma=1) == gemsnn.GEM(kappa=1.0, gamma=1.0)


@pytest.mark.parametrize("value", ["numba", "", None])
def test_an_unknown_engine_is_refused_with_the_choices(value):
    for call in (learn, sample, log_likelihood, stream):
        with pytest.raises(ConfigError, match=r"unknown engine .*: choose one of 'compiled', 'reference'"):
            call(engine=value)


def test_an_unknown_decoder_is_refused_with_the_choices():
    with pytest.raises(ConfigError, match="unknown decoder 'loudest': choose one of 'vote', 'likelihood', 'per-step'"):
        predict(decoder="loudest")


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_a_state_of_something_else_is_refused(engine):
    state = learn(engine=engine).state
    other = "reference" if engine == "compiled" else "compiled"
    with pytest.raises(ConfigError, match=f"state does not come from the {other} engine"):
        learn(engine=other, state=state)
    with pytest.raises(ConfigError, match="state has 3 compartments, but n_compartments is 2"):
        learn(engine=engine, state=state, n_compartments=2)
    for network in (
        gemsnn.Network(gemsnn.Topology.random(4, 4, 2, 1.0), gemsnn.RaisedCosine(2, 6)),
        gemsnn.Network(gemsnn.Topology.random(3, 3, 2, 1.0), gemsnn.RaisedCosine(2, 6)),
        gemsnn.Network(gemsnn.Topology.random(4, 3, 2, 1.0), gemsnn.RaisedCosine(3, 6)),
        gemsnn.Network(gemsnn.Topology.random(4, 3, 2, 1.0), gemsnn.RaisedCosine(2, 11)),
        gemsnn.Network(NETWORK.topology, gemsnn.RaisedCosine(2, 6), gemsnn.RaisedCosine(2, 9)),
        gemsnn.Network(NETWORK.topology, gemsnn.RaisedCosine(2, 6), gemsnn.RaisedCosine(3, 40)),
        gemsnn.Network(gemsnn.Topology.random(4, 3, 2, 0.9), gemsnn.RaisedCosine(2, 6)),  # as large, wired differently
        gemsnn.Network(NETWORK.topology, gemsnn.RaisedCosine(2, 6), visible_memory=False),
        gemsnn.Network(NETWORK.topology, gemsnn.RaisedCosine(2, 6), circuits=[(0, 1, 2)]),
    ):
        with pytest.raises(ShapeError, match="state belongs to another network"):
            gemsnn.learn(
                network, network.init(), gemsnn.GEM(), np.ones((T, network.n_inputs)), TARGETS, K,
                engine=engine, state=state,
            )  # fmt: skip


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_a_state_of_a_rule_that_remembers_other_things_is_refused(engine):
    state = learn(engine=engine).state
    for rule in (gemsnn.MB(), gemsnn.IW()):
        with pytest.raises(ConfigError, match="state belongs to another rule"):
            gemsnn.learn(NETWORK, PARAMETERS, rule, INPUTS, TARGETS, K, engine=engine, state=state)


def test_a_state_of_another_precision_is_refused():
    state = learn().state
    with pytest.raises(ConfigError, match="state is float32 but the parameters are float64"):
        gemsnn.learn(NETWORK, PARAMETERS.astype(np.float64), gemsnn.GEM(), INPUTS, TARGETS, K, state=state)


def test_a_refused_step_leaves_the_stream_as_it_was():
    good, disturbed = stream(), stream()
    for t in range(T):
        expected = good.step(INPUTS[t], TARGETS[t])
        for wrong in ((INPUTS, None), (INPUTS[t], np.full(2, 7)), (spoiled(INPUTS[t], 2), TARGETS[t])):
            with pytest.raises(gemsnn.GemsnnError):
                disturbed.step(*wrong)
        info = disturbed.step(INPUTS[t], TARGETS[t])
        for value, wanted in zip(info, expected, strict=True):
            np.testing.assert_array_equal(value, wanted)
    assert disturbed.parameters == good.parameters


def test_every_error_is_a_gemsnn_error_and_of_the_kind_that_python_users_expect():
    for error in (ConfigError, ShapeError, DataError):
        assert issubclass(error, gemsnn.GemsnnError)
        assert issubclass(error, ValueError)

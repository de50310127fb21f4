"""Networks and their parameters."""

import numpy as np
import pytest
from scipy import stats

import gemsnn
from gemsnn import ConfigError, DataError, Network, Parameters, RaisedCosine, ShapeError, Topology


def sparse() -> Network:
    return Network(Topology.random(3, 2, 2, 0.5, seed=1), RaisedCosine(2, 5), RaisedCosine(3, 7))


def test_the_default_is_the_network_of_the_paper():
    network = Network.fully_connected(n_inputs=676, n_hidden=200, n_visible=3)
    assert network.topology == Topology.fully_connected(676, 200, 3)
    assert network.synaptic_filter == network.somatic_filter == RaisedCosine(n_basis=3, duration=10)
    assert network.visible_memory


def test_initial_parameters_have_the_shapes_of_the_network_and_pass_its_check():
    network = sparse()
    parameters = network.init(seed=0)
    assert parameters.synaptic.shape == (4, 7, 2)
    assert parameters.somatic.shape == (4, 3)
    assert parameters.bias.shape == (4,)
    assert parameters.dtype == np.float32
    assert network.init(dtype=np.float64).dtype == np.float64
    network.check_parameters(parameters)


def test_initial_weights_are_zero_exactly_where_there_is_no_synapse():
    network = sparse()
    np.testing.assert_array_equal((network.init().synaptic != 0).all(axis=2), network.topology.mask)


def test_initial_weights_are_normal_and_scaled_by_the_fan_in():
    network = Network(Topology.layered(400, [50], 10))
    parameters = network.init(seed=3, weight_scale=2.0, dtype=np.float64)
    for rows, columns, fan_in in ((slice(0, 50), slice(0, 400), 400), (slice(50, 60), slice(400, 450), 50)):
        standard = parameters.synaptic[rows, columns].ravel() * np.sqrt(fan_in * 3) / 2.0
        assert stats.kstest(standard, "norm").pvalue > 1e-4  # false alarm: one seed in ten thousand


def test_biases_and_self_memory_start_as_told():
    parameters = sparse().init(hidden_bias=-1.5, visible_bias=0.25)
    np.testing.assert_array_equal(parameters.bias, [-1.5, -1.5, 0.25, 0.25])
    assert not parameters.somatic.any()


def test_the_seed_decides_the_initial_parameters():
    network = sparse()
    assert network.init(seed=1) == network.init(seed=1)
    assert network.init(seed=1) != network.init(seed=2)
    assert network.init(seed=1) != network.init(seed=1, dtype=np.float64)


def test_equal_networks_are_equal_and_hash_alike():
    assert sparse() == sparse()
    assert hash(sparse()) == hash(sparse())
    assert sparse() != Network(sparse().topology, RaisedCosine(2, 5), RaisedCosine(3, 7), visible_memory=False)
    assert sparse() != Network(sparse().topology)


def test_the_memory_is_that_of_the_longer_filter():
    assert sparse().memory == 7


def changed(parameters: Parameters, **fields: np.ndarray) -> Parameters:
    return Parameters(**{**vars(parameters), **fields})


def with_nan(array: np.ndarray, value: float) -> np.ndarray:
    array = array.copy()
    array.flat[-1] = value
    return array


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        (lambda p: {"synaptic": p.synaptic[:, 1:]}, ShapeError, r"synaptic has shape \(4, 6, 2\), but .* \(4, 7, 2\)"),
        (lambda p: {"somatic": p.somatic.T}, ShapeError, r"somatic has shape \(3, 4\), but .* \(4, 3\)"),
        (lambda p: {"bias": p.bias[:, None]}, ShapeError, r"bias has shape \(4, 1\), but .* \(4,\)"),
        (lambda p: {"bias": with_nan(p.bias, np.nan)}, DataError, "bias holds NaN or values beyond"),
        (lambda p: {"somatic": with_nan(p.somatic, np.inf)}, DataError, "somatic holds NaN or values beyond"),
        (lambda p: {"synaptic": np.full_like(p.synaptic, -np.inf)}, DataError, "synaptic holds NaN or values beyond"),
        (lambda p: {"bias": np.full_like(p.bias, 3e38)}, DataError, "bias holds NaN or values beyond 1e"),
        (lambda p: {"bias": p.bias.astype(np.float64)}, ConfigError, "bias is float64 but .*synaptic is float32"),
        (
            lambda p: {"bias": p.bias.astype(np.int64)},
            ConfigError,
            "bias must be a float32 or float64 array, got int64",
        ),
        (lambda p: {"bias": p.bias.tolist()}, ConfigError, "bias must be a float32 or float64 array, got list"),
        (lambda p: {"synaptic": p.synaptic.astype(np.float16)}, ConfigError, "synaptic must be .* got float16"),
    ],
)
def test_parameters_that_do_not_belong_to_the_network_are_refused_by_name(fields, error, message):
    network = sparse()
    parameters = network.init()
    wrong = changed(parameters, **fields(parameters))
    with pytest.raises(error, match=f"parameters.{message}"):
        network.check_parameters(wrong)
    # Every function that takes parameters stands behind the same door.
    inputs, targets = np.zeros((2, 3)), np.zeros((2, 2))
    for call in (
        lambda: gemsnn.learn(network, wrong, gemsnn.GEM(), inputs, targets),
        lambda: gemsnn.sample(network, wrong, inputs),
        lambda: gemsnn.log_likelihood(network, wrong, inputs, targets),
        lambda: gemsnn.predict(network, wrong, inputs[None]),
        lambda: gemsnn.Stream(network, wrong, gemsnn.GEM()),
    ):
        with pytest.raises(error, match=message):
            call()


def test_a_weight_on_an_absent_synapse_is_refused_with_its_place():
    network = sparse()
    neuron, source = np.argwhere(~network.topology.mask)[3]
    synaptic = network.init().synaptic
    synaptic[neuron, source, 1] = 1e-30
    with pytest.raises(ConfigError, match=rf"synaptic\[{neuron}, {source}\] is not 0, but the graph has no synapse"):
        network.check_parameters(changed(network.init(), synaptic=synaptic))


def test_memory_weights_of_visible_neurons_without_memory_are_refused():
    network = Network(sparse().topology, visible_memory=False)
    parameters = network.init()
    parameters.somatic[2, 0] = 1
    with pytest.raises(ConfigError, match="visible_memory=False"):
        network.check_parameters(parameters)
    parameters.somatic[2, 0] = 0
    parameters.somatic[0, 0] = 1  # hidden neurons have theirs
    network.check_parameters(parameters)


def test_a_copy_of_parameters_is_equal_but_not_the_same():
    parameters = sparse().init()
    copied = parameters.copy()
    assert copied == parameters
    copied.bias[0] += 1
    assert copied != parameters
    assert parameters != "parameters"
    with pytest.raises(TypeError, match="unhashable"):
        hash(parameters)

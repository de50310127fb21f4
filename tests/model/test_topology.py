"""Which source feeds which neuron."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from gemsnn import ConfigError, ShapeError, Topology


def synapses(topology):
    """(source, neuron) pairs by name: i inputs, h hidden, x visible."""
    sources = (
        [f"i{n}" for n in range(topology.n_inputs)]
        + [f"h{n}" for n in range(topology.n_hidden)]
        + [f"x{n}" for n in range(topology.n_visible)]
    )
    neurons = sources[topology.n_inputs :]
    return {(sources[j], neurons[i]) for i, j in np.argwhere(topology.mask)}


def test_fully_connected_is_the_graph_of_the_paper():
    assert synapses(Topology.fully_connected(2, 2, 2)) == {
        *((f"i{a}", b) for a in (0, 1) for b in ("h0", "h1", "x0", "x1")),
        ("h0", "h1"), ("h1", "h0"),
        *((f"h{a}", f"x{b}") for a in (0, 1) for b in (0, 1)),
    }  # fmt: skip


def test_layers_feed_only_the_next_one():
    assert synapses(Topology.layered(2, [2, 1], 2)) == {
        ("i0", "h0"), ("i0", "h1"), ("i1", "h0"), ("i1", "h1"),
        ("h0", "h2"), ("h1", "h2"),
        ("h2", "x0"), ("h2", "x1"),
    }  # fmt: skip


def test_without_layers_the_inputs_feed_the_visible_neurons():
    assert synapses(Topology.layered(2, [], 1)) == {("i0", "x0"), ("i1", "x0")}


@given(st.integers(0, 6), st.integers(0, 6), st.integers(1, 4))
def test_a_random_graph_of_density_one_has_every_synapse_but_the_diagonal(n_inputs, n_hidden, n_visible):
    topology = Topology.random(n_inputs, n_hidden, n_visible, density=1.0)
    n = topology.n_neurons
    assert topology.mask.sum() == n * (topology.n_sources - 1)
    assert not topology.mask[np.arange(n), n_inputs + np.arange(n)].any()
    assert not Topology.random(n_inputs, n_hidden, n_visible, density=0.0).mask.any()


@pytest.mark.parametrize("density", [0.1, 0.5, 0.9])
def test_a_random_graph_has_the_density_asked_for(density):
    topology = Topology.random(80, 60, 20, density, seed=1)
    possible = topology.n_neurons * (topology.n_sources - 1)
    # False-alarm rate: one seed in a million.
    assert stats.binomtest(int(topology.mask.sum()), possible, density).pvalue > 1e-6


def test_a_random_graph_is_its_seeds():
    assert Topology.random(5, 5, 2, 0.5, seed=1) == Topology.random(5, 5, 2, 0.5, seed=1)
    assert Topology.random(5, 5, 2, 0.5, seed=1) != Topology.random(5, 5, 2, 0.5, seed=2)


def test_a_networkx_graph_keeps_its_edges_and_the_order_of_its_nodes():
    graph = nx.DiGraph()
    graph.add_node("out", role="visible")
    graph.add_node("b", role="hidden")
    graph.add_node("in", role="input")
    graph.add_node("a", role="hidden")
    graph.add_edges_from([("in", "a"), ("a", "b"), ("b", "a"), ("b", "out"), ("out", "a"), ("b", "b")])
    topology = Topology.from_networkx(graph)
    assert (topology.n_inputs, topology.n_hidden, topology.n_visible) == (1, 2, 1)
    # b comes first among the hidden, a second; the loop at b is its self-memory, not a synapse.
    assert synapses(topology) == {("i0", "h1"), ("h1", "h0"), ("h0", "h1"), ("h0", "x0"), ("x0", "h1")}


def test_the_role_of_a_networkx_node_may_have_another_name():
    graph = nx.DiGraph([("in", "out")])
    nx.set_node_attributes(graph, {"in": "input", "out": "visible"}, "kind")
    assert synapses(Topology.from_networkx(graph, role="kind")) == {("i0", "x0")}


def undirected():
    graph = nx.Graph()
    graph.add_node(0, role="visible")
    return graph


def without_role():
    graph = nx.DiGraph([("a", "b")])
    graph.nodes["a"]["role"] = "visible"
    return graph


def into_an_input():
    graph = nx.DiGraph([("x", "in")])
    graph.nodes["x"]["role"], graph.nodes["in"]["role"] = "visible", "input"
    return graph


def without_visible():
    graph = nx.DiGraph()
    graph.add_node("in", role="input")
    return graph


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (undirected(), "undirected"),
        (without_role(), r"node 'b' has role=None: it must be one of 'input', 'hidden', 'visible'"),
        (into_an_input(), r"edge 'x' -> 'in' leads into an input"),
        (without_visible(), "n_visible"),
    ],
)
def test_a_networkx_graph_that_makes_no_sense_is_refused(graph, message):
    with pytest.raises(ConfigError, match=message):
        Topology.from_networkx(graph)


def test_a_mask_of_another_shape_is_refused_naming_both():
    with pytest.raises(ShapeError, match=r"mask has shape \(2, 3\), but .* = \(3, 5\)"):
        Topology(2, 2, 1, np.zeros((2, 3)))


def test_a_synapse_of_a_neuron_onto_itself_is_refused():
    mask = np.zeros((3, 4), dtype=bool)
    mask[1, 2] = True
    with pytest.raises(ConfigError, match="neuron 1 to itself"):
        Topology(1, 2, 1, mask)


@pytest.mark.parametrize("value", [2, -1, 0.5, np.nan])
def test_a_mask_of_other_values_than_zero_and_one_is_refused(value):
    with pytest.raises(ConfigError, match="mask must hold only 0/1"):
        Topology(1, 0, 1, [[value, 0]])


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Topology(1, 1, 0, np.zeros((1, 2))), "n_visible must be a whole number of at least 1, got 0"),
        (lambda: Topology(-1, 1, 1, np.zeros((2, 1))), "n_inputs .* at least 0, got -1"),
        (lambda: Topology(1, 1.5, 1, np.zeros((2, 3))), "n_hidden .* got 1.5"),
        (lambda: Topology("2", 1, 1, np.zeros((2, 4))), "n_inputs .* got '2'"),
        (lambda: Topology.fully_connected(-1, 2, 1), "n_inputs .*-1"),
        (lambda: Topology.fully_connected(2, 2, 0), "n_visible .* got 0"),
        (lambda: Topology.fully_connected(2.5, 2, 1), "n_inputs .* got 2.5"),
        (lambda: Topology.random(2, 2, 1, density=1.1), r"density must lie in \[0, 1\], got 1.1"),
        (lambda: Topology.random(2, 2, 1, density=float("nan")), "density"),
        (lambda: Topology.random(2, -2, 1, density=0.5), "n_hidden .*-2"),
        (lambda: Topology.layered(2, [3, 0], 1), "hidden_layers.* got 0"),
        (lambda: Topology.layered(2, [-1, 3], 1), "hidden_layers.* got -1"),
    ],
)
def test_impossible_sizes_are_refused_by_name(build, message):
    with pytest.raises(ConfigError, match=message):
        build()


def test_the_mask_is_a_copy_that_cannot_be_changed():
    mask = np.zeros((1, 2), dtype=bool)
    topology = Topology(1, 0, 1, mask)
    mask[0, 0] = True
    assert not topology.mask.any()
    with pytest.raises(ValueError, match="read-only"):
        topology.mask[0, 0] = True


def test_equal_graphs_are_equal_and_hash_alike():
    assert Topology(1, 0, 1, [[1, 0]]) == Topology(1, 0, 1, np.array([[True, False]]))
    assert hash(Topology(1, 0, 1, [[1, 0]])) == hash(Topology(1, 0, 1, np.array([[True, False]])))
    assert Topology(1, 0, 1, [[1, 0]]) != Topology(1, 0, 1, [[0, 0]])
    assert Topology.layered(2, [], 1) != Topology.layered(0, [2], 1)


# ---- the file


@pytest.mark.parametrize(
    "topology",
    [
        Topology.random(4, 3, 2, 0.5, seed=1),
        Topology.layered(3, [2, 2], 1),
        Topology(0, 0, 2, np.zeros((2, 2))),  # no synapse at all
    ],
    ids=repr,
)
def test_a_graph_comes_back_from_its_file(topology, tmp_path):
    topology.save(tmp_path / "graph.json")
    assert Topology.load(tmp_path / "graph.json") == topology


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no json", "not a graph file"),
        ("[1, 2]", "not a graph file"),
        ('{"n_inputs": 1, "n_hidden": 1, "n_visible": 1}', "not a graph file: 'synapses'"),
        ('{"n_inputs": 1, "n_hidden": 1, "n_visible": 1, "synapses": [[0, 1, 2], [0, 1, 2]]}', "pairs"),
        ('{"n_inputs": 1, "n_hidden": 1, "n_visible": 1, "synapses": [[0], [0, 1]]}', "not a graph file"),
        (
            '{"n_inputs": 1, "n_hidden": 1, "n_visible": 1, "synapses": [[0, 2]]}',
            r"pairs .*source, neuron.* below \[3, 2\]",
        ),
        ('{"n_inputs": 1, "n_hidden": 1, "n_visible": 1, "synapses": [[3, 0]]}', r"pairs .*source, neuron.* below"),
        ('{"n_inputs": 1, "n_hidden": 1, "n_visible": 1, "synapses": [[-1, 0]]}', r"pairs .*source, neuron.* below"),
        ('{"n_inputs": 1, "n_hidden": 1, "n_visible": 1, "synapses": [[0.5, 0]]}', r"pairs .*source, neuron.* below"),
        ('{"n_inputs": 1, "n_hidden": 1, "n_visible": 1, "synapses": [[1, 0]]}', "connects neuron 0 to itself"),
        ('{"n_inputs": 1, "n_hidden": 1, "n_visible": 0, "synapses": []}', "n_visible must be a whole number"),
        ('{"n_inputs": "1", "n_hidden": 1, "n_visible": 1, "synapses": []}', "n_inputs must be a whole number"),
    ],
)
def test_what_is_no_graph_is_refused_with_the_file_s_name(text, message, tmp_path):
    file = tmp_path / "graph.json"
    file.write_text(text)
    with pytest.raises(ConfigError, match=message) as refusal:
        Topology.load(file)
    assert str(file) in str(refusal.value)


def test_a_graph_file_that_is_not_there_or_not_text_is_told(tmp_path):
    with pytest.raises(ConfigError, match=r"nowhere\.json: not a graph file: .*No such file"):
        Topology.load(tmp_path / "nowhere.json")
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match=r"binary\.json: not a graph file"):
        Topology.load(tmp_path / "binary.json")


@pytest.mark.parametrize("density", [0.05, 0.9])
def test_a_weight_without_a_synapse_is_found_in_sparse_and_in_dense_graphs(density):
    topology = Topology.random(20, 15, 5, density, seed=3)
    weights = np.where(topology.mask[:, :, None], 1.0, 0.0).repeat(2, axis=2)
    assert topology.astray(weights) is None
    assert topology.astray(weights.transpose(1, 2, 0).copy().transpose(2, 0, 1)) is None  # in any order in memory
    neuron, source = np.argwhere(~topology.mask)[7]
    weights[neuron, source, 1] = 1e-30
    assert topology.astray(weights) == (neuron, source)

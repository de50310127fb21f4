"""The graphs that settings name."""

import numpy as np
import pytest

from gemsnn import ConfigError, Topology
from gemsnn.model.topologies import TOPOLOGIES, FullyConnected, GraphFile, Layers, RandomGraph
from gemsnn.training import TrainingConfig, read_config, write_config


def test_each_is_the_topology_of_its_name(tmp_path):
    own = Topology.random(4, 5, 2, 0.3, seed=9)
    own.save(tmp_path / "graph.json")
    assert FullyConnected().topology(4, 3, 2) == Topology.fully_connected(4, 3, 2)
    assert Layers((3, 2)).topology(4, 99, 2) == Topology.layered(4, [3, 2], 2)
    assert RandomGraph(0.5, seed=1).topology(4, 3, 2) == Topology.random(4, 3, 2, 0.5, seed=1)
    assert GraphFile(str(tmp_path / "graph.json")).topology(4, 99, 2) == own


@pytest.mark.parametrize(
    "graph", [FullyConnected(), Layers((3, 2)), RandomGraph(np.float32(0.5), np.int64(3)), GraphFile("some/graph.json")]
)
def test_each_survives_the_settings_file(graph, tmp_path):
    config = TrainingConfig.make(topology=graph)
    (tmp_path / "config.toml").write_text(write_config(config))
    assert read_config(tmp_path / "config.toml")[0] == config
    assert TrainingConfig.make(topology=graph.settings()).topology == graph


def test_every_one_is_in_the_list():
    assert {type(graph) for graph in (FullyConnected(), Layers(()), RandomGraph(0.1), GraphFile("x"))} == set(
        TOPOLOGIES.values()
    )


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"kind": "layers"}, r"topology\.sizes is missing: topology\.kind = 'layers' needs it"),
        ({"kind": "layers", "sizes": 3}, r"topology\.sizes must be a list of whole numbers, got 3"),
        ({"kind": "layers", "sizes": [3, 0]}, r"topology\.sizes must be a whole number of at least 1, got 0"),
        ({"kind": "random"}, r"topology\.density is missing"),
        ({"kind": "random", "density": 2}, r"topology\.density must lie in \[0, 1\], got 2"),
        ({"kind": "random", "density": 0.5, "seed": -1}, r"topology\.seed must be a whole number of at least 0"),
        ({"kind": "file"}, r"topology\.path is missing"),
        ({"kind": "file", "path": 3}, r"topology\.path must be the path of a graph file, got 3"),
        ({"density": 0.5}, r"topology\.density: there is no such setting"),
    ],
)
def test_impossible_graphs_are_refused_with_their_place(table, message):
    with pytest.raises(ConfigError, match=message):
        TrainingConfig.make(topology=table)


def test_a_graph_file_for_other_data_is_refused_with_both_sizes(tmp_path):
    file = tmp_path / "graph.json"
    Topology.fully_connected(4, 3, 2).save(file)
    config = TrainingConfig.make(topology={"kind": "file", "path": str(file)})
    with pytest.raises(
        ConfigError, match=r"graph\.json: a graph of 4 inputs and 2 visible neurons.* 4 inputs .* 3 vis"
    ):
        config.network(4, 3)

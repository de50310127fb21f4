"""Going on from a trained model."""

from dataclasses import replace

import numpy as np
import pytest
import toy

import gemsnn
from gemsnn import FromModel, Network, Topology
from gemsnn.errors import CheckpointError, ConfigError, DataError
from gemsnn.events import Preprocessing, open_prepared, write_prepared
from gemsnn.learning import Lesson
from gemsnn.model import Circuit
from gemsnn.training import ArrayData, ArrayExamples, RunDirectory, load_model, train, trainer_of
from gemsnn.training.augmentation import FIRST_KEY, Replay
from gemsnn.training.from_model import config_of, with_readout


@pytest.fixture(scope="module")
def model(finished_run):
    return load_model(finished_run)


def arrays(classes, n=24, seed=3):
    """The toy problem under other names, which may be of any number."""
    spikes, _ = toy.examples(n, seed)
    return ArrayData(ArrayExamples(spikes.astype(np.uint8), np.arange(n) % len(classes)), classes)


# ---- the readout


@pytest.mark.parametrize("readout", ["bernoulli", "winner-take-all"])
@pytest.mark.parametrize("lateral", [False, True])
def test_a_readout_that_grows_keeps_all_old_weights_and_draws_new_ones_as_a_fresh_network_does(readout, lateral):
    topology = Topology.fully_connected(5, 4, 3, lateral=lateral)
    circuits = [Circuit((4, 5, 6))] if readout == "winner-take-all" else []
    network = Network(topology, circuits=circuits)
    parameters = network.init(seed=1, weight_scale=3.0)
    larger, grown = with_readout(network, parameters, [0, None, 2, 1], lambda new: new.init(seed=2))
    assert larger.topology == Topology.fully_connected(5, 4, 4, lateral=lateral)
    assert [set(circuit.neurons) for circuit in larger.circuits.competing] == ([{4, 5, 6, 7}] if circuits else [])
    larger.check_parameters(grown)
    fresh = larger.init(seed=2)
    old, new, now = [0, 1, 2, 3, 4, 6, 5], 5, [0, 1, 2, 3, 4, 6, 7]
    sources = [*range(5), *(5 + np.array(now))]
    np.testing.assert_array_equal(
        grown.synaptic[np.ix_(now, sources)], parameters.synaptic[np.ix_(old, [*range(5), *(5 + np.array(old))])]
    )
    np.testing.assert_array_equal(grown.bias[now], parameters.bias[old])
    np.testing.assert_array_equal(grown.somatic[now], parameters.somatic[old])
    np.testing.assert_array_equal(grown.synaptic[new], fresh.synaptic[new])
    assert grown.bias[new] == fresh.bias[new]
    assert grown.synaptic[new].any()


def test_a_new_neuron_of_an_irregular_graph_has_the_synapses_of_the_first_one():
    topology = Topology.random(6, 5, 2, density=0.5, seed=3)
    network = Network(topology)
    larger, _ = with_readout(network, network.init(), [0, 1, None], lambda new: new.init())
    np.testing.assert_array_equal(larger.topology.mask[7, :11], topology.mask[5, :11])
    np.testing.assert_array_equal(larger.topology.mask[:5, 13], topology.mask[:5, 11])


def test_a_readout_of_several_circuits_is_not_grown_by_guessing():
    network = Network(Topology.fully_connected(4, 2, 4), circuits=[(2, 3), (4, 5)])
    with pytest.raises(ConfigError, match="several circuits"):
        with_readout(network, network.init(), [0, 1, 2, 3, None], lambda new: new.init())


# ---- a run


def test_a_run_begins_with_the_weights_means_and_classes_of_the_model(model, data):
    trainer = trainer_of(config_of(model, {}), data, from_model=FromModel(model))
    for name in ("synaptic", "somatic", "bias"):
        np.testing.assert_array_equal(getattr(trainer.state.parameters, name), getattr(model.parameters, name))
    np.testing.assert_array_equal(trainer.state.means.value, model.means.value)
    assert trainer.state.means.count == model.means.count > 0
    assert tuple(trainer.data.classes) == model.classes
    assert trainer.first == model.about["position"]


def test_new_classes_are_added_and_old_ones_stay_where_they_were(model):
    trainer = trainer_of(config_of(model, {}), arrays((7, 11, 2)), from_model=FromModel(model))
    assert trainer.data.classes == (2, 5, 7, 11)
    assert trainer.data.train.labels[:3].tolist() == [2, 3, 0]
    assert trainer.network.n_visible == 4
    rows = slice(0, model.network.n_neurons)
    np.testing.assert_array_equal(trainer.state.parameters.bias[rows], model.parameters.bias)


def test_classes_are_the_same_if_their_names_are(model):
    trainer = trainer_of(config_of(model, {}), arrays(("5", "two")), from_model=FromModel(model, rename={2: "two"}))
    assert trainer.data.classes == ("two", "5", "7")
    assert trainer.data.train.labels[:2].tolist() == [1, 0]


def test_dropped_classes_are_gone(model):
    trainer = trainer_of(config_of(model, {}), arrays((2, 7)), from_model=FromModel(model, drop=[5]))
    assert trainer.data.classes == (2, 7)
    np.testing.assert_array_equal(trainer.state.parameters.bias, model.parameters.bias[[0, 1, 2, 3, 4, 5, 6, 8]])


def test_going_on_learns_more_than_before(model, data):
    before = trainer_of(config_of(model, {"epochs": 1}), data, from_model=FromModel(model))
    before.run()
    fresh = trainer_of(config_of(model, {"epochs": 1}), data)
    fresh.run()
    assert before.state.progress.last["train"]["log_likelihood"] > fresh.state.progress.last["train"]["log_likelihood"]


def test_a_stopped_run_resumes_to_the_same_bits(model, data_file, data, tmp_path):
    begun = FromModel(model, replay=data, replay_share=0.4)
    small = arrays((2, 5, 7, 9))
    config = config_of(model, {"checkpoint_seconds": 0})
    train(config, small, tmp_path / "whole", from_model=begun)
    stops = iter([False] * 9 + [True] + [False] * 11 + [True])
    for _ in range(2):
        assert train(
            config, small, tmp_path / "parts", from_model=begun, resume=True, stop=lambda: next(stops)
        ).status == "interrupted"  # fmt: skip
    train(config, small, tmp_path / "parts", from_model=begun, resume=True)
    for name in ("final.safetensors", "best.safetensors", "metrics.jsonl", "summary.json"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "parts" / name).read_bytes()


def test_a_run_says_what_it_came_from(model, finished_run, data, tmp_path):
    train(config_of(model, {"epochs": 1}), data, tmp_path / "next", from_model=finished_run)
    summary, found = RunDirectory(tmp_path / "next").read_summary(), load_model(tmp_path / "next")
    path = str((finished_run / "best.safetensors").absolute())
    assert summary["origin"] == found.about["origin"] == {"path": path, "examples": model.about["position"]}
    assert summary["config"]["from_model"]["classes"] == ["2", "5", "7"]
    train(config_of(found, {}), data, tmp_path / "third", from_model=found)
    total = model.about["position"] + found.about["position"]
    assert load_model(tmp_path / "third").about["origin"]["examples"] == total


def test_resume_refuses_another_model(model, data, tmp_path):
    config = config_of(model, {"checkpoint_seconds": 0})
    train(config, data, tmp_path, from_model=model, stop=lambda: True)
    changed = replace(model, parameters=model.network.init(seed=5))
    for other in (changed, None):
        with pytest.raises(ConfigError, match="cannot resume with other settings or data: from_model"):
            train(config, data, tmp_path, from_model=other, resume=True)


def test_a_guarantee_is_not_kept(model, data, tmp_path):
    X, y = toy.examples(60, seed=9)
    calibrated = model.calibrate(X, y)
    train(config_of(calibrated, {"epochs": 1}), data, tmp_path, from_model=calibrated)
    assert load_model(tmp_path).calibration is None


# ---- replay


def lesson(example):
    return Lesson(None, None, gemsnn.GEM(learning_rate=0.5), example)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.75])
def test_replayed_examples_are_a_share_of_all_and_each_comes_once_before_any_comes_again(data, share):
    replay = Replay(data.train, np.arange(36), share, 3)
    added = [one for start in range(40, 400, 4) for one in replay([lesson(start + i) for i in range(4)], 0)[4:]]
    assert abs(len(added) - 360 * share / (1 - share)) <= 1
    keys = [one.example - FIRST_KEY for one in added]
    assert keys == list(range(keys[0], keys[0] + len(keys))) if keys else share == 0
    by_key = {}
    for one, key in zip(added, keys, strict=True):
        by_key.setdefault(key // 36, []).append(one.inputs.to_array(12).tobytes())
        assert one.rule == lesson(0).rule
    for epoch in by_key.values():
        assert len(set(epoch)) == len(epoch)


def test_what_is_replayed_follows_from_seed_and_example_alone(data):
    def replayed(seed, starts):
        replay = Replay(data.train, np.arange(36), 0.6, 3)
        return {s: [x.inputs.to_array(12).tobytes() for x in replay([lesson(s)], seed)[1:]] for s in starts}

    forwards, backwards = replayed(0, range(60)), replayed(0, range(59, -1, -1))
    assert forwards == backwards
    assert forwards != replayed(1, range(60))


def test_replay_keeps_what_would_be_forgotten(tmp_path):
    """A network that learned two classes, and then a third alone."""
    X, y = toy.examples(96, seed=1)
    old, test = y != 7, toy.examples(60, seed=2)
    settings = {"epochs": 10, "validation_fraction": 0, "eval_every": None, "rule": {"learning_rate": 3e-2}}
    settings["nothing_share"] = 0.0
    X = X.astype(np.uint8)
    first = ArrayData(ArrayExamples(X[old], np.searchsorted([2, 5], y[old])), (2, 5))
    train(toy.config(**settings), first, tmp_path / "old")
    model, new = load_model(tmp_path / "old"), ArrayData(ArrayExamples(X[~old], np.zeros(32, int)), (7,))
    right = {}
    for name, begun in (("alone", FromModel(model)), ("replay", FromModel(model, replay=first))):
        train(config_of(model, {}), new, tmp_path / name, from_model=begun)
        found = load_model(tmp_path / name).predict(test[0])
        right[name] = (found.label == test[1])[test[1] != 7].mean()
    assert right["alone"] < 0.8 < 0.9 < right["replay"]


# ---- what is refused


def recordings(tmp_path, name="events.h5", **choices):
    rng = np.random.default_rng(0)
    events = [
        np.array([(x, y, t, p) for x, y, t, p in zip(*rng.integers(0, [[4], [4], [900], [2]], (4, 30)), strict=True)],
                 dtype=[("x", int), ("y", int), ("t", int), ("p", int)])
        for _ in range(12)
    ]  # fmt: skip
    preprocessing = Preprocessing(**{"sensor_size": (4, 4), "bin_us": 100, "n_steps": 10, **choices})
    for one in events:
        one["t"].sort()
    write_prepared(tmp_path / name, events, ["a", "b"] * 6, preprocessing=preprocessing)
    return tmp_path / name


def test_other_preprocessing_is_refused_with_the_option_that_makes_it_fit(tmp_path):
    with open_prepared(recordings(tmp_path)) as data:
        train(toy.config(eval_every=None, epochs=1), data, tmp_path / "run")
    model = load_model(tmp_path / "run")
    for choices, advice in (
        ({"bin_us": 200}, r"bin_us 100 in the model, 200 in the data.*--bin-ms 0\.1"),
        ({"n_steps": 7}, "--steps 10"),
        ({"polarity": "separate", "bin_us": 200}, "--bin-ms 0.1"),
        ({"sensor_size": (5, 4)}, "another size need a model of their own"),
    ):
        path = recordings(tmp_path, "other.h5", **choices)
        with open_prepared(path) as other, pytest.raises(DataError, match=advice):
            trainer_of(config_of(model, {}), other, from_model=FromModel(model))
    with open_prepared(recordings(tmp_path, "apart.h5", polarity="separate")) as apart:  # is merged, as the model's
        assert trainer_of(config_of(model, {}), apart, from_model=FromModel(model)).data.n_inputs == 16


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_hidden": 9}, "n_hidden = 9: the model to start from has 6"),
        ({"visible_memory": True}, "visible_memory = True"),
        ({"synaptic_filter": {"kind": "raised-cosine"}}, "synaptic_filter: the model to start from has another"),
        ({"dtype": "float64"}, "dtype = float64"),
        ({"readout": "bernoulli"}, "readout = bernoulli"),
        ({"topology": {"kind": "layers", "sizes": [6]}}, "topology"),
    ],
)
def test_settings_of_another_network_are_refused(model, data, changes, message):
    with pytest.raises(ConfigError, match=message):
        trainer_of(config_of(model, changes), data, from_model=FromModel(model))


@pytest.mark.parametrize(
    ("how", "classes", "message"),
    [
        ({"rename": {3: "x"}}, (2, 5), "rename: the model has no class 3; they are 2, 5, 7"),
        ({"drop": ["x"]}, (2, 5), "drop: the model has no class x"),
        ({"rename": {2: 5}}, (2, 5), "two classes of the model would be called 5"),
        ({"rename": {2: "x"}, "drop": [2]}, (2, 5), "to be renamed and dropped"),
        ({"drop": [2]}, (2, 5), "drop: 2 is a class of the data, too"),
        ({"replay_share": 0.3}, (2, 5), "replay_share needs replay"),
        ({"replay": arrays((2, 12)), "replay_share": 0.3}, (2, 5), "class 12 is neither"),
        ({"replay": arrays((2, 5)), "replay_share": 1.0}, (2, 5), "replay_share = 1.0"),
        ({"drop": [5, 7], "replay": arrays((5, 7))}, (2, 9), "holds no training examples"),
    ],
)  # fmt: skip
def test_impossible_wishes_are_refused(model, how, classes, message):
    with pytest.raises((ConfigError, DataError), match=message):
        trainer_of(config_of(model, {}), arrays(classes), from_model=FromModel(model, **how))


def test_several_labels_and_single_classes_do_not_mix(model):
    several = ArrayData(ArrayExamples(toy.examples(24)[0].astype(np.uint8), np.ones((24, 3), np.uint8)), (2, 5, 7))
    with pytest.raises(DataError, match="one class per example, the data have several labels"):
        trainer_of(config_of(model, {}), several, from_model=FromModel(model))


def test_a_model_and_a_network_of_ones_own_exclude_each_other(model, data):
    with pytest.raises(ConfigError, match="leave network and parameters out"):
        trainer_of(config_of(model, {}), data, network=model.network, from_model=FromModel(model))


def test_a_path_without_a_model_is_refused(data, tmp_path):
    with pytest.raises(CheckpointError, match="no training run here"):
        train(toy.config(), data, tmp_path / "new", from_model=tmp_path)

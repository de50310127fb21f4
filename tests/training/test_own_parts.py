"""Networks and targets that no setting describes, in runs that survive being killed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import own_parts
import pytest

import gemsnn
from gemsnn import ConfigError, ShapeError
from gemsnn.training import ArrayData, ArrayExamples, RunDirectory, TrainingConfig, train, trainer_of

FILES = ("final.safetensors", "metrics.jsonl", "summary.json")


def results(run):
    return {name: (run / name).read_bytes() for name in FILES}


@pytest.fixture(scope="module", params=["classes", "labels", "patterns"])
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def untouched(kind, tmp_path_factory):
    run = tmp_path_factory.mktemp("untouched") / kind
    assert own_parts.run(kind, run).status == "finished"
    return results(run)


def test_killed_and_resumed_it_ends_in_the_same_bits(kind, untouched, tmp_path):
    """A process of its own, killed as soon as it has written the second checkpoint, and again after an evaluation."""
    run = tmp_path / "run"
    support = Path(own_parts.__file__).parent
    path = os.pathsep.join(filter(None, [str(support), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, str(support / "own_parts.py"), kind, str(run)]
    for wanted in ("checkpoints/00000000000[1-9].safetensors", "metrics.jsonl"):
        process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": path})
        while not list(run.glob(wanted)) and process.poll() is None:
            time.sleep(0.001)
        process.kill()
        assert process.wait() == -signal.SIGKILL
        assert not RunDirectory(run).finished
    assert own_parts.run(kind, run).status == "finished"
    assert results(run) == untouched


def test_what_was_given_is_what_is_trained(kind, untouched, tmp_path):
    trainer = trainer_of(
        own_parts.CONFIG, own_parts.data(kind), network=own_parts.NETWORK, parameters=own_parts.PARAMETERS
    )
    assert trainer.state.parameters == own_parts.PARAMETERS
    trainer.run()
    own_parts.run(kind, tmp_path / "run")
    model = RunDirectory(tmp_path / "run").load_model("final")
    assert model.network == own_parts.NETWORK
    assert model.parameters == trainer.parameters()
    absent = ~own_parts.NETWORK.topology.mask
    assert absent.any()
    assert not model.parameters.synaptic[absent].any()


@pytest.mark.parametrize(
    "other",
    [
        {"network": gemsnn.Network(own_parts.NETWORK.topology), "parameters": None},
        {"network": own_parts.NETWORK, "parameters": own_parts.NETWORK.init(seed=8)},
        {"network": own_parts.NETWORK, "parameters": None},
        {"network": None, "parameters": None},
    ],
    ids=["other filters", "other weights", "no weights", "nothing"],
)
def test_another_network_or_other_weights_are_refused_on_resume(other, tmp_path):
    data, run = own_parts.data("classes"), tmp_path / "run"
    given = {"network": own_parts.NETWORK, "parameters": own_parts.PARAMETERS}
    stop = iter([False, False, True])
    assert train(own_parts.CONFIG, data, run, stop=lambda: next(stop), **given).status == "interrupted"
    with pytest.raises(ConfigError, match="cannot resume with other settings or data: own network and parameters was"):
        train(own_parts.CONFIG, data, run, resume=True, **other)
    assert train(own_parts.CONFIG, data, run, resume=True, **given).status == "finished"


def test_a_network_that_does_not_fit_the_data_leaves_no_trace(tmp_path):
    network = gemsnn.Network.fully_connected(7, 2, 3)
    with pytest.raises(
        ConfigError, match="the network has 7 inputs and 3 visible neurons, but the data have 12 inputs"
    ):
        train(own_parts.CONFIG, own_parts.data("classes"), tmp_path / "run", network=network)
    with pytest.raises(ShapeError, match=r"parameters\.synaptic has shape"):
        train(
            own_parts.CONFIG, own_parts.data("classes"), tmp_path / "run",
            network=own_parts.NETWORK, parameters=network.init(),
        )  # fmt: skip
    assert not (tmp_path / "run").exists()


def test_what_is_learned_is_the_target_of_each_kind():
    """One example, one step of learning by hand."""
    for kind in ("classes", "labels", "patterns"):
        data = own_parts.data(kind)
        config = own_parts.CONFIG.changed(nothing_share=0)
        trainer = trainer_of(config, data, network=own_parts.NETWORK, parameters=own_parts.PARAMETERS)
        index = int(trainer.upcoming[0])
        T = int(data.train.lengths[index])
        wanted = {
            "classes": lambda i=index, T=T: np.tile(np.arange(3) == own_parts.CLASSES[i], (T, 1)),
            "labels": lambda i=index, T=T: np.tile(own_parts.LABELS[i], (T, 1)),
            "patterns": lambda i=index, T=T: own_parts.PATTERNS[i],
        }[kind]()
        rule = own_parts.CONFIG.schedule.rule_at(own_parts.CONFIG.rule, 0, trainer.total)
        expected = gemsnn.learn(
            own_parts.NETWORK, own_parts.PARAMETERS, rule, own_parts.SPIKES[index], wanted,
            own_parts.CONFIG.n_compartments, own_parts.CONFIG.seed,
        )  # fmt: skip
        trainer.learn_next()
        assert trainer.state.parameters == expected.parameters


def test_spike_patterns_can_be_learned_and_validated_on():
    """A pattern that repeats: the log-likelihood of held-out examples rises."""
    patterns = np.tile(np.arange(20)[:, None] % 4 == np.arange(3), (24, 1, 1))
    inputs = np.tile(np.arange(20)[:, None] % 4 == np.arange(12) % 4, (24, 1, 1))
    data = ArrayData(ArrayExamples(inputs, targets=patterns), classes=())
    config = TrainingConfig.make(n_hidden=4, rule={"learning_rate": 1e-2}, epochs=8, validation_fraction=0.25)
    trainer, likelihoods = trainer_of(config, data), []

    class Noting:
        def learned(self, trainer, event, /):
            pass

        def evaluated(self, trainer, event, /):
            likelihoods.append(event.record["validation"]["log_likelihood"])

    trainer.run(Noting())
    assert len(likelihoods) == 8
    assert likelihoods[-1] > likelihoods[0] + 3
    assert trainer.state.progress.best["validation"]["log_likelihood"] == max(likelihoods)

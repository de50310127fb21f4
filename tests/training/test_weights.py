"""Some examples count more than others: the step size is multiplied by their weight."""

import dataclasses

import numpy as np
import pytest
import toy

import gemsnn
from gemsnn import ConfigError, DataError
from gemsnn.engine import ENGINES
from gemsnn.events import open_prepared
from gemsnn.training import ArrayData, ArrayExamples, RunDirectory, TrainingConfig, read_config, train, trainer_of
from gemsnn.training.config import write_config


def weighted_data(weights=None, labels=None):
    X, _ = toy.examples(30)
    indices = np.arange(30) % 3 if labels is None else labels
    return ArrayData(ArrayExamples(X.astype(np.uint8), indices, weights=weights), ["left", "right", "up"])


def trained(data, **changes):
    trainer = trainer_of(toy.config(**changes), data)
    trainer.run()
    return trainer.parameters()


WEIGHTS = np.linspace(0.2, 2.0, 30)


@pytest.mark.parametrize("engine", ENGINES)
def test_each_example_is_learned_with_its_weight_times_the_step_size(engine):
    """By a plain loop over either engine, up to what they differ by; the compiled one to the bit."""
    config = toy.config(epochs=1, validation_fraction=0, dtype="float64", mean_free=False, nothing_share=0)
    data = weighted_data(WEIGHTS)
    trainer = trainer_of(config, data)
    parameters = config.initial_parameters(trainer.network)
    while not trainer.finished:
        if trainer.evaluation_due:
            trainer.evaluate()
            continue
        position = trainer.position
        index = int(trainer.upcoming[0])
        trainer.learn_next()
        rule = config.schedule.rule_at(config.rule, position, trainer.total)
        rule = dataclasses.replace(rule, learning_rate=rule.learning_rate * WEIGHTS[index])
        target = np.tile(np.eye(3)[index % 3], (toy.N_STEPS, 1))
        parameters = gemsnn.learn(
            trainer.network,
            parameters,
            rule,
            data.train.spikes[index],
            target,
            2,
            config.seed,
            engine=engine,
            example=position,
        ).parameters
        found = trainer.state.parameters
        for name in ("synaptic", "somatic", "bias"):
            np.testing.assert_allclose(getattr(found, name), getattr(parameters, name), rtol=1e-9, atol=1e-12)
    assert engine != "compiled" or trainer.state.parameters == parameters


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("rule", [rule(learning_rate=0.0) for rule in gemsnn.rules.RULES.values()], ids=repr)
def test_a_step_size_of_0_leaves_every_weight_as_it_is(engine, rule):
    network = gemsnn.Network.fully_connected(12, 4, 3)
    parameters = network.init(seed=1)
    X, _ = toy.examples(1)
    targets = np.tile([1, 0, 0], (toy.N_STEPS, 1))
    assert gemsnn.learn(network, parameters, rule, X[0], targets, 3, engine=engine).parameters == parameters


def test_a_run_with_weights_that_is_stopped_ends_in_the_same_bits(tmp_path):
    data, config = weighted_data(WEIGHTS), toy.config(class_weight={"left": 0.5})
    train(config, data, tmp_path / "whole")
    for stop in (3, 11, 20):
        trainers = []
        train(
            config,
            data,
            tmp_path / "run",
            resume=True,
            observers=lambda _, trainer, trainers=trainers: trainers.append(trainer) or (),
            stop=lambda trainers=trainers, stop=stop: bool(trainers) and trainers[0].position >= stop,
        )
    train(config, data, tmp_path / "run", resume=True)
    for name in ("final.safetensors", "best.safetensors", "metrics.jsonl", "summary.json"):
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_a_run_does_not_go_on_with_other_weights(tmp_path):
    train(toy.config(), weighted_data(WEIGHTS), tmp_path, stop=lambda: True)
    for other in (None, WEIGHTS[::-1]):
        with pytest.raises(ConfigError, match="the data had fingerprint"):
            train(toy.config(), weighted_data(other), tmp_path, resume=True)
    with pytest.raises(ConfigError, match="class_weight"):
        train(toy.config(class_weight="balanced"), weighted_data(WEIGHTS), tmp_path, resume=True)


def test_an_example_of_weight_0_is_neither_learned_nor_validated_on():
    there = np.arange(30) % 4 != 1
    trainer = trainer_of(toy.config(), weighted_data(there))
    assert there[trainer.partition.training].all()
    assert there[trainer.partition.validation].all()
    X, _ = toy.examples(30)
    without = ArrayData(ArrayExamples(X[there].astype(np.uint8), np.arange(30)[there] % 3), ["left", "right", "up"])
    assert trained(weighted_data(there)) == trained(without)
    assert trained(weighted_data(there), class_weight="balanced") == trained(without, class_weight="balanced")


def test_class_weights_are_kept_in_the_settings_file(tmp_path):
    for weights in ("balanced", {"left": 2.0, 'a "b" = c': 0.5, "1": 3.0}, None):
        config = TrainingConfig.make(class_weight=weights)
        (tmp_path / "config.toml").write_text(write_config(config))
        assert read_config(tmp_path / "config.toml")[0] == config
    assert read_config(tmp_path / "config.toml", **{"class_weight.left": 2})[0].class_weight == {"left": 2.0}


def test_a_prepared_file_is_weighted_by_its_classes(tmp_path):
    with open_prepared(toy.prepared(tmp_path / "toy.h5")) as data:
        train(toy.config(class_weight={"2": 0.0}), data, tmp_path / "run")
    model = RunDirectory(tmp_path / "run").load_model()
    assert model.about["config"]["class_weight"] == {"2": 0.0}
    assert 2 not in model.predict(toy.examples(30)[0]).label


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: trainer_of(toy.config(class_weight={"down": 1}), weighted_data()),
         ConfigError, "they are left, right"),
        (lambda: trainer_of(toy.config(), weighted_data(np.zeros(30))), DataError, "every weight is zero"),
        (lambda: trainer_of(toy.config(), weighted_data(np.full(30, np.inf))), DataError, "must be finite"),
        (lambda: trainer_of(toy.config(class_weight="balanced"), weighted_data(None, np.ones((30, 3), int))),
         ConfigError, "one class each"),
        (lambda: toy.config(class_weight={"left": True}), ConfigError, "class_weight.left = True: must be a number"),
        (lambda: toy.config(class_weight=2), ConfigError, "class_weight = 2: must be 'balanced'"),
    ],
)  # fmt: skip
def test_weights_that_mean_nothing_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()

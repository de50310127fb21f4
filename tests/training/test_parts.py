"""The trainer is given its parts, and asks for each example once."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import toy

import gemsnn
from gemsnn.model.spike_list import SpikeList
from gemsnn.training import (
    ArrayData,
    ArrayExamples,
    DecoderSettings,
    Evaluations,
    Partition,
    Schedule,
    Shift,
    Trainer,
    evaluate,
    trainer_of,
)
from gemsnn.training.appraisal import appraise
from gemsnn.training.randomness import hold_out


class Counted(ArrayExamples):
    """Examples that know how often each was read."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.reads = Counter()

    def load(self, index, /):
        self.reads[int(index)] += 1
        return super().load(index)


@pytest.fixture
def arrays():
    X, _ = toy.examples(30)
    labels = np.arange(30) % 3
    return ArrayData(Counted(X, labels), [2, 5, 7], Counted(X[:9], labels[:9]))


def by_hand(data, **changes):
    """The trainer of ``toy.config(shift=1, grid=(3, 4))``, from parts that were made without any settings."""
    network = gemsnn.Network.fully_connected(
        toy.N_INPUTS, 6, 3, gemsnn.Exponential(time_constants=(2.0, 10.0, 80.0), duration=80), visible_memory=False,
        readout="winner-take-all",
    )  # fmt: skip
    training, validation = hold_out(data.train.labels, 0.2, 0)
    parts = {
        "n_compartments": 2,
        "schedule": Schedule(epochs=2),
        "augmentation": [Shift(1, (3, 4))],
        "evaluations": Evaluations(
            (DecoderSettings(kind="per-step", compartments=2),), 10 * toy.N_STEPS, patience=0, likelihood_samples=3
        ),
        "means": gemsnn.TraceMeans.zero(network),
    }
    return Trainer(
        network,
        network.init(0, weight_scale=0.1, hidden_bias=-2.0, dtype=np.float32),
        gemsnn.Feedback(learning_rate=1e-2),
        data,
        Partition(training, validation, np.arange(len(data.test)), np.ones(len(data.train))),
        **{**parts, **changes},
    )


def test_parts_made_by_hand_give_what_settings_describe_to_the_bit(arrays):
    from_parts, from_settings = by_hand(arrays), trainer_of(toy.config(shift=1, grid=(3, 4), nothing_share=0), arrays)
    from_parts.run()
    from_settings.run()
    assert from_parts.state.parameters == from_settings.state.parameters
    assert from_parts.state.progress == from_settings.state.progress
    assert from_parts.parameters() == from_settings.parameters()


def test_without_a_partition_everything_is_learned_from(arrays):
    trainer = Trainer(
        gemsnn.Network.fully_connected(toy.N_INPUTS, 6, 3), gemsnn.Network.fully_connected(toy.N_INPUTS, 6, 3).init(),
        gemsnn.GEM(), arrays, schedule=Schedule(epochs=1),
    )  # fmt: skip
    trainer.run()
    assert arrays.train.reads == Counter(range(30))


def test_initial_weights_are_not_changed(arrays):
    network = gemsnn.Network.fully_connected(toy.N_INPUTS, 6, 3)
    parameters = network.init(seed=0)
    Trainer(network, parameters, gemsnn.GEM(), arrays, schedule=Schedule(epochs=1)).run()
    assert parameters == network.init(seed=0)


def test_each_example_is_read_once_when_it_is_learned_and_once_when_it_is_evaluated(arrays):
    trainer = by_hand(arrays)
    arrays.train.reads.clear()
    trainer.run()
    n = trainer.n_evaluations
    learned, validated = (
        {int(i): 2 for i in trainer.partition.training},
        dict.fromkeys(trainer.partition.validation, n),
    )
    assert arrays.train.reads == Counter({**learned, **validated})
    assert arrays.test.reads == Counter(dict.fromkeys(range(9), n))


def test_spike_patterns_are_read_with_their_inputs():
    X, _ = toy.examples(8)
    counted = Counted(X, targets=X[..., :3])
    data = ArrayData(counted, ())
    trainer = trainer_of(toy.config(validation_fraction=0, epochs=1), data)
    counted.reads.clear()
    trainer.run()
    assert counted.reads == Counter(range(8))
    counted.reads.clear()
    evaluate(trainer.network, trainer.parameters(), counted, np.arange(8), (DecoderSettings(),))
    assert counted.reads == Counter(range(8))


def test_all_that_is_said_of_a_model_takes_one_pass_over_the_examples(arrays):
    trainer = by_hand(arrays)
    trainer.run()
    model = trainer.model().calibrate_on(arrays, alpha=0.5, share=0.5, checkpoints=1)
    arrays.test.reads.clear()
    figures, answers = appraise(model, model.decoder, arrays.test, likelihood_samples=3, set_size=1)
    assert arrays.test.reads == Counter(range(9))
    assert (figures["sets"]["calibrated_on"], figures["sets"]["examples"]) == (4, 5)
    expected = evaluate(
        model.network, model.parameters, arrays.test, np.arange(9), [model.decoder], likelihood_samples=3,
        seed=model.prediction_seed,
    )  # fmt: skip
    assert {name: figures[name] for name in expected} == expected
    alone = model.predict(arrays.test.spikes)
    np.testing.assert_array_equal(answers.probabilities, alone.probabilities)
    np.testing.assert_array_equal(answers.votes, alone.votes)


class Noise:
    """Adds to every batch a lesson of noise whose target is silence."""

    def __call__(self, lessons, seed, /):
        extra = []
        for lesson in lessons:
            key = lesson.example + (1 << 62)
            rng = np.random.default_rng([seed, key])
            spikes = SpikeList.from_array(rng.random((toy.N_STEPS, toy.N_INPUTS)) < 0.3, "noise")
            extra.append(lesson._replace(inputs=spikes, targets=np.zeros_like(lesson.targets), example=key))
        return [*lessons, *extra]


def test_lessons_that_are_added_are_learned_but_not_counted(arrays):
    network = gemsnn.Network.fully_connected(toy.N_INPUTS, 6, 3)
    plain, noisy = (
        Trainer(
            network, network.init(seed=0), gemsnn.GEM(1e-2), arrays, n_compartments=2,
            schedule=Schedule(epochs=2), augmentation=augmentation, means=gemsnn.TraceMeans.zero(network),
        )
        for augmentation in ([], [Noise()])
    )  # fmt: skip
    for trainer in (plain, noisy):
        trainer.run()
    assert plain.state.parameters != noisy.state.parameters
    assert plain.position == noisy.position == 60
    assert plain.state.means.count == noisy.state.means.count == 60
    np.testing.assert_array_equal(plain.state.means.value, noisy.state.means.value)


def test_with_added_lessons_a_stopped_run_ends_in_the_same_bits(arrays):
    whole = by_hand(arrays, augmentation=[Shift(1, (3, 4)), Noise()])
    whole.run()
    first = by_hand(arrays, augmentation=[Shift(1, (3, 4)), Noise()])
    first.run(stop=lambda: first.position >= 17)
    second = by_hand(arrays, augmentation=[Shift(1, (3, 4)), Noise()], state=first.state)
    second.run()
    assert second.state.parameters == whole.state.parameters
    assert second.state.progress == whole.state.progress


def test_the_first_example_has_the_key_that_is_asked_for(arrays):
    """So that learning in pieces is learning in one piece."""
    pieces = by_hand(arrays, schedule=Schedule(epochs=1, decay="constant", average_last=0, shuffle=False))
    whole = by_hand(arrays, schedule=Schedule(epochs=2, decay="constant", average_last=0, shuffle=False))
    pieces.run()
    whole.run()
    more = Trainer(
        pieces.network, pieces.parameters(), pieces.rule, arrays, pieces.partition, n_compartments=2,
        schedule=pieces.schedule, augmentation=pieces.augmentation, means=pieces.state.means, first=pieces.position,
    )  # fmt: skip
    more.run()
    assert more.parameters() == whole.parameters()


def test_a_weight_multiplies_the_step_size_of_its_example_only(arrays):
    seen = {}

    class Watch:
        def __call__(self, lessons, seed, /):
            seen.update({lesson.example: lesson.rule.learning_rate for lesson in lessons})
            return lessons

    trainer = by_hand(arrays, augmentation=[Watch()], schedule=Schedule(epochs=1, decay="constant"))
    weights = np.linspace(0.5, 2, 30)
    trainer.partition = replace(trainer.partition, weights=weights)
    order = [int(trainer.upcoming[0])]
    while trainer.position < trainer.total:
        trainer.learn_next()
        order += trainer.upcoming.tolist() if trainer.position < trainer.total else []
    assert [seen[n] for n in range(len(order))] == pytest.approx([1e-2 * weights[i] for i in order])


def test_the_classifier_learns_in_batches_and_partial_fit_one_after_the_other(arrays):
    X, y = arrays.train.spikes, np.array(arrays.classes)[arrays.train.labels]

    def fitted(batch_size, threads=None):
        schedule = {"epochs": 2, "batch_size": batch_size, "validation_fraction": 0}
        settings = {"n_hidden": 6, "rule": {"learning_rate": 1e-3}, "schedule": schedule, "threads": threads}
        return gemsnn.SpikingClassifier(**settings).fit(X, y).parameters_

    changes = {"n_compartments": 1, "validation_fraction": 0, "eval_every": None, "batch_size": 4}
    config = toy.config(rule={"learning_rate": 1e-3}, **changes)
    trainer = trainer_of(config, ArrayData(ArrayExamples(X, arrays.train.labels), arrays.classes))
    trainer.run()
    assert fitted(4) == fitted(4, threads=3) == trainer.parameters()
    assert fitted(4) != fitted(1)
    pieces, whole = (
        gemsnn.SpikingClassifier(n_hidden=6, schedule={"batch_size": size}).partial_fit(X, y, classes=[2, 5, 7])
        for size in (4, 1)
    )
    assert pieces.parameters_ == whole.parameters_

"""Training examples that move: by how much, and where that is refused."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
import toy

import gemsnn
from gemsnn.errors import ConfigError
from gemsnn.events import Preprocessing
from gemsnn.model.spike_list import SpikeList
from gemsnn.training import ArrayData, ArrayExamples, TrainingConfig, trainer_of
from gemsnn.training.augmentation import Shift, moved
from gemsnn.training.from_settings import augmentation_of
from gemsnn.training.randomness import Purpose, derived_seed


def listed(spikes: np.ndarray) -> SpikeList:
    return SpikeList.from_array(spikes, "spikes")


def dot(row: int, column: int, planes: int = 1) -> np.ndarray:
    """Two steps of a 5 x 4 grid with one spike in each plane."""
    spikes = np.zeros((2, planes, 5, 4), dtype=np.uint8)
    spikes[:, :, row, column] = 1
    return spikes.reshape(2, -1)


@pytest.mark.parametrize("planes", [1, 2])
@pytest.mark.parametrize(("down", "right"), [(0, 0), (1, 0), (-2, 1), (0, -1), (2, -1)])
def test_a_spike_moves_by_rows_and_columns_in_every_plane(planes: int, down: int, right: int) -> None:
    found = moved(listed(dot(2, 1, planes)), (5, 4), down, right)
    np.testing.assert_array_equal(found.to_array(20 * planes), dot(2 + down, 1 + right, planes))


def test_what_leaves_the_grid_is_lost_and_does_not_come_in_at_the_other_side() -> None:
    assert not len(moved(listed(dot(4, 1)), (5, 4), 1, 0).spikes)
    assert not len(moved(listed(dot(2, 0)), (5, 4), 0, -1).spikes)
    full = moved(listed(np.ones((1, 20), dtype=np.uint8)), (5, 4), -1, 2).to_array(20)
    np.testing.assert_array_equal(full.reshape(5, 4), np.outer([1, 1, 1, 1, 0], [0, 0, 1, 1]))


def test_every_displacement_comes_up_alike_and_follows_from_seed_and_position() -> None:
    shift, one = Shift(1, (5, 4)), listed(dot(2, 1))
    places = [int(shift.moved(one, 3, example).spikes["index"][0]) for example in range(1800)]
    counts = Counter(places)
    assert set(counts) == {row * 4 + column for row in (1, 2, 3) for column in (0, 1, 2)}
    # 200 each are expected, with a standard deviation of 13.3: 5 of these for the worst of nine is 5e-6 by chance.
    assert max(abs(count - 200) for count in counts.values()) < 67
    assert [int(shift.moved(one, 3, example).spikes["index"][0]) for example in range(50)] == places[:50]
    assert [int(shift.moved(one, 4, example).spikes["index"][0]) for example in range(50)] != places[:50]


def test_a_camera_of_some_size_moves_by_two_pixels_unless_told_otherwise() -> None:
    camera = Preprocessing(sensor_size=(16, 20), bin_us=1000, n_steps=2, polarity="separate")
    small = Preprocessing(sensor_size=(15, 20), bin_us=1000, n_steps=2)

    def of(preprocessing: Preprocessing | None, **settings: Any) -> tuple:
        n_inputs = 400 if preprocessing is None else preprocessing.n_inputs
        examples = ArrayExamples(np.zeros((1, 2, n_inputs), dtype=np.uint8), np.zeros(1, dtype=np.int64))
        data = ArrayData(examples, [0, 1], preprocessing=preprocessing)
        return augmentation_of(TrainingConfig.make(**{"nothing_share": 0, **settings}), data)

    assert of(camera) == (Shift(2, (20, 16)),)
    assert of(camera, shift=0) == of(camera, preset="paper") == of(small) == ()
    assert of(None) == ()  # arrays, of which nothing is known
    assert of(None, grid=(20, 20)) == (Shift(2, (20, 20)),)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"shift": 1}, r"shift = 1: how the inputs are arranged is not known; set grid to \(rows, columns\)"),
        ({"grid": (3, 4)}, r"grid = \(3, 4\): 20 inputs are not planes of 3 rows and 4 columns"),
        ({"shift": 4, "grid": (5, 4)}, "shift = 4: must be smaller than the grid's sides, 5 and 4"),
    ],
)
def test_what_cannot_be_is_refused_before_training(settings: dict, message: str) -> None:
    X, y = np.zeros((4, 3, 20), dtype=np.uint8), np.array([0, 1, 0, 1])
    data = ArrayData(ArrayExamples(X, y), [0, 1])
    with pytest.raises(ConfigError, match=message):
        trainer_of(TrainingConfig.make(validation_fraction=0.0, n_hidden=1, **settings), data)
    with pytest.raises(ConfigError, match=message):
        gemsnn.SpikingClassifier(n_hidden=1, **toy.arguments(**settings)).fit(X, y)
    with pytest.raises(ConfigError, match=message):
        gemsnn.SpikingClassifier(n_hidden=1, **toy.arguments(**settings)).partial_fit(X, y, classes=[0, 1])


def test_learning_is_shown_moved_examples_and_nothing_else_is() -> None:
    rng = np.random.default_rng(0)
    X, y = (rng.random((12, 10, 20)) < 0.3).astype(np.uint8), np.arange(12) % 2
    moving, still = (
        gemsnn.SpikingClassifier(**toy.arguments(n_hidden=4, learning_rate=1e-2, shift=shift, grid=(5, 4)))
        for shift in (1, 0)
    )
    shift = Shift(1, (5, 4))
    by_hand = np.stack([shift.moved(listed(one), 0, n).to_array(20) for n, one in enumerate(X)]).astype(np.uint8)
    assert (by_hand != X).any()
    moving.partial_fit(X, y, classes=[0, 1])
    still.partial_fit(by_hand, y, classes=[0, 1])
    assert moving.parameters_ == still.parameters_
    np.testing.assert_array_equal(moving.predict_proba(X), still.predict_proba(X))


def test_a_run_shows_an_example_elsewhere_in_each_epoch_and_measures_it_where_it_is() -> None:
    rng = np.random.default_rng(0)
    X, y = (rng.random((6, 10, 20)) < 0.3).astype(np.uint8), np.arange(6) % 2
    seen: list[np.ndarray] = []

    class Watched(ArrayExamples):
        def load(self, index: int, /) -> tuple:
            seen.append(self.spikes[index])
            return super().load(index)

    data = ArrayData(Watched(X, y), [0, 1], ArrayExamples(X, y))
    config = TrainingConfig.make(
        n_hidden=4,
        n_compartments=2,
        epochs=2,
        validation_fraction=0.0,
        shift=1,
        grid=(5, 4),
        nothing_share=0,
        rule={"learning_rate": 1e-3},
    )
    trainer, shift = trainer_of(config, data), Shift(1, (5, 4))
    parameters, means = trainer.state.parameters, gemsnn.TraceMeans.zero(trainer.network)
    seen.clear()  # the first example is looked at for its width
    for position in range(12):
        trainer.learn_next()
        shown = shift.moved(listed(seen[position]), config.seed, position).to_array(20)
        target = np.repeat(np.eye(2, dtype=np.uint8)[[y[(seen[position] == X).all(axis=(1, 2))][0]]], 10, axis=0)
        rule = config.schedule.rule_at(config.rule, position, 12)
        parameters = gemsnn.learn(
            trainer.network, parameters, rule, shown, target, 2, seed=config.seed, example=position, means=means
        ).parameters
        means = means.after(trainer.network, shown)  # of the examples as they were shown
        assert trainer.state.parameters == parameters
    record = trainer.evaluate().record
    seed = derived_seed(config.seed, Purpose.PREDICT)
    same = gemsnn.predict(trainer.network, trainer.parameters(), X, 2, decoder=config.decoder, seed=seed)
    assert record["test"]["accuracy"] == (same.classes == y).mean()

"""Polarities apart by default, merged where the paper's settings ask for it, and models that know which."""

from pathlib import Path

import numpy as np
import pytest

from gemsnn.events import open_prepared, simulate_prepared
from gemsnn.training import TrainingConfig, load_model, save_model, trainer_of
from gemsnn.training.adapted import merged_polarities


@pytest.fixture(scope="module")
def camera(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("camera") / "digits.h5"
    simulate_prepared(path, digits=(0, 1), per_class=(4, 2), seed=3)
    return path


def test_recordings_are_learned_from_with_polarities_apart_unless_the_paper_is_asked_for(camera: Path) -> None:
    with open_prepared(camera) as data:
        apart = trainer_of(TrainingConfig.make(n_hidden=2, epochs=1, validation_fraction=0), data)
        paper = trainer_of(TrainingConfig.make("paper", n_hidden=2, epochs=1, validation_fraction=0), data)
        assert (apart.network.n_inputs, paper.network.n_inputs) == (2 * 676, 676)
        off, on = np.split(data.train[1], 2, axis=1)
        merged = paper.data.train.load(1)[0]
        np.testing.assert_array_equal(merged.to_array(676), off | on)
        np.testing.assert_array_equal(paper.data.train[1], off | on)
        assert len(merged.spikes) == (off | on).sum()
        assert paper.data.train.labels is data.train.labels
        assert off.any()
        assert on.any()


def test_a_model_bins_recordings_as_it_learned_them(camera: Path, tmp_path: Path) -> None:
    events = np.array([(60, 60, 0, 1), (60, 60, 100, 0)], dtype=[("x", int), ("y", int), ("t", int), ("p", int)])
    with open_prepared(camera) as data:
        for preset, n_spikes in ((None, 2), ("paper", 1)):
            trainer = trainer_of(TrainingConfig.make(preset, n_hidden=2, epochs=1, validation_fraction=0), data)
            save_model(trainer.model(), tmp_path / "model.safetensors")
            model = load_model(tmp_path / "model.safetensors")
            assert model.bin(events).sum() == n_spikes
            assert model.bin(events).shape == (80, model.network.n_inputs)


def test_both_polarities_of_a_pixel_move_together(camera: Path) -> None:
    with open_prepared(camera) as data:
        trainer = trainer_of(TrainingConfig.make(n_hidden=2, epochs=1, validation_fraction=0), data)
        example = data.train[0]
        shift, nothing = trainer.augmentation
        assert nothing.n_inputs == trainer.network.n_inputs
        shown = shift.moved(data.train.load(0)[0], trainer.seed, 5).to_array(2 * 676)
        planes, moved = example.reshape(80, 2, 26, 26), shown.reshape(80, 2, 26, 26)
        assert (planes != moved).any()
        for down in range(-2, 3):
            for right in range(-2, 3):
                inner = (slice(None), slice(None), slice(4, 22), slice(4, 22))
                if (np.roll(planes, (down, right), axis=(2, 3))[inner] == moved[inner]).all():
                    return
        raise AssertionError("the two planes did not move by the same pixels")


def test_what_has_no_polarities_stays_as_it_is(camera: Path, data) -> None:
    assert merged_polarities(data) is data  # arrays
    with open_prepared(camera) as recordings:
        once = merged_polarities(recordings)
        assert merged_polarities(once) is once

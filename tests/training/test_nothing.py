"""Lessons about nothing: what is shown, what is said to be right, and that a network then is sure of nothing there."""

from pathlib import Path

import numpy as np
import pytest
import toy

import gemsnn
from gemsnn.errors import ConfigError, DataError
from gemsnn.learning import Lesson
from gemsnn.model.spike_list import SpikeList
from gemsnn.training import (
    ArrayData,
    ArrayExamples,
    LessonsAboutNothing,
    RunDirectory,
    TrainingConfig,
    train,
    trainer_of,
)
from gemsnn.training.from_settings import augmentation_of
from gemsnn.training.nothing import KEYS, noise, piece, scrambled_blocks, scrambled_inputs, thinned

T, SIDE = 40, 12
N = 2 * SIDE * SIDE
GRID = (SIDE, SIDE)


def example(seed=0, density=0.05):
    return SpikeList.from_array(np.random.default_rng(seed).random((T, N)) < density, "example")


def lessons(n, density=0.05, C=3):
    return [Lesson(example(i, density), np.eye(C, dtype=np.uint8)[[i % C] * T], gemsnn.GEM(), i) for i in range(n)]


def ordered(spikes):
    cells = spikes.spikes["step"].astype(int) * N + spikes.spikes["index"]
    return bool((np.diff(cells) > 0).all()) and spikes.fits(N)


# ---- which lessons there are


def test_the_share_of_examples_that_a_lesson_follows_is_the_one_asked_for():
    batch = lessons(2000, density=0.001)
    found = LessonsAboutNothing(0.25, N)(batch, 3)
    assert found[:2000] == batch
    assert len(found) - 2000 == pytest.approx(500, abs=4 * np.sqrt(2000 * 0.25 * 0.75))
    assert LessonsAboutNothing(0.0, N)(batch, 3) == batch
    assert len(LessonsAboutNothing(1.0, N)(batch, 3)) == 4000


def test_a_lesson_follows_from_seed_and_example_and_from_nothing_else():
    nothing = LessonsAboutNothing(0.5, N, GRID)
    batch = lessons(30)
    whole = {one.example: one for one in nothing(batch, 1)}
    apart = {one.example: one for lesson in reversed(batch) for one in nothing([lesson], 1)}
    assert whole.keys() == apart.keys()
    for key, one in whole.items():
        np.testing.assert_array_equal(one.inputs.spikes, apart[key].inputs.spikes)
        np.testing.assert_array_equal(one.targets, apart[key].targets)
    assert {one.example for one in nothing(batch, 2)} != whole.keys()


def test_lessons_have_keys_and_step_sizes_of_their_own():
    batch = [one._replace(rule=gemsnn.GEM(0.001 * (1 + one.example))) for one in lessons(20)]
    for one in LessonsAboutNothing(1.0, N)(batch, 0)[20:]:
        assert one.rule.learning_rate == batch[one.example - KEYS].rule.learning_rate


def test_any_class_is_right_each_time_another():
    found = LessonsAboutNothing(1.0, N)(lessons(300), 0)[300:]
    targets = np.concatenate([one.targets for one in found])
    assert (targets.sum(axis=1) == 1).all()
    np.testing.assert_allclose(targets.mean(axis=0), 1 / 3, atol=4 * np.sqrt(2 / 9 / len(targets)))
    assert np.mean(targets[1:].argmax(axis=1) == targets[:-1].argmax(axis=1)) < 0.4  # drawn anew at every step


def test_where_several_labels_can_hold_none_does():
    for one in LessonsAboutNothing(1.0, N, several_labels=True)(lessons(20), 0)[20:]:
        assert one.targets.shape == (T, 3)
        assert not one.targets.any()


# ---- what they show


def test_every_kind_gives_a_list_of_spikes_in_order_on_the_inputs():
    shown = [one.inputs for one in LessonsAboutNothing(1.0, N, GRID)(lessons(200), 0)[200:]]
    assert all(ordered(one) and one.n_steps == T for one in shown)
    sizes = np.array([len(one.spikes) for one in shown])
    assert (sizes == 0).any()  # silence
    assert np.mean(sizes == np.array([len(one.inputs.spikes) for one in lessons(200)])) > 0.2  # scrambled inputs


def test_thinned_keeps_a_share_of_the_spikes():
    spikes, random = example(density=0.5), np.random.default_rng(0)
    found = thinned(spikes, 0.1, random)
    assert len(found.spikes) == pytest.approx(0.1 * len(spikes.spikes), rel=0.2)
    assert not (found.to_array(N) & ~spikes.to_array(N)).any()
    assert not len(thinned(spikes, 0.0, random).spikes)


@pytest.mark.parametrize("probability", [0.0, 1e-5, 0.03, 0.9, 1.0])
def test_noise_is_everywhere_alike_and_as_dense_as_asked_for(probability):
    random = np.random.default_rng(1)
    found = [noise(T, N, probability, random) for _ in range(20)]
    assert all(ordered(one) for one in found)
    count, cells = sum(len(one.spikes) for one in found), 20 * T * N
    assert count == pytest.approx(cells * probability, abs=5 * np.sqrt(cells * probability * (1 - probability)))
    if 0.01 < probability < 1:
        of_input = sum(one.to_array(N).sum(axis=0) for one in found)
        assert of_input.var() == pytest.approx(20 * T * probability * (1 - probability), rel=0.3)


def test_scrambled_inputs_trade_places_for_the_whole_recording():
    spikes = example()
    found = scrambled_inputs(spikes, N, np.random.default_rng(0)).to_array(N)
    before = spikes.to_array(N)
    np.testing.assert_array_equal(found.sum(axis=1), before.sum(axis=1))
    assert sorted(map(bytes, found.T)) == sorted(map(bytes, before.T))
    assert (found != before).any()


@pytest.mark.parametrize("parts", [2, 4])
def test_every_block_takes_the_place_of_another_in_all_planes(parts):
    spikes = example(density=0.3)
    found = scrambled_blocks(spikes, N, GRID, parts, np.random.default_rng(2))
    b = SIDE // parts

    def blocks(one):
        planes = one.to_array(N).reshape(T, 2, parts, b, parts, b)
        return [planes[:, :, i, :, j].tobytes() for i in range(parts) for j in range(parts)]

    before, after = blocks(spikes), blocks(found)
    assert sorted(before) == sorted(after)
    assert all(one != other for one, other in zip(before, after, strict=True))


def test_blocks_of_a_grid_that_they_do_not_divide_stay_on_it():
    width = 2 * 9 * 11
    spikes = SpikeList.from_array(np.random.default_rng(0).random((T, width)) < 0.3, "example")
    for seed in range(10):
        found = scrambled_blocks(spikes, width, (9, 11), 4, np.random.default_rng(seed))
        assert found.fits(width)
        assert 0.5 * len(spikes.spikes) < len(found.spikes) <= len(spikes.spikes)


def test_a_handful_of_inputs_is_not_scrambled():
    """In another order they may be another class, or the same."""
    batch = [
        one._replace(inputs=SpikeList.from_array(np.eye(4)[[i % 4] * T], "x")) for i, one in enumerate(lessons(90))
    ]
    for one in LessonsAboutNothing(1.0, 4)(batch, 0)[90:]:
        used = np.unique(one.inputs.spikes["index"])
        original = (one.example - KEYS) % 4
        assert len(one.inputs.spikes) < T or len(used) > 1 or used.tolist() == [original]


def test_pieces_of_background_begin_anywhere_and_are_as_long_as_the_example():
    long = SpikeList.from_array(np.random.default_rng(0).random((500, N)) < 0.02, "background")
    random, whole, starts = np.random.default_rng(0), long.to_array(N), set()
    for _ in range(50):
        found = piece(long, T, random).to_array(N)
        places = [n for n in range(461) if (whole[n : n + T] == found).all()]
        assert len(places) == 1
        starts.add(places[0])
    assert len(starts) > 30
    assert piece(long, 500, random) == long
    found = LessonsAboutNothing(1.0, N, background=(long,))(lessons(100), 0)[100:]
    assert all(one.inputs.n_steps == len(one.targets) == T for one in found)


# ---- settings


def data(labels=None, targets=None, n=30):
    X, y = toy.examples(n)
    if targets is not None:
        return ArrayData(ArrayExamples(X, None, targets), [])
    return ArrayData(ArrayExamples(X, y if labels is None else labels), [0, 1, 2])


def test_they_are_there_for_classes_unless_switched_off():
    (part,) = augmentation_of(toy.config(), data())
    assert part.share == 0.25
    assert augmentation_of(toy.config(nothing_share=0), data()) == ()
    assert augmentation_of(TrainingConfig.make("paper"), data()) == ()
    several = data((np.arange(90).reshape(30, 3) % 2).astype(np.uint8))
    assert augmentation_of(toy.config(), several) == ()
    (part,) = augmentation_of(toy.config(nothing_share=0.5), several)
    assert (part.share, part.several_labels) == (0.5, True)


def test_spike_patterns_have_none():
    patterns = data(targets=np.zeros((30, toy.N_STEPS, 2), dtype=np.uint8))
    assert augmentation_of(toy.config(), patterns) == ()
    with pytest.raises(ConfigError, match="lessons about nothing need examples that have classes"):
        augmentation_of(toy.config(nothing_share=0.1), patterns)


def test_a_share_beyond_one_is_refused():
    with pytest.raises(ConfigError, match=r"nothing_share = 2: must be a number \(or left out\), >= 0 and <= 1"):
        toy.config(nothing_share=2)


def test_the_classifier_of_the_paper_learns_from_examples_only():
    assert gemsnn.GEMClassifier().get_params()["schedule__nothing_share"] == 0
    assert gemsnn.SpikingClassifier().get_params()["schedule__nothing_share"] is None


# ---- what they are for


def rates(n, seed=0):
    """Two classes: one half of the inputs spikes, or the other."""
    y = np.arange(n) % 2
    p = np.where((np.arange(16) < 8) == (y[:, None] == 0), 0.4, 0.02)
    return (np.random.default_rng(seed).random((n, 30, 16)) < p[:, None]).astype(np.uint8), y


@pytest.fixture(scope="module")
def fitted():
    how = {"n_hidden": 20, "rule": {"learning_rate": 3e-3}}
    X, y = rates(60)
    return {
        share: gemsnn.SpikingClassifier(**how, schedule={"epochs": 8, "nothing_share": share, "calibrate": False}).fit(
            X, y
        )
        for share in (0.0, 0.25)
    }


def test_the_network_is_sure_of_what_it_knows_and_not_of_silence(fitted):
    X, y = rates(40, seed=1)
    silence = np.zeros((1, 30, 16), dtype=np.uint8)
    sure = fitted[0.25].predict_proba(X)
    assert (sure.argmax(axis=1) == y).all()
    assert sure.max(axis=1).mean() > 0.8
    assert fitted[0.25].predict_proba(silence).max() < 0.65


@pytest.mark.parametrize("labels", ["classes", "nothing"])
def test_partial_fit_in_pieces_is_partial_fit_at_once(labels):
    X, y = rates(20)
    y = gemsnn.NOTHING if labels == "nothing" else y
    settings = {"rule": {"learning_rate": 1e-2}, "schedule": {"nothing_share": 0.5}}
    at_once, pieces = (gemsnn.SpikingClassifier(n_hidden=5, **settings) for _ in range(2))
    at_once.partial_fit(X, y, classes=[0, 1])
    for first in range(0, 20, 5):
        pieces.partial_fit(X[first : first + 5], y if labels == "nothing" else y[first : first + 5], classes=[0, 1])
    assert at_once.parameters_ == pieces.parameters_
    assert at_once.n_examples_seen_ == 20


def test_what_partial_fit_is_told_to_be_nothing_the_classifier_is_no_longer_sure_of(fitted):
    half = np.zeros((20, 30, 16), dtype=np.uint8)
    half[:, :, 4:12] = np.random.default_rng(3).random((20, 30, 8)) < 0.4  # half of either class
    half[:, :, 8:12] = 0
    classifier = fitted[0.0]
    before = classifier.predict_proba(half).max(axis=1).mean()
    for _ in range(3):
        classifier.partial_fit(half, gemsnn.NOTHING)
    assert before > 0.8
    assert classifier.predict_proba(half).max(axis=1).mean() < before - 0.1


def test_background_given_to_fit_is_learned_as_nothing():
    X, y = rates(60)
    flicker = np.zeros((200, 16), dtype=np.uint8)
    flicker[::2, 0] = 1
    how = {"n_hidden": 20, "rule": {"learning_rate": 3e-3}, "schedule": {"epochs": 8, "calibrate": False}}
    plain, taught = (
        gemsnn.SpikingClassifier(**how).fit(X, y, background=background) for background in (None, [flicker])
    )
    assert plain.parameters_ != taught.parameters_
    confidence = [one.predict_proba(flicker[None, :30]).max() for one in (plain, taught)]
    assert confidence[1] < max(0.65, confidence[0])
    with pytest.raises(gemsnn.ShapeError, match="background has 3 inputs per step, but X has 16"):
        gemsnn.SpikingClassifier(**how).fit(X, y, background=np.zeros((1, 5, 3)))


def test_a_stream_is_told_that_what_it_sees_is_nothing(fitted):
    X, _ = rates(1, seed=5)
    model = fitted[0.0].model_

    def confidence(parameters_of):
        return parameters_of.predict(X[0]).confidence

    live = model.stream(learning=True, key=0)
    for _ in range(12):
        live.teach(gemsnn.NOTHING)
        for step in X[0]:
            live.step(step)
        live.reset()
    from dataclasses import replace

    assert confidence(replace(model, parameters=live.parameters)) < confidence(model) - 0.1
    again = model.stream(learning=True, key=0)
    for _ in range(12):
        for step in X[0]:
            again.step(step, gemsnn.NOTHING)
        again.reset()
    assert again.parameters == live.parameters
    with pytest.raises(ConfigError, match="only predicts"):
        model.stream().teach(gemsnn.NOTHING)


# ---- in runs


def test_a_run_that_is_interrupted_ends_in_the_same_bits(tmp_path, data_file):
    config = toy.config(nothing_share=0.5, epochs=2)
    with gemsnn.events.open_prepared(data_file) as prepared:
        train(config, prepared, tmp_path / "whole")
        asked = iter([False] * 11 + [True] + [False] * 1000)
        train(config, prepared, tmp_path / "parts", stop=lambda: next(asked))
        train(config, prepared, tmp_path / "parts", resume=True)
        train(config.changed(nothing_share=0.0), prepared, tmp_path / "plain")
    assert toy.results(tmp_path / "whole") == toy.results(tmp_path / "parts")
    assert toy.results(tmp_path / "whole") != toy.results(tmp_path / "plain")


@pytest.fixture
def recorded(tmp_path_factory):
    """A prepared file of recordings, and a folder of background recordings of the same camera."""
    folder, rng = tmp_path_factory.mktemp("recorded"), np.random.default_rng(0)

    def events(n, seconds=0.1):
        found = np.zeros(n, dtype=gemsnn.events.EVENT_DTYPE)
        found["x"], found["y"] = rng.integers(0, 10, (2, n))
        found["t"] = np.sort(rng.integers(0, int(1e6 * seconds), n))
        return found

    preprocessing = gemsnn.events.Preprocessing(sensor_size=(10, 10), bin_us=5000, n_steps=20)
    X = [events(100) for _ in range(20)]
    gemsnn.events.write_prepared(folder / "data.h5", X, ["a", "b"] * 10, preprocessing=preprocessing)
    (folder / "background" / "night").mkdir(parents=True)
    for place in ("lamp.npy", "night/street.npy"):
        np.save(folder / "background" / place, events(400, seconds=2.0))
    return folder


def background_of(run: Path):
    return RunDirectory(run).load_model("final").about["config"]


def test_background_recordings_are_read_whole_and_prepared_as_the_examples_are(recorded):
    config = toy.config(n_hidden=3, epochs=1, background=str(recorded / "background"))
    with gemsnn.events.open_prepared(recorded / "data.h5") as prepared:
        trainer = trainer_of(config, prepared)
    (part,) = [one for one in trainer.augmentation if isinstance(one, LessonsAboutNothing)]
    assert [one.n_steps for one in part.background] == pytest.approx([400, 400], abs=10)
    assert all(one.fits(100) for one in part.background)


def test_a_run_knows_its_background_recordings_by_what_they_hold(recorded, tmp_path):
    config = toy.config(n_hidden=3, epochs=1, background=str(recorded / "background"))
    with gemsnn.events.open_prepared(recorded / "data.h5") as prepared:
        train(config, prepared, tmp_path / "run", stop=lambda: True)
        moved = tmp_path / "elsewhere"
        (recorded / "background").rename(moved)
        with pytest.raises(DataError, match="not a folder"):
            train(config, prepared, tmp_path / "run", resume=True)
        train(config.changed(background=str(moved)), prepared, tmp_path / "run", stop=lambda: True, resume=True)
        (moved / "lamp.npy").unlink()
        with pytest.raises(ConfigError, match="background recordings"):
            train(config.changed(background=str(moved)), prepared, tmp_path / "run", resume=True)
        with pytest.raises(ConfigError, match="background recordings"):
            train(config.changed(background=None), prepared, tmp_path / "run", resume=True)


def test_background_of_another_sensor_or_beside_arrays_is_refused(recorded, tmp_path, data_file):
    (tmp_path / "empty").mkdir()
    (tmp_path / "wide").mkdir()
    (tmp_path / "wide" / "one.csv").write_text("20,20\n0,15,15,1\n")
    with gemsnn.events.open_prepared(recorded / "data.h5") as prepared:
        with pytest.raises(DataError, match="no recordings in this folder"):
            trainer_of(toy.config(background=str(tmp_path / "empty")), prepared)
        with pytest.raises(DataError, match="from a sensor of 20 x 20, but the examples come from one of 10 x 10"):
            trainer_of(toy.config(background=str(tmp_path / "wide")), prepared)
    with gemsnn.events.open_prepared(data_file) as arrays, pytest.raises(DataError, match="are no recordings"):
        trainer_of(toy.config(background=str(tmp_path / "wide")), arrays)

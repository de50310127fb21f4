"""What a scene tells is what the model said, and its size is bounded whatever the recording."""

import numpy as np
import pytest
from watched import calibrated, frames_of, made_up_model, made_up_spikes, unpacked

from gemsnn import DataError
from gemsnn.events import Preprocessing, mnist_dvs_preprocessing
from gemsnn.model.spike_list import SpikeList
from gemsnn.training import DecoderSettings
from gemsnn.watching import Picture, make_scene
from gemsnn.watching import scene as parts
from gemsnn.watching.scene import drawing_of, places


def test_a_scene_tells_what_the_model_says_and_when_it_would_stop(model):
    spikes, picture = made_up_spikes(), Picture.of(model)
    scene = make_scene(model, spikes, picture, "a recording", truth=model.classes[1])
    answers = model.predict_anytime([spikes.to_array(48)])[0]
    stopped = model.predict_set([spikes.to_array(48)])
    assert (scene.steps, scene.chosen, scene.confidence) == (30, answers.classes[-1], answers.confidence[-1])
    assert unpacked(scene.content["answers"]) == answers.classes.tolist()
    assert scene.stopped == stopped.steps[0] < 30
    sets = model.calibration.guarantee.sets(answers)
    assert scene.members == np.flatnonzero(sets[-1]).tolist()
    for c, left in enumerate(scene.content["promise"]["left"]):
        assert sets[:, c].tolist() == [left == 0 or t + 1 < left for t in range(30)]
    assert sum(unpacked(scene.content["hidden_spikes"])) == answers.hidden_spikes.sum()


def test_the_hidden_spikes_are_those_behind_the_answers(model):
    spikes = made_up_spikes()
    scene = make_scene(model, spikes, Picture.of(model), "", decoder=DecoderSettings(kind="per-step", compartments=1))
    drawn = [len(rows) for rows in frames_of(scene.content["hidden"])]
    answers = model.predict_anytime([spikes.to_array(48)], "per-step", 1)[0]
    assert drawn == answers.hidden_spikes.tolist()
    assert scene.content["hidden_rows"] == scene.content["hidden_of"] == 9


def test_polarities_that_the_network_merges_are_drawn_apart(model):
    scene = make_scene(model, made_up_spikes(), Picture.of(model), "")
    spikes = made_up_spikes().spikes
    drawn = frames_of(scene.content["spikes"])
    assert (scene.content["width"], scene.content["height"], scene.content["two_colours"]) == (8, 6, True)
    for step in range(30):
        assert drawn[step] == spikes["index"][spikes["step"] == step].tolist()


def test_a_recording_stands_upright():
    choices = mnist_dvs_preprocessing(4)
    layout = drawing_of(Picture(choices.n_inputs, choices.grid, choices))
    rows, columns = choices.grid
    one = np.zeros((rows, columns))
    one[3, 7] = 1
    (y,), (x,) = np.nonzero(choices.upright(one))
    assert places(layout, np.array([3 * columns + 7])) == y * layout.width + x
    assert places(layout, np.array([rows * columns + 3 * columns + 7])) == (layout.height + y) * layout.width + x


def test_inputs_without_a_grid_have_a_row_each(without_grid):
    scene = make_scene(without_grid, made_up_spikes(width=48), Picture.of(without_grid), "")
    assert (scene.content["on_grid"], scene.content["width"], scene.content["height"]) == (False, 1, 48)
    assert scene.content["step_ms"] is None


def test_the_grid_of_data_serves_a_model_that_knows_none(without_grid):
    picture = Picture.of(without_grid, grid=(6, 4))
    layout = drawing_of(picture)
    assert (layout.width, layout.height, layout.two_colours) == (4, 6, True)
    assert drawing_of(Picture.of(without_grid, grid=(4, 4))).two_colours is False


def test_a_large_sensor_and_a_long_recording_make_no_large_page(monkeypatch):
    choices = Preprocessing(sensor_size=(1280, 720), bin_us=1000, n_steps=40)
    model = made_up_model(choices, ("a", "b"), choices.n_inputs, 2, 40)
    rng = np.random.default_rng(0)
    step, index = np.divmod(np.unique(rng.integers(0, 40 * 2 * 1280 * 720, 400_000)), 2 * 1280 * 720)
    scene = make_scene(model, SpikeList.from_pairs(step, index, 40), Picture.of(model), "large")
    assert scene.content["merged"] >= 4
    assert max(scene.content["width"], scene.content["height"]) <= parts.MOST_SIDE
    assert sum(map(len, frames_of(scene.content["spikes"]))) <= parts.MOST_SPIKES
    assert len(scene.content["spikes"]) < 700_000


def test_many_steps_are_put_together_into_frames(model, monkeypatch):
    monkeypatch.setattr(parts, "MOST_FRAMES", 7)
    spikes = made_up_spikes(n_steps=30)
    scene = make_scene(model, spikes, Picture.of(model), "")
    ends = np.cumsum(unpacked(scene.content["ends"]))
    assert (len(ends), ends[-1], scene.content["frames"]) == (7, 30, 7)
    drawn, step = frames_of(scene.content["spikes"]), spikes.spikes["step"]
    for f, (begin, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
        assert drawn[f] == np.unique(spikes.spikes["index"][(step >= begin) & (step < end)]).tolist()
    answers = model.predict_anytime([spikes.to_array(48)])[0]
    assert unpacked(scene.content["answers"]) == answers.classes[ends - 1].tolist()


def test_some_of_many_hidden_neurons_and_classes_are_drawn(monkeypatch):
    model = made_up_model(None, tuple(range(30)), n_inputs=48, n_hidden=50)
    monkeypatch.setattr(parts, "MOST_HIDDEN", 20)
    scene = make_scene(model, made_up_spikes(width=48), Picture.of(model), "")
    assert (scene.content["hidden_rows"], scene.content["hidden_of"]) == (20, 50)
    assert len(scene.content["shown"]) == parts.MOST_CLASSES
    assert scene.chosen in scene.content["shown"]
    monkeypatch.setattr(parts, "MOST_HIDDEN_SPIKES", 40)
    scene = make_scene(model, made_up_spikes(width=48), Picture.of(model), "")
    assert sum(map(len, frames_of(scene.content["hidden"]))) < 80


def test_another_decoder_than_the_calibrated_one_has_no_sets(model):
    how = DecoderSettings(kind="vote", compartments=3)
    scene = make_scene(model, made_up_spikes(), Picture.of(model), "", decoder=how)
    assert (scene.members, scene.stopped, "promise" in scene.content) == (None, None, False)


def test_a_network_without_hidden_neurons(model):
    plain = calibrated(made_up_model(n_hidden=0))
    scene = make_scene(plain, made_up_spikes(), Picture.of(plain), "")
    assert (scene.content["hidden_rows"], scene.content["hidden_of"]) == (0, 0)


def test_a_model_of_spike_patterns_has_no_answers_to_watch(model):
    from dataclasses import replace

    with pytest.raises(DataError, match="trained on spike patterns"):
        make_scene(replace(model, classes=()), made_up_spikes(), Picture.of(model), "")

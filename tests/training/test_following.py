"""Where recordings begin and end in a source that goes on, and what is said in between."""

import numpy as np
import pytest

import gemsnn
from gemsnn.events import EVENT_DTYPE, Preprocessing
from gemsnn.inference.sight import Sight
from gemsnn.training import DecoderSettings, Model, load_model, save_model

T = 15  # steps of a millisecond that a recording has
SIGHT = Sight(window=4, least=20)


def model(sight=SIGHT):
    network = gemsnn.Network.fully_connected(30, 12, 3)
    how = DecoderSettings(kind="per-step", compartments=3)
    choices = Preprocessing(sensor_size=(6, 5), bin_us=1000, n_steps=T)
    parameters = network.init(seed=1, weight_scale=2.0)
    return Model(network, parameters, ("left", "right", "up"), how, T, 7, choices, sight=sight)


def scene(milliseconds, start=0, per_step=20, seed=0):
    """Events all over the sensor, the first one as a step begins."""
    rng, n = np.random.default_rng(seed), milliseconds * per_step
    events = np.zeros(n, dtype=EVENT_DTYPE)
    events["x"], events["y"] = rng.integers(0, 6, n), rng.integers(0, 5, n)
    events["t"] = 1000 * start + np.sort(rng.integers(0, 1000 * milliseconds, n))
    if n:
        events["t"][0] = 1000 * start
    return events


def flicker(milliseconds, start=0):
    """One event each millisecond."""
    events = scene(milliseconds, per_step=1)
    events["t"] = 1000 * (start + np.arange(milliseconds))
    return events


def followed(source, **options):
    return list(model(**options.pop("model", {})).stream(**options).follow(source, again=True))


def told(answers):
    """Steps of each recording; None where nothing is in sight."""
    found = []
    for answer in answers:
        if answer.nothing:
            found.append(None)
        elif answer.step == 1:
            found.append(1)
        else:
            assert answer.step == found[-1] + 1
            found[-1] = answer.step
    return found


def test_marked_recordings_are_answered_as_in_bulk():
    recordings = [scene(12, start=1000 * n, seed=n) for n in range(3)]
    answers = followed([part for one in recordings for part in (one[:100], one[100:], None)], key=5)
    assert told(answers) == [T] * 3
    whole = model()
    expected = whole.predict_anytime([whole.bin(one) for one in recordings], keys=[5, 6, 7])
    for n, anytime in enumerate(expected):
        found = answers[T * n : T * (n + 1)]
        np.testing.assert_array_equal([one.probabilities for one in found], anytime.probabilities)
        assert [one.ended for one in found] == [False] * (T - 1) + [True]


@pytest.mark.parametrize("size", [1, 37, 10_000])
def test_it_does_not_matter_how_events_are_cut_into_arrays(size):
    events = np.concatenate([scene(20), scene(10, 60, seed=1), flicker(6, 80), scene(30, 90, seed=2)])
    whole = followed([events])
    parts = followed(np.array_split(events, range(size, len(events), size)))
    assert told(parts) == told(whole)
    assert [one.confidence for one in parts] == [one.confidence for one in whole]
    assert [one.time_us for one in parts] == [one.time_us for one in whole]


@pytest.mark.parametrize("marked", [True, False])
def test_after_a_stop_the_rest_of_a_recording_is_passed_over(marked):
    source = []
    for n in range(3):
        source += [scene(40, start=1000 * n, seed=n), *([None] if marked else [])]
    answers = followed(source, stop=0.0)
    assert [one for one in told(answers) if one is not None][: 3 if marked else None] == [1] * (3 if marked else 9)
    assert all(one.stop for one in answers if not one.nothing)
    if marked:  # the first mark shows that there are marks
        assert sum(not one.nothing for one in answers[-1:]) == 1


def test_a_source_that_marks_ends_has_no_tails():
    """Recordings of 30 steps, where the model knows 15; all but the first are known to be over at the mark."""
    source = [part for n in range(4) for part in (scene(30, start=1000 * n, seed=n), None)]
    assert told(followed(source))[-3:] == [T] * 3
    short = [part for n in range(4) for part in (scene(18, start=1000 * n, seed=n), None)]
    assert told(followed(short)) == [T] * 4  # and a short tail is never a recording


def test_a_scene_without_end_is_answered_again_and_again():
    answers = followed(np.array_split(scene(100), 9))
    assert told(answers)[:5] == [T] * 5
    starts = [one.time_us for one in answers if one.step == 1]
    assert np.diff(starts[:5]).tolist() == [18_000] * 4  # fifteen steps, and a quarter of that in between


def test_time_that_jumps_back_begins_a_recording():
    assert told(followed([np.concatenate([scene(15, seed=n) for n in range(3)])])) == [T] * 3
    late = scene(15)
    late["t"][150:153] -= 900  # less than an eighth of a recording is disorder
    assert told(followed([late])) == [T]


def test_when_events_stop_the_recording_is_over_and_nothing_is_in_sight():
    answers = followed([scene(10), scene(10, 500, seed=1), None])
    assert told(answers) == [T, None, T]
    assert answers[T - 1].ended
    nothing = answers[T]
    assert (nothing.label, nothing.stop, nothing.ended, nothing.step) == (None, False, False, 0)
    np.testing.assert_allclose(nothing.probabilities, 1 / 3)


def test_with_too_few_events_nothing_is_in_sight():
    answers = followed([np.concatenate([scene(15), flicker(200, 15), scene(15, 215, seed=1)]), None])
    assert told(answers) == [T, None, T]
    assert told(followed([flicker(50)])) == [None]
    assert told(followed([flicker(2), None, flicker(2), None])) == [None, None]


def test_what_comes_in_sight_is_answered_from_its_first_step():
    events = np.concatenate([flicker(50), scene(15, 50, seed=1)])
    answers = [one for one in followed([events]) if not one.nothing]
    assert 49_000 <= answers[0].time_us - 1000 <= 50_000


def test_while_nothing_is_in_sight_the_network_does_not_run(monkeypatch):
    live, steps = model().stream(), []
    run = live._stepwise.step
    monkeypatch.setattr(live._stepwise, "step", lambda *given: steps.append(1) or run(*given))
    list(live.follow([scene(15), None, flicker(5000), None], again=True))
    assert len(steps) == T


def test_by_the_clock_nothing_is_in_sight_when_no_events_come(monkeypatch):
    import gemsnn.training.following as following

    now = [0.0]
    monkeypatch.setattr(following.time, "monotonic", lambda: now[0])

    def source():
        yield scene(10)
        for now[0] in (0.003, 0.2, 0.4, 60.0):
            yield scene(0)
        yield scene(10, 100_000, seed=1)

    assert told(followed(source())) == [T, None, T]


def test_without_a_word_about_sight_only_a_silence_as_long_as_a_recording_is_nothing():
    gap = [scene(5), scene(5, 16, seed=1), scene(5, 200, seed=2), None]
    answers = followed(gap, model={"sight": None}, endless=True)
    assert told(answers) == [21, None, 5]


def test_a_model_file_knows_when_something_is_in_sight(tmp_path):
    save_model(model(), tmp_path / "model.safetensors")
    assert load_model(tmp_path / "model.safetensors").sight == SIGHT
    save_model(model(sight=None), tmp_path / "model.safetensors")
    assert load_model(tmp_path / "model.safetensors").sight is None

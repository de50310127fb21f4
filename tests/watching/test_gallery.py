"""A gallery reads each recording once, and runs the network once on it."""

from collections import Counter
from dataclasses import fields

import pytest
from watched import HOSTILE, made_up_spikes

from gemsnn.training import Model
from gemsnn.watching import Item, Picture, gallery, least_certain, make_scene, scenes_of

READS: Counter[int] = Counter()
ASKED: list[int] = []


class CountingModel(Model):
    """Knows of how many recordings it was asked."""

    def predict_anytime(self, recordings, *arguments, **options):
        ASKED.append(len(recordings) if isinstance(recordings, list) else 1)
        return super().predict_anytime(recordings, *arguments, **options)


@pytest.fixture
def counting(model):
    READS.clear()
    ASKED.clear()
    return CountingModel(**{field.name: getattr(model, field.name) for field in fields(model)})


def item(i):
    def read():
        READS[i] += 1
        return made_up_spikes(i)

    return Item(f"recording {i}", read, HOSTILE[i % 3])


def test_each_recording_is_read_and_run_once_and_shown_as_it_is_alone(model, counting):
    picture = Picture.of(model)
    ordered, errors = least_certain(counting, [item(i) for i in range(7)], picture)
    scenes = scenes_of(counting, ordered, picture)
    assert not errors
    assert Counter(range(7)) == READS
    assert sum(ASKED) == 7
    assert [scene.confidence for scene in scenes] == sorted(scene.confidence for scene in scenes)
    for scene in scenes:
        i = int(scene.name.split()[-1])
        assert scene == make_scene(model, made_up_spikes(i), picture, scene.name, truth=HOSTILE[i % 3])


def test_of_many_recordings_only_the_first_stay_in_memory(model, counting, monkeypatch):
    monkeypatch.setattr(gallery, "KEPT", 2)
    picture = Picture.of(model)
    ordered, _ = least_certain(counting, [item(i) for i in range(5)], picture)
    assert [one.answers is not None for one in ordered] == [True, True, False, False, False]
    assert len(scenes_of(counting, ordered, picture)) == 5
    assert sorted(READS.values()) == [1, 1, 2, 2, 2]

"""Tasks that methods are compared on: what is in them, and splits that are fresh and leak nothing."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "studies"))
import task_data

made_up = pytest.mark.parametrize("name", ["rhythms", "electrodes"])


@made_up
def test_parts_of_a_split_are_disjoint_complete_and_hold_every_class(name: str) -> None:
    task = task_data.load(name)
    parts = task.split(seed=3)
    assert sorted(np.concatenate(parts)) == list(range(len(task)))
    for part in parts:
        assert set(task.labels[part]) == set(range(len(task.classes)))


def test_another_seed_gives_another_split_and_the_same_seed_the_same() -> None:
    task = task_data.load("rhythms")
    assert (task.split(0).test == task.split(0).test).all()
    assert set(task.split(0).test) != set(task.split(1).test)


def test_groups_stay_in_one_part() -> None:
    base = task_data.load("rhythms")
    grouped = task_data.Task("g", base.spikes, base.labels, base.classes, 6, groups=np.arange(len(base)) % 20)
    parts = grouped.split(seed=0)
    found = [set(grouped.groups[part]) for part in parts]
    assert not (found[0] & found[1])
    assert not (found[0] & found[2])
    assert not (found[1] & found[2])
    assert len(found[2]) == 4


def test_rhythms_cannot_be_told_apart_by_counting() -> None:
    task = task_data.load("rhythms")
    counts = np.array([spikes.sum(axis=0) for spikes in task.arrays(range(len(task)))])
    means = np.array([counts[task.labels == label].mean() for label in range(4)])
    assert np.ptp(means) < 3 * counts.mean(axis=1).std() / np.sqrt(100)


def test_a_kept_task_is_read_back_as_it_was(tmp_path: Path) -> None:
    fresh = task_data.load("electrodes")
    task_data.load("electrodes", tmp_path)
    task_data.load.cache_clear()
    kept = task_data.load("electrodes", tmp_path)
    assert kept.classes == fresh.classes
    assert kept.ms_per_step == fresh.ms_per_step
    assert (kept.labels == fresh.labels).all()
    for one, other in zip(kept.spikes, fresh.spikes, strict=True):
        assert one.n_steps == other.n_steps
        assert (one.spikes == other.spikes).all()


@pytest.mark.skipif(not os.environ.get("GEMSNN_REAL_DATA"), reason="needs real recordings")
@pytest.mark.parametrize(("name", "n", "n_inputs"), [("braille", 926, 12), ("auditory", 3240, 51)])
def test_real_tasks_hold_what_their_folder_says(name: str, n: int, n_inputs: int) -> None:
    task = task_data.load(name)
    assert (len(task), task.n_inputs) == (n, n_inputs)
    assert all(spikes.fits(n_inputs) for spikes in task.spikes)

"""The study of all tasks: every method on a tiny task, resumable, and the page that comes of it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "studies"))
import task_data
import tasks

from gemsnn.model.spike_list import SpikeList


@pytest.fixture
def tiny(monkeypatch):
    """Two classes of ten short recordings each, which differ in length and in the channels that fire."""
    rng, labels = np.random.default_rng(0), np.repeat([0, 1], 10)
    rates = np.where(np.arange(6) < 3, 0.5, 0.05)
    dense = [rng.random((20 + n % 3, 6)) < (rates if label else rates[::-1]) for n, label in enumerate(labels)]
    spikes = [SpikeList.from_array(one, "spikes") for one in dense]
    task = task_data.Task("tiny", spikes, labels, ("a", "b"), 6)
    monkeypatch.setattr(tasks, "load", lambda name, keep: task)
    for table in (task_data.TASKS, tasks.TASKS):
        monkeypatch.setitem(table, "tiny", lambda: task)
    monkeypatch.setattr(tasks, "STEPS", (1e-2,))
    monkeypatch.setattr(tasks, "EPOCHS", 3)
    return task


def test_every_method_is_measured_once_and_shown_on_a_page(tiny, tmp_path, monkeypatch, capsys):
    methods = [name for name in tasks.METHODS if name != "snntorch"]
    run = ["--out", str(tmp_path), "--tasks", "tiny", "--splits", "1", "--methods", *methods]
    tasks.main(run)
    found = [json.loads(file.read_text()) for file in sorted((tmp_path / "measured").glob("*.json"))]
    assert {one["method"] for one in found} == set(methods)
    for one in found:
        assert one["accuracy"] > 0.7
        assert (one["learned from"], one["tested on"]) == (16, 4)
    monkeypatch.setattr(tasks, "measured", None)  # nothing is measured again
    tasks.main(run)
    page = tmp_path / "tasks.md"
    page.write_text("# Tasks\n\n<!-- begin: tasks -->\n<!-- end: tasks -->\n")
    tasks.main([*run, "--page", str(page)])
    assert "| tiny: gemsnn | 1 |" in page.read_text()
    assert (tmp_path / "figures" / "tasks.svg").exists()
    assert "tiny: logistic" in capsys.readouterr().out


def test_a_spiking_network_trained_by_gradients_is_measured_too(tiny):
    pytest.importorskip("snntorch")
    found = tasks.measured(tiny, "snntorch", 0)
    assert found["chosen"]["learning rate"] == 1e-2
    assert found["hidden spikes"] >= 0


def test_counts_are_cut_into_windows_of_equal_length(tiny):
    counts = tasks._counts(tiny, np.arange(3), 4).reshape(3, 4, 6)
    whole = tasks._counts(tiny, np.arange(3), 1)
    assert (counts.sum(axis=1) == whole).all()
    first = tiny.spikes[0].to_array(6)  # 20 steps
    assert (counts[0, 0] == first[:5].sum(axis=0)).all()

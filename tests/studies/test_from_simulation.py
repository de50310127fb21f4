"""The study of going on from a model, on made-up tasks that take a second."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "studies"))
import from_simulation
import task_data


@pytest.fixture
def small(monkeypatch):
    task = task_data.electrodes(per_class=12)
    monkeypatch.setattr(from_simulation, "load", lambda name, keep: task)
    monkeypatch.setattr(from_simulation, "simulated", lambda: task_data.electrodes(per_class=4))
    monkeypatch.setattr(from_simulation, "REAL", (5,))
    monkeypatch.setattr(from_simulation, "OF_EACH", (2,))
    monkeypatch.setattr(from_simulation, "FIRST", 2)
    monkeypatch.setattr(from_simulation, "SETTINGS", {"n_hidden": 4, "epochs": 1, "validation_fraction": 0.0})
    return task


def test_so_many_examples_are_balanced_and_contain_those_of_smaller_numbers():
    task = task_data.electrodes(per_class=12)
    few, more = (from_simulation.balanced(task, np.arange(60), n, 0) for n in (10, 25))
    assert np.bincount(task.labels[few]).tolist() == [2] * 5
    assert np.bincount(task.labels[more]).tolist() == [5] * 5
    assert set(few) < set(more)


def test_the_study_runs_resumes_and_writes_its_page(small, tmp_path, capsys):
    page, figure = tmp_path / "page.md", tmp_path / "figure.png"
    marks = "".join(f"<!-- begin: {name} -->\n<!-- end: {name} -->\n" for name in ("n-mnist", "gestures"))
    page.write_text(marks)
    arguments = ["--out", str(tmp_path / "out"), "--splits", "1", "--page", str(page), "--figure", str(figure)]
    from_simulation.main(arguments)
    results = [json.loads(line) for line in (tmp_path / "out/from-simulation.jsonl").read_text().splitlines()]
    assert [(one["part"], one["method"]) for one in results] == [
        *(("n-mnist", name) for name in ("from simulation", "from scratch", "from simulation", "with replay")),
        *(("gestures", name) for name in ("from scratch, all recordings", "from the model", "with replay")),
    ]
    assert "| 5 |" in page.read_text()
    assert figure.stat().st_size > 1000
    capsys.readouterr()
    from_simulation.main(arguments)
    assert not capsys.readouterr().out  # everything is there

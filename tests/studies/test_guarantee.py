"""The study of sets with a guarantee in miniature: a real run, what is measured, and the page."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest

import gemsnn
from gemsnn.inference import calibrate
from gemsnn.training import RunDirectory, TrainingConfig, train

sys.path.insert(0, str(Path(__file__).parents[2] / "studies"))
import guarantee as study

PAGE = "\n".join(
    f"<!-- begin: {name} -->\nBEFORE\n<!-- end: {name} -->" for name in ("coverage", "checkpoints", "shared", "zeros")
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("study")
    rng = np.random.default_rng(0)
    y = np.arange(460) % 2
    X = rng.random((460, 12, 6)) < np.where(np.arange(6) // 3 == y[:, None], 0.4, 0.2)[:, None, :]
    split = ["train"] * 60 + ["test"] * 400
    gemsnn.events.write_prepared(out / "data.h5", X, y, split=split)
    with gemsnn.events.open_prepared(out / "data.h5") as data:
        config = TrainingConfig.make(n_hidden=4, epochs=1, validation_fraction=0.0)
        train(config, data, out / "runs" / "simulated-012-0")
    return out


@pytest.fixture
def measured(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict:
    monkeypatch.setattr(study, "SPLITS", 8)
    return study.measure(folder, "simulated-012", 0, str(folder / "data.h5"), "weights", None)


def test_every_row_is_measured_and_the_worst_moment_is_the_worst(measured: dict) -> None:
    found = {(row["alpha"], row["checkpoints"], row["thresholds"]) for row in measured["rows"]}
    assert {(alpha, 10, how) for alpha in study.ALPHAS for how in ("ranks", "shared")} <= found
    assert {(0.1, n, "ranks") for n in study.CHECKPOINTS} <= found
    for row in measured["rows"]:
        assert row["at_the_worst_moment"] <= row["coverage"] <= 1
        assert row["at_the_worst_moment"] > 1 - row["alpha"] - 0.05
        assert row["of_splits"][0] <= row["coverage"] <= row["of_splits"][1]
        assert row["steps"] <= 12
        assert row["calibrated_on"] == 200
    by = {(row["alpha"], row["thresholds"]): row for row in measured["rows"] if row["checkpoints"] == 10}
    assert all(by[alpha, "ranks"]["size"] <= by[alpha, "shared"]["size"] for alpha in study.ALPHAS)


def test_thresholds_by_ranks_are_gemsnns(folder: Path) -> None:
    model = RunDirectory(folder / "runs" / "simulated-012-0").load_model("final")
    with gemsnn.events.open_prepared(folder / "data.h5") as data:
        answers, labels = model.predict_anytime(data.test.read(range(100))), data.test.labels[:100]
    assert study.thresholds(answers, labels, 0.1, (6, 12), "ranks") == calibrate(answers, labels, 0.1, (6, 12))
    once = study.thresholds(answers, labels, 0.1, (12,), "shared")
    assert once == calibrate(answers, labels, 0.1, (12,))
    too_few = study.thresholds(study.some(answers, np.arange(5)), labels[:5], 0.1, (12,), "shared")
    assert too_few.sets(answers).all()


def test_the_tables_and_the_figure_are_written_into_the_page(measured: dict, tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(PAGE)
    (tmp_path / "figures").mkdir()
    real = {**measured, "zeros": 100, "zeros_accuracy": 0.9}
    real["rows"] = [
        {
            **row,
            **{f"zeros_{name}": row[name] for name in ("coverage", "empty", "size", "steps")},
            "own_zeros_coverage": 1,
        }
        for row in measured["rows"]
    ]
    study.write_page(tmp_path / "page.md", [real])
    text = (tmp_path / "page.md").read_text()
    assert "BEFORE" not in text
    assert len(re.findall(r"^\| simulated 0, 1, 2 \|", text, re.MULTILINE)) == 3 + 5 + 6 + 3
    assert (tmp_path / "figures" / "guarantee.svg").read_text().startswith("<?xml")

"""The study of settings in miniature: real runs, real files, the page at the end."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest

import gemsnn
from gemsnn.experiments import answers
from gemsnn.experiments.sweep import work

STUDIES = Path(__file__).parents[2] / "studies"
sys.path.insert(0, str(STUDIES))
import anytime  # noqa: E402
import baselines  # noqa: E402
import page  # noqa: E402
import settings  # noqa: E402

PLAN = {
    "simulated-012": (2, ("default", "paper", "constant step, no average")),
    "n-mnist-012": (1, ("default", "paper")),
}


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two data sets of the plan, tiny; every setting with few hidden neurons."""
    out = tmp_path / "study"
    (out / "data").mkdir(parents=True)
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = rng.random((40, 12, 6)) < np.where(np.arange(6) // 3 == y[:, None], 0.6, 0.1)[:, None, :]
    for name, (splits, _) in PLAN.items():
        for split in range(splits):
            gemsnn.events.write_prepared(settings.data_file(out, name, split), X, y, split=0.5, seed=split)
    small = {
        name: {"epochs": 2, **changes, "rule.learning_rate": 0.02, "n_hidden": min(3, changes.get("n_hidden", 3))}
        for name, changes in settings.SETTINGS.items()
    }
    monkeypatch.setattr(settings, "SETTINGS", small)
    monkeypatch.setattr(settings, "PLAN", PLAN)
    return out


def run(monkeypatch: pytest.MonkeyPatch, module: object, *arguments: object) -> None:
    monkeypatch.setattr(sys, "argv", ["study", *map(str, arguments)])
    module.main()  # type: ignore[attr-defined]


def test_from_runs_to_the_page(
    study: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = ("default", "paper", "constant step, no average")
    start = ("--out", study, "--n-mnist", study, "--jobs", 1)
    run(monkeypatch, settings, *start, "--settings", *wanted[:2])
    first = {path: path.stat().st_mtime_ns for path in study.rglob("*/*") if path.is_file() and path.name != "lock"}
    assert len([path for path in first if path.name == "summary.json"]) == 2 * 2 + 2
    run(monkeypatch, settings, *start, "--settings", *wanted)
    runs = answers(settings.folder(study))
    assert all(path.stat().st_mtime_ns == time for path, time in first.items())  # nothing is run twice
    tasks = [(run["data"], run["split"], run["setting"]) for run in runs]
    assert len(tasks) == len(set(tasks)) == 2 * 3 + 2
    default = next(run for run in runs if run["setting"] == "default")
    assert set(default["test"]) == {"vote", "likelihood", "per-step"}
    assert default["test"]["per-step"]["20"]["accuracy"] > 0.8
    paper = next(run for run in runs if run["setting"] == "paper")
    assert (paper["config"]["rule"]["centred"], paper["config"]["visible_memory"]) == (False, True)

    run(monkeypatch, anytime, "--out", study, "--jobs", 1)
    files = [settings.data_file(study, name, 0) for name in PLAN]
    run(monkeypatch, baselines, *files, "--seeds", 0, "--only", "logistic", "--out", study / "baselines", "--jobs", 1)
    text = Path(__file__).parents[2].joinpath("docs", "choosing-settings.md").read_text()
    copy = study / "page.md"
    copy.write_text(text)
    (study / "figures").mkdir()
    run(monkeypatch, page, study, "--page", copy)
    written = copy.read_text()
    strip = re.compile(r"(<!-- begin: (\w+) -->).*?(<!-- end: \2 -->)", re.DOTALL)
    assert strip.sub(r"\1\3", written) == strip.sub(r"\1\3", text)  # only the tables changed
    for name in ("settings", "decoders", "compartments", "epochs", "others", "stopping"):
        block = re.search(rf"<!-- begin: {name} -->(.*?)<!-- end: {name} -->", written, re.DOTALL)
        assert block is not None
        assert block[1].count("\n|") >= 3, name
    shares = [100 * run["test"]["per-step"]["20"]["accuracy"] for run in page.of(runs, "simulated-012", "default")]
    assert f"{np.mean(shares):.1f}" in written
    assert {path.name for path in (study / "figures").iterdir()} == {
        "settings-differences.png",
        "settings-epochs.png",
        "settings-anytime.png",
    }


def test_a_measurement_agrees_with_the_library(study: Path) -> None:
    settings.folder(study).mkdir()
    run = settings.a_run(study, "n-mnist-012", "default", 0)
    assert work(run).status == "done"
    measurement = settings.measurement(run)
    assert work(measurement).status == "done"
    (record,) = answers(settings.folder(study))
    model = run.directory.load_model("final")
    assert [entry["accuracy"] for entry in record["history"]] == [
        evaluation["test"]["accuracy"] for evaluation in run.directory.read_metrics()
    ]
    assert record["train_processor_seconds"] > 0
    with gemsnn.events.open_prepared(run.data) as data:
        inputs, labels = data.test.read(range(len(data.test))), data.test.labels[:]
    for decoder in ("vote", "likelihood", "per-step"):
        found = gemsnn.predict(model.network, model.parameters, inputs, 5, decoder=decoder, seed=1)
        figures = record["test"][decoder]["5"]
        assert figures["accuracy"] == gemsnn.metrics.accuracy(labels, found.classes)
        assert figures["nll"] == pytest.approx(
            gemsnn.metrics.negative_log_likelihood(labels, found.probabilities), abs=0.01
        )
    spikes = found.hidden_spikes_per_step.mean() / 5 * 12
    assert record["test"]["per-step"]["1"]["hidden_spikes"] == pytest.approx(spikes, rel=0.5)


def test_a_study_that_is_killed_goes_on_where_it_was(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start = ("--out", study, "--jobs", 1, "--settings", "default")
    run(monkeypatch, settings, *start)
    expected = answers(settings.folder(study))
    # As if it had been killed while it measured the second run, and the third had not been finished.
    measured = sorted((settings.folder(study) / "measured").iterdir())
    measured[1].unlink()
    done = measured[0].stat().st_mtime_ns
    next((settings.folder(study) / "runs").glob("*-1-default/summary.json")).unlink()
    run(monkeypatch, settings, *start)
    assert measured[0].stat().st_mtime_ns == done
    assert [record["test"] for record in answers(settings.folder(study))] == [record["test"] for record in expected]


def test_what_was_made_with_other_settings_is_not_mixed_in(
    study: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    start = ("--out", study, "--jobs", 1, "--settings", "default")
    run(monkeypatch, settings, *start)
    monkeypatch.setitem(settings.SETTINGS, "default", {**settings.SETTINGS["default"], "rule.learning_rate": 0.5})
    with pytest.raises(
        SystemExit, match=r"error: .*was made with other settings or data: rule\.learning_rate was 0\.02"
    ):
        run(monkeypatch, settings, *start)

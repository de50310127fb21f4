"""The study of the classifier in miniature: real runs, real files, the page at the end."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
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
import classifier  # noqa: E402
import page  # noqa: E402
import settings  # noqa: E402

SPLITS = {"simulated-012": 2, "n-mnist-10": 1}
PARTS = {
    "main": {name: (splits, ("default",)) for name, splits in SPLITS.items()},
    "rows": {"n-mnist-10": (1, ("paper", "merged polarities", "no target rate"))},
    "curve": {"n-mnist-10": (1, ("target rate 0.1",))},
    "budget": {"simulated-10-of-100": (1, ("default", settings.HALF))},
    "simulated rows": {"simulated-012": (1, ("no target rate",))},
}


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Few data sets of the plan, tiny; every setting with few hidden neurons."""
    out = tmp_path / "study"
    (out / "data").mkdir(parents=True)
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = rng.random((40, 12, 6)) < np.where(np.arange(6) // 3 == y[:, None], 0.6, 0.1)[:, None, :]
    for plan in PARTS.values():
        for name, (splits, _) in plan.items():
            for split in range(splits):
                file = settings.data_file(out, name, split)
                if not file.exists():
                    gemsnn.events.write_prepared(file, X, y, split=0.5, seed=split)
    small = {
        name: {"epochs": 4, **changes, "rule.learning_rate": 0.02, "n_hidden": min(3, changes.get("n_hidden", 3))}
        for name, changes in settings.SETTINGS.items()
    }
    monkeypatch.setattr(settings, "SETTINGS", small)
    monkeypatch.setattr(settings, "SPLITS", SPLITS)
    monkeypatch.setattr(anytime, "SPLITS", SPLITS)
    monkeypatch.setattr(settings, "PARTS", PARTS)
    # Logistic regression also stands in for snnTorch, which takes seconds to import.
    methods = {
        name: lambda data, seed, _, name=name: replace(baselines.logistic(data, seed, 0), method=name)
        for name in ("logistic", "snntorch")
    }
    monkeypatch.setattr(baselines, "MAIN", tuple(methods))
    monkeypatch.setattr(baselines, "METHODS", methods)
    monkeypatch.setattr(baselines, "check_snntorch", lambda: None)
    return out


def test_one_command_from_runs_to_the_page(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = Path(__file__).parents[2].joinpath("docs", "results", "settings.md").read_text()
    copy, readme = study / "page.md", study / "readme.md"
    copy.write_text(text)
    readme.write_text("before\n<!-- begin: accuracy -->\n<!-- end: accuracy -->\nafter\n")
    (study / "figures").mkdir()
    command = ["--out", str(study), "--n-mnist", str(study), "--jobs", "1"]
    classifier.main(command)
    measured = {path: path.stat().st_mtime_ns for path in study.rglob("measured/*.json")}
    assert len(measured) == (3 + 3 + 1 + 2 + 1) + 2 * 3 + 3  # runs, other methods, answers before the end
    classifier.main(command)
    assert {path: path.stat().st_mtime_ns for path in study.rglob("measured/*.json")} == measured  # nothing twice
    page.main([str(study), "--page", str(copy), "--readme", str(readme)])

    runs = answers(settings.folder(study))
    default = page.of(runs, "simulated-012")
    assert [run["split"] for run in default] == [0, 1]
    assert default[0]["test"]["accuracy"] > 0.8
    assert (default[0]["n_train"], default[0]["n_learned"]) == (20, 18)
    assert default[0]["presented"] == 4 * 18
    assert default[0]["train_seconds"] > default[0]["learning_seconds"] > 0
    (paper,) = page.of(runs, "n-mnist-10", "paper")
    assert (paper["config"]["rule"]["centred"], paper["config"]["visible_memory"]) == (False, True)
    (half,) = page.of(runs, "simulated-10-of-100", settings.HALF)
    assert half["presented"] == 2 * 18

    written = copy.read_text()
    strip = re.compile(r"(<!-- begin: (\w+) -->).*?(<!-- end: \2 -->)", re.DOTALL)
    assert strip.sub(r"\1\3", written) == strip.sub(r"\1\3", text)  # only the tables changed
    for name in ("others", "versus", "aims", "settings", "curve", "budget", "decoders", "stopping"):
        block = re.search(rf"<!-- begin: {name} -->(.*?)<!-- end: {name} -->", written, re.DOTALL)
        assert block is not None
        assert block[1].count("\n|") >= 3, name
    accuracy = f"{100 * np.mean([run['test']['accuracy'] for run in default]):.1f}"
    assert accuracy in written
    assert f"| simulated 0/1/2 | {accuracy} %" in readme.read_text()
    names = ("others", "differences", "curve", "anytime")
    assert {path.name for path in (study / "figures").iterdir()} == {f"settings-{name}.png" for name in names}


def test_a_measurement_is_what_a_user_of_the_library_gets(study: Path) -> None:
    settings.folder(study).mkdir()
    run = settings.a_run(study, "n-mnist-10", "default", 0)
    assert work(run).status == "done"
    assert work(settings.measurement(run)).status == "done"
    (record,) = answers(settings.folder(study))
    model = run.directory.load_model()
    assert [entry["accuracy"] for entry in record["history"]] == [
        evaluation["test"]["accuracy"] for evaluation in run.directory.read_metrics()
    ]
    best = run.directory.read_summary()["best"]["test"]
    assert {name: record["test"][name] for name in ("accuracy", "ece", "nll")} == pytest.approx(
        {name: best[name] for name in ("accuracy", "ece", "nll")}, rel=1e-12
    )
    with gemsnn.events.open_prepared(run.data) as data:
        inputs, labels = data.test.read(range(len(data.test))), data.test.labels[:]
    for decoder in ("vote", "likelihood", "per-step"):
        found = model.predict(inputs, decoder, 5)
        figures = record["decoders"][decoder]["5"]
        assert figures["accuracy"] == gemsnn.metrics.accuracy(np.array(model.classes)[labels], found.label)
        assert figures["nll"] == pytest.approx(
            gemsnn.metrics.negative_log_likelihood(labels, found.probabilities), rel=1e-12
        )
    spikes = model.predict(inputs).hidden_spikes_per_step.mean() * inputs.shape[1]
    assert record["hidden_spikes"] == pytest.approx(spikes)


def test_images_are_recorded_again_where_they_run_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "PER_CLASS", (3, 2))
    gemsnn.events.simulate_prepared(tmp_path / "usual.h5", digits=(0, 1), per_class=(3, 2), seed=7)
    settings.record(tmp_path / "more.h5", (0, 1), 7, 7)
    settings.record(tmp_path / "fewer.h5", (0, 1), 2, 7)
    read = [gemsnn.events.open_prepared(tmp_path / f"{name}.h5") for name in ("usual", "more", "fewer")]
    usual, more, fewer = read
    assert [len(data.train) for data in read] == [6, 14, 4]
    assert [np.bincount(data.train.labels).tolist() for data in read] == [[3, 3], [7, 7], [2, 2]]
    for data in (more, fewer):
        np.testing.assert_array_equal(data.test.read(range(4)), usual.test.read(range(4)))
    first = more.train.read(range(3))  # the first image, three times
    assert (first[0] == usual.train[0]).all()
    assert not (first[0] == first[1]).all()
    np.testing.assert_array_equal(fewer.train[1], usual.train[1])
    for data in read:
        data.close()


def test_a_study_that_is_killed_goes_on_where_it_was(study: Path) -> None:
    start = ["--out", str(study), "--jobs", "1", "--parts", "main"]
    settings.main(start)
    expected = answers(settings.folder(study))
    # As if it had been killed while it measured the second run, and the third had not been finished.
    measured = sorted((settings.folder(study) / "measured").iterdir())
    measured[1].unlink()
    done = measured[0].stat().st_mtime_ns
    next((settings.folder(study) / "runs").glob("*-1-default/summary.json")).unlink()
    settings.main(start)
    assert measured[0].stat().st_mtime_ns == done
    assert [record["test"] for record in answers(settings.folder(study))] == [record["test"] for record in expected]


def test_what_was_made_with_other_settings_is_not_mixed_in(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start = ["--out", str(study), "--jobs", "1", "--parts", "main"]
    settings.main(start)
    monkeypatch.setitem(settings.SETTINGS, "default", {**settings.SETTINGS["default"], "rule.learning_rate": 0.5})
    with pytest.raises(
        SystemExit, match=r"error: .*was made with other settings or data: rule\.learning_rate was 0\.02"
    ):
        settings.main(start)

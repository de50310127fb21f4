"""The study of rules in miniature: real runs, real files, the section of the page at the end."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import gemsnn
from gemsnn.errors import DataError
from gemsnn.events import complete_prepared

STUDIES = Path(__file__).parents[2] / "studies"
sys.path.insert(0, str(STUDIES))
import rules_page  # noqa: E402
from rules_claims import CLAIMS  # noqa: E402
from rules_results import Chosen, Measured, StudyResults, read_study  # noqa: E402

import rules  # noqa: E402


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with tiny data, and a plan to match."""
    out = tmp_path / "study"
    (out / "data").mkdir(parents=True)
    rng = np.random.default_rng(0)
    labels = np.arange(24) % 2
    X = rng.random((24, 12, 12)) < np.where(labels[:, None, None] == np.arange(12) // 6, 0.5, 0.1)
    for seed in (rules.TUNING_SEED, 0, 1):
        gemsnn.events.write_prepared(rules.data_file(out, "classes", seed), X, labels, grid=(3, 4), seed=seed)
        complete_prepared(rules.data_file(out, "classes", seed), rules.data_file(out, "completion", seed), half="right")
    rows = {
        name: replace(
            row, compartments=tuple(K for K in (1, 5) if K in row.compartments), n_hidden=min(row.n_hidden, 3)
        )
        for name, row in rules.ROWS.items()
        if name not in ("MB", "GEM centred")
    }
    monkeypatch.setattr(rules, "ROWS", rows)
    monkeypatch.setattr(rules, "SEEDS", (0, 1))
    monkeypatch.setattr(rules, "LEARNING_RATES", (1e-3, 1e-2))
    tasks = {name: replace(rules.TASKS[name], epochs=2) for name in ("classes", "completion")}
    monkeypatch.setattr(rules, "TASKS", tasks)
    monkeypatch.setitem(rules.BASE, "likelihood_samples", 3)
    monkeypatch.setitem(rules.BASE, "validation_fraction", 0.3)
    return out


def run(monkeypatch: pytest.MonkeyPatch, module: object, *arguments: object) -> None:
    monkeypatch.setattr(sys, "argv", ["study", *map(str, arguments)])
    module.main()  # type: ignore[attr-defined]


def test_from_learning_rates_to_the_page(
    study: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run(monkeypatch, rules, "--out", study, "--jobs", 1)
    said = capsys.readouterr().out
    results, _ = read_study(study / "results.json")
    assert all(claim(results).claim in re.sub(r"\s+", " ", said) for claim in CLAIMS)
    per_task = {"no hidden neurons": 1, "hidden neurons fixed": 1, "IW": 1, "GEM": 2, "Feedback": 2}
    assert len(results.runs) == 2 * 2 * sum(per_task.values())

    # Each rule has its own learning rate on each task: the best on validation among those tried with another seed.
    assert len(results.learning_rates) == 2 * len(per_task)
    for chosen in results.learning_rates:
        assert set(chosen.tried) == {"0.001", "0.01"}
        assert chosen.tried[f"{chosen.learning_rate:g}"] == max(chosen.tried.values())
    with_hidden = results.of("completion", "GEM", 5)[0]
    assert with_hidden.communication == 5 * 6 + 5 * (6 + 3)
    assert (with_hidden.milliseconds > 0, with_hidden.test["van_rossum"] > 0) == (True, True)
    assert {run.spikes for run in results.runs if run.rule == "no hidden neurons"} == {0.0}

    # Nothing is done twice.
    before = {path: path.stat().st_mtime_ns for path in study.rglob("runs/*/*") if path.is_file()}
    run(monkeypatch, rules, "--out", study, "--jobs", 1)
    assert {path: path.stat().st_mtime_ns for path in before} == before

    page = study.parent / "page.md"
    old = "<!-- begin: rules -->\nold\n<!-- end: rules -->\n"
    page.write_text(f"before\n{old}after\n")
    run(monkeypatch, rules_page, study, "--page", page)
    text, tables = page.read_text(), page.parent / "results" / "rules.md"
    assert str(study) not in text + tables.read_text()  # commands are for other machines

    # A person's words stay with the results that they are about.
    begin = re.search("<!-- story: begin -->\n\n<!-- of: .* -->", text)[0]
    page.write_text(text.replace(begin, f"{begin}\n\nMine."))
    run(monkeypatch, rules_page, study, "--page", page)
    assert f"{begin}\n\nMine.\n\n<!-- story: end -->" in page.read_text()
    page.write_text(page.read_text().replace(begin, "<!-- story: begin -->\n\n<!-- of: others -->"))
    run(monkeypatch, rules_page, study, "--page", page)
    assert "Mine." not in page.read_text()
    assert page.read_text() == text
    assert (text.startswith("before\n"), text.endswith("after\n"), "old" not in text) == (True, True, True)
    for written in (page, tables):
        for name in re.findall(r"\]\(([^)]*figures/[^)]*)\)", written.read_text()):
            assert (written.parent / name).read_text().startswith("<?xml")
    value = np.mean([run.test["van_rossum"] for run in results.of("completion", "Feedback", 5).values()])
    assert f"{value:.3f} ± " in tables.read_text()


def made_up(gains: dict[str, dict[int, float]], noise: float = 0.1, seeds: int = 5) -> StudyResults:
    """Runs whose log-likelihood is -20 for no hidden neurons, and higher by what is said for each rule and K."""
    rng = np.random.default_rng(0)
    runs = []
    for seed in range(seeds):
        level = rng.normal(-20, 3)  # what a seed's data are like is the same for all
        for rule, by_K in {"no hidden neurons": {1: 0.0}, "hidden neurons fixed": {1: 1.0}, **gains}.items():
            for K, gain in by_K.items():
                value = level + gain + rng.normal(0, noise)
                reals = K * 10 * (3 if rule == "Feedback" else 1)
                runs.append(Measured("classes", rule, K, seed, value, {"log_likelihood": value}, 1.0, reals, float(K)))
    about = {"tasks": {"classes": {"title": "made up", "completion": False}}}
    return StudyResults(runs, [Chosen("classes", rule, 0.1, {"0.1": 0.0}) for rule in gains], about)


def test_verdicts_follow_from_paired_differences() -> None:
    results = made_up(
        {
            "GEM": {1: 0.0, 5: 2.0, 20: 4.0},  # rises, and beats both baselines
            "MB": {1: 0.0, 5: 0.0, 20: 0.0},  # as good as nothing
            "Feedback": {1: 3.0, 5: 3.05, 20: 3.1},  # best from the start, but sends much
        }
    )
    rises, helps, time, communication = ({item.what: item for item in claim(results).evidence} for claim in CLAIMS)
    assert [rises[f"made up, {rule}"].verdict for rule in ("GEM", "MB", "Feedback")] == [
        "supported",
        "not supported",
        "not supported",
    ]
    assert helps["made up, GEM, K = 20 chosen on validation"].verdict == "supported"
    assert helps["made up, GEM, K = 20 chosen on validation"].estimate.mean == pytest.approx(4, abs=0.3)
    assert next(item for what, item in helps.items() if ", MB" in what).verdict == "not supported"
    (best,) = time.values()
    assert re.match("made up: best is Feedback with K = [15]$", best.what)
    assert (best.verdict, best.estimate.mean) == ("supported", pytest.approx(1, abs=0.3))
    (best,) = communication.values()  # 50 reals allow GEM K = 5, and Feedback K = 1
    assert best.what == "made up: best is Feedback with K = 1"


def test_few_seeds_with_much_noise_are_inconclusive() -> None:
    results = made_up({"GEM": {1: 0.0, 5: 1.0}, "MB": {1: 0.0, 5: 0.5}}, noise=4.0, seeds=3)
    for claim in CLAIMS:
        for item in claim(results).evidence:
            assert item.verdict != "supported"


def test_a_file_that_was_changed_is_not_believed(tmp_path: Path) -> None:
    rules.write_study(tmp_path / "results.json", made_up({"GEM": {1: 0.0, 5: 1.0}}))
    assert len(read_study(tmp_path / "results.json")[0].runs) == 20
    text = (tmp_path / "results.json").read_text()
    (tmp_path / "results.json").write_text(text.replace('"K": 5', '"K": 6'))
    with pytest.raises(DataError, match="changed since it was written"):
        read_study(tmp_path / "results.json")


def test_if_every_learning_rate_diverges_that_is_told(study: Path) -> None:
    runs = rules.tuning_runs(study, "classes")
    with pytest.raises(DataError, match="classes, no hidden neurons: every learning rate diverged"):
        rules.chosen_rates(runs, [])

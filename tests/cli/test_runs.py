"""`gemsnn runs`: runs side by side."""

import json
import re
import shutil

import numpy as np
import pytest
import toy
from browser import Browser, find_chromium

from gemsnn import ConfigError, DataError
from gemsnn.events import open_prepared
from gemsnn.training import RunDirectory, train
from gemsnn.training.comparison import compare, comparison_page


@pytest.fixture(scope="module")
def folder(data_file, tmp_path_factory):
    """Two runs that differ in two settings, one that was stopped, one without validation, and one that is damaged."""
    place = tmp_path_factory.mktemp("study")
    with open_prepared(data_file) as data:
        train(toy.config(), data, place / "run-9")
        train(toy.config(n_hidden=3, rule={"kind": "gem", "learning_rate": 0.0}), data, place / "deep" / "run-10")
        train(toy.config(validation_fraction=0.0), data, place / "<b>bold</b>")
        trainers = []
        train(toy.config(n_hidden=4), data, place / "stopped", observers=lambda _, t: trainers.append(t) or (),
              stop=lambda: bool(trainers) and trainers[0].position > 12)  # fmt: skip
    shutil.copytree(place / "run-9", place / "damaged")
    (place / "damaged" / "summary.json").write_text("{}")
    return place


def rows(out):
    return [[cell.strip() for cell in line.strip("│").split("│")] for line in out.splitlines() if line.startswith("│")]


def test_runs_are_found_at_any_depth_and_sorted_as_people_do(gemsnn, folder):
    code, out, _ = gemsnn("runs", folder)
    assert code == 0
    assert [row[0] for row in rows(out)] == ["<b>bold</b>", "damaged", "deep/run-10", "run-9", "stopped"]


def test_only_settings_that_differ_are_shown(gemsnn, folder):
    _, out, _ = gemsnn("runs", folder)
    head = out.splitlines()[1]
    for name in ("n_hidden", "rule.kind", "rule.learning_rate", "validation_fraction"):
        assert name in head
    for name in ("seed", "epochs", "synaptic_filter"):
        assert name not in head
    assert not compare(folder / "deep").differing


def test_figures_are_those_of_the_best_by_validation_or_of_the_last(folder):
    by_name = {run.name: run for run in compare(folder).runs}
    summary = RunDirectory(folder / "run-9").read_summary()
    assert by_name["run-9"].record == summary["best"]
    assert by_name["run-9"].figure("accuracy", "test") == summary["best"]["test"]["accuracy"]
    assert by_name["<b>bold</b>"].record == RunDirectory(folder / "<b>bold</b>").read_summary()["final"]
    assert by_name["stopped"].status == "not finished"
    assert by_name["stopped"].position == 10
    assert by_name["damaged"].status == "cannot be read"
    assert "cannot be believed" in by_name["damaged"].error


@pytest.mark.parametrize("field", ["accuracy", "nll", "ece", "log_likelihood", "position", "n_hidden", "rule.kind"])
def test_runs_can_be_sorted_by_anything_and_those_without_it_come_last(gemsnn, folder, field):
    code, out, _ = gemsnn("runs", folder, "--sort", field, "--json")
    assert code == 0
    found = [json.loads(line) for line in out.splitlines()]
    assert found[-1]["run"] == "damaged" or field == "position"

    def value(run):
        figures = (run["evaluation"] or {}).get("validation") or (run["evaluation"] or {}).get("test") or {}
        return figures.get(field, (run["evaluation"] or {}).get(field, run["settings"].get(field)))

    values = [value(run) for run in found if run["run"] != "damaged"]
    assert values == sorted(values, reverse=field in ("accuracy", "log_likelihood", "position"))


def test_the_page_has_the_table_and_the_curves(folder, gemsnn, tmp_path):
    code, _, err = gemsnn("runs", folder, "--page", tmp_path / "runs.html")
    assert code == 0
    assert f"wrote {tmp_path / 'runs.html'}" in err
    text = (tmp_path / "runs.html").read_text()
    assert "&lt;b&gt;bold&lt;/b&gt;" in text
    assert "<b>bold" not in text
    assert "They differ in" in text
    assert len(re.findall("<figure>", text)) == 5
    accuracy = compare(folder).runs[3].figure("accuracy", "test")
    assert f"{100 * accuracy:.1f} %" in text


@pytest.mark.skipif(find_chromium() is None, reason="no Chromium is installed")
def test_a_browser_shows_the_page_on_any_screen(folder, tmp_path):
    (tmp_path / "runs.html").write_text(comparison_page(compare(folder)))
    with Browser(find_chromium() or "") as browser:
        for width in (1280, 390):
            for dark in (False, True):
                browser.open(tmp_path / "runs.html", width, dark=dark)
                assert browser.evaluate("document.documentElement.scrollWidth") <= width
        assert browser.problems == []


def test_a_run_may_be_named_itself(folder):
    assert [run.name for run in compare(folder / "run-9").runs] == ["run-9"]


def test_what_holds_no_run_is_told(gemsnn, folder, tmp_path):
    code, _, err = gemsnn("runs", tmp_path)
    assert code == 2
    assert "there is no training run in this folder" in err
    with pytest.raises(DataError, match="no such folder"):
        compare(tmp_path / "none")
    with pytest.raises(ConfigError, match=r"--sort speed: runs are sorted by name, status, .*accuracy"):
        compare(folder).sorted_by("speed")
    assert np.isfinite(compare(folder).runs[0].figure("nll", "test"))


def test_a_file_that_is_not_a_page_of_ours_is_replaced_only_when_told_so(folder, data_file, gemsnn, tmp_path):
    run = folder / "run-9"
    for command in (
        ("runs", folder, "--page"),
        ("evaluate", run, "--data", data_file, "--page"),
        ("watch", run, data_file, "--out"),
    ):
        out = tmp_path / "keep.h5"
        out.write_bytes(b"precious <html> data")
        code, _, error = gemsnn(*command, out)
        assert code == 2
        assert f"{command[-1]} {out}: this file exists already and is not a gemsnn page" in error
        assert out.read_bytes() == b"precious <html> data"
        assert gemsnn(*command, out, "--force")[0] == 0
        assert gemsnn(*command, out)[0] == 0, "a page of ours is replaced"
        assert out.read_bytes().startswith(b"<!doctype html>")


def test_a_picture_replaces_no_file_unless_told_so(data_file, gemsnn, tmp_path):
    out = tmp_path / "keep.png"
    out.write_bytes(b"precious")
    assert gemsnn("data", "show", data_file, "--out", out)[0] == 2
    assert out.read_bytes() == b"precious"
    assert gemsnn("data", "show", data_file, "--out", out, "--force")[0] == 0

"""Completion from the command line: data, training, figures."""

import json

import numpy as np
import pytest
import toy
from PIL import Image

from gemsnn.events import complete_prepared, open_prepared
from gemsnn.training import RunDirectory, train


@pytest.fixture(scope="module")
def halves(tmp_path_factory):
    """Simulated zeros and ones, a half given and a half desired; and a run that learned to complete them."""
    folder = tmp_path_factory.mktemp("completion")
    from gemsnn.events import simulate_prepared

    simulate_prepared(folder / "whole.h5", digits=(0, 1), per_class=(6, 2), seed=1)
    complete_prepared(folder / "whole.h5", folder / "halves.h5", half="right")
    with open_prepared(folder / "halves.h5") as data:
        train(toy.config(n_hidden=4, epochs=1, n_compartments=2, likelihood_samples=3), data, folder / "run")
    return folder


def test_simulated_completion_is_the_completion_of_what_is_simulated(gemsnn, halves, tmp_path):
    start = ("data", "simulate", "--digits", 0, 1, "--per-class", 6, 2, "--seed", 1, "--task", "completion")
    code, out, _ = gemsnn(*start, "--out", tmp_path / "made.h5")
    assert (code, "SIMULATED" in out) == (0, True)
    code, out, _ = gemsnn("data", "complete", halves / "whole.h5", "--out", tmp_path / "cut.h5")
    assert (code, "676 inputs are given, 676 visible neurons are to be completed" in out) == (0, True)
    with open_prepared(halves / "halves.h5") as expected:
        for name in ("made.h5", "cut.h5"):
            with open_prepared(tmp_path / name) as data:
                assert data.fingerprint == expected.fingerprint
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cut.h5", "made.h5"]  # no whole file is left behind
    code, out, _ = gemsnn("data", "complete", halves / "whole.h5", "--inputs", "0:100", "--out", tmp_path / "range.h5")
    assert (code, "1252 inputs are given, 100 visible" in out) == (0, True)


def test_what_cannot_be_completed_is_told_in_one_message(gemsnn, halves, tmp_path):
    for arguments, words in (
        ((halves / "halves.h5",), "spike patterns already"),
        ((halves / "whole.h5", "--inputs", "5"), "write it as FIRST:END"),
        ((halves / "whole.h5", "--inputs", "5:9", "--half", "left"), "not both"),
    ):
        code, _, err = gemsnn("data", "complete", *arguments, "--out", tmp_path / "no.h5")
        assert (code, words in err, err.count("error:")) == (2, True, 1)
    simulate = ("data", "simulate", "--half", "left", "--out", tmp_path / "no.h5")
    code, _, err = gemsnn(*simulate)
    assert (code, "--half left belongs to --task completion" in err) == (2, True)
    assert not (tmp_path / "no.h5").exists()


def test_a_run_is_measured_by_its_likelihood_and_its_distance_from_the_truth(gemsnn, halves):
    code, out, err = gemsnn("evaluate", halves / "run", "--data", halves / "halves.h5", "--samples", 3, "--json")
    assert code == 0, err
    found, recorded = json.loads(out), RunDirectory(halves / "run").read_summary()["best"]["test"]
    # A loaded model knows its filters by their taps only, and may sum them up in another order.
    assert {name: found[name] for name in recorded} == pytest.approx(recorded, rel=1e-6)
    assert found["log_likelihood"] < 0 < found["van_rossum"]
    assert np.isfinite([found["log_likelihood"], found["van_rossum"]]).all()
    code, out, _ = gemsnn("evaluate", halves / "run", "--data", halves / "halves.h5")
    assert (code, "van Rossum distance from the targets (5 steps)" in out) == (0, True)


def test_a_picture_shows_given_half_truth_and_samples_and_may_move(gemsnn, halves, tmp_path):
    start = ("evaluate", halves / "run", "--data", halves / "halves.h5", "--samples", 1)
    for name, begin in (("a.png", b"\x89PNG"), ("a.svg", b"<?xml"), ("a.gif", b"GIF8")):
        code, out, err = gemsnn(*start, "--picture", tmp_path / name, "--example", 3, "--json")
        assert (code, "wrote" in err) == (0, True)
        assert json.loads(out)["examples"] == 4
        assert (tmp_path / name).read_bytes().startswith(begin)
    text = (tmp_path / "a.svg").read_text()
    assert all(word in text for word in ("given", "truth", "sample 3", "mean of 20", "test 3: simulated, image"))
    with Image.open(tmp_path / "a.gif") as moving:
        assert moving.n_frames == 80
    for more, words in (
        (("--picture", tmp_path / "a.txt"), "pictures end in .png, .svg or .pdf"),
        (("--picture", tmp_path / "b.png", "--example", 4), "the test split has examples 0 to 3"),
    ):
        code, _, err = gemsnn(*start, *more)
        assert (code, words in err) == (2, True)
    assert gemsnn("data", "show", halves / "halves.h5", "--out", tmp_path / "show.png")[0] == 0


def test_patterns_on_no_grid_are_drawn_as_rasters(gemsnn, halves, tmp_path):
    assert gemsnn("data", "complete", halves / "whole.h5", "--inputs", "0:9", "--out", tmp_path / "part.h5")[0] == 0
    with open_prepared(tmp_path / "part.h5") as data:
        train(toy.config(n_hidden=2, epochs=1, n_compartments=2, likelihood_samples=1), data, tmp_path / "run")
    start = ("evaluate", tmp_path / "run", "--data", tmp_path / "part.h5", "--samples", 1)
    assert gemsnn(*start, "--picture", tmp_path / "a.svg")[0] == 0
    assert "sample 3" in (tmp_path / "a.svg").read_text()
    code, _, err = gemsnn(*start, "--picture", tmp_path / "a.gif")
    assert (code, "draw a .png" in err) == (2, True)


def test_classes_are_not_completed(gemsnn, halves, data_file, tmp_path):
    with open_prepared(data_file) as data:
        train(toy.config(n_hidden=2, epochs=1), data, tmp_path / "run")
    code, _, err = gemsnn("evaluate", tmp_path / "run", "--data", data_file, "--picture", tmp_path / "a.png")
    assert (code, "has labels and no spike pattern" in err) == (2, True)


def test_what_learned_spike_patterns_names_no_classes(gemsnn, halves):
    code, _, err = gemsnn("predict", halves / "run", halves / "halves.h5")
    assert (code, "learned spike patterns, not classes" in err) == (2, True)


def test_data_of_another_half_do_not_fit(gemsnn, halves, tmp_path):
    assert gemsnn("data", "complete", halves / "whole.h5", "--half", "top", "--out", tmp_path / "top.h5")[0] == 0
    code, _, err = gemsnn("evaluate", halves / "run", "--data", tmp_path / "top.h5")
    assert (code, "does not fit the model" in err) == (2, True)

"""Completion from the command line: figures, and a page with desired and produced spikes."""

import json

import numpy as np
import pytest
import toy

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


def test_a_run_is_measured_by_its_likelihood_and_its_distance_from_the_truth(gemsnn, halves):
    code, out, err = gemsnn("evaluate", halves / "run", "--data", halves / "halves.h5", "--samples", 3, "--json")
    assert code == 0, err
    found, recorded = json.loads(out), RunDirectory(halves / "run").read_summary()["best"]["test"]
    # A loaded model knows its filters by their taps only, and may sum them up in another order.
    assert found["over_silence"] == pytest.approx(recorded.pop("over_silence"), rel=1e-6)
    assert {name: found[name] for name in recorded} == pytest.approx(recorded, rel=1e-6)
    assert found["log_likelihood"] < 0 < found["van_rossum"]
    assert np.isfinite([found["log_likelihood"], found["van_rossum"]]).all()
    code, out, _ = gemsnn("evaluate", halves / "run", "--data", halves / "halves.h5")
    assert (code, "van Rossum distance from the targets (5 steps)" in out) == (0, True)


def test_the_page_shows_desired_and_produced_spikes(gemsnn, halves, tmp_path):
    """As pictures where inputs and targets lie on one, else as rasters."""
    complete_prepared(halves / "whole.h5", tmp_path / "part.h5", inputs=(0, 9))
    with open_prepared(tmp_path / "part.h5") as data:
        train(toy.config(n_hidden=2, epochs=1, n_compartments=2, likelihood_samples=1), data, tmp_path / "run")
    for run, data, raster in ((halves, "halves.h5", False), (tmp_path, "part.h5", True)):
        page = run / "page.html"
        code, _, err = gemsnn("evaluate", run / "run", "--data", run / data, "--samples", 1, "--page", page)
        assert code == 0, err
        text = page.read_text()
        assert text.count(">sample 3<") == 3
        assert (">neuron<" in text) == raster
    assert gemsnn("data", "show", halves / "halves.h5", "--out", tmp_path / "show.png")[0] == 0


def test_what_learned_spike_patterns_names_no_classes(gemsnn, halves):
    code, _, err = gemsnn("predict", halves / "run", halves / "halves.h5")
    assert (code, "--page patterns.html` draws the patterns that it produces" in err) == (2, True)
    for command in ("watch", "stream"):
        code, _, told = gemsnn(command, halves / "run", halves / "halves.h5")
        assert (code, told) == (2, err)


def test_data_of_another_half_do_not_fit(gemsnn, halves, tmp_path):
    complete_prepared(halves / "whole.h5", tmp_path / "top.h5", half="top")
    code, _, err = gemsnn("evaluate", halves / "run", "--data", tmp_path / "top.h5")
    assert (code, "does not fit the model" in err) == (2, True)

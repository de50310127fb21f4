"""`gemsnn evaluate --page`: a page that says what the command says, and shows what it is unsure of."""

import json
import re
from types import SimpleNamespace

import numpy as np
import pytest
import toy
from browser import Browser, find_chromium
from watched import made_up_model

from gemsnn.common.page import escape
from gemsnn.events import Preprocessing, open_prepared, write_prepared
from gemsnn.training import RunDirectory, evaluation_page, train

HOSTILE = ("<script>alert(1)</script>", "$x^", 'a "b" & c')


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A run on three classes with names that would like to be HTML, its inputs on a grid, and its data."""
    folder = tmp_path_factory.mktemp("page")
    X, _ = toy.examples(48)
    y = np.array(HOSTILE)[np.arange(48) % 3]
    write_prepared(folder / "toy.h5", X, y, names=[f"<i>{i}</i>" for i in range(48)], grid=(3, 4), split=0.4)
    with open_prepared(folder / "toy.h5") as data:
        train(toy.config(), data, folder / "run")
    return folder / "run", folder / "toy.h5"


@pytest.fixture
def page(gemsnn, made, tmp_path):
    run, data = made
    code, out, err = gemsnn("evaluate", run, "--data", data, "--page", tmp_path / "page.html")
    assert code == 0, err
    assert "accuracy" in out
    assert f"wrote {tmp_path / 'page.html'}" in err
    return tmp_path / "page.html"


def test_it_says_what_the_command_says(page, gemsnn, made):
    run, data = made
    text = page.read_text()
    _, out, _ = gemsnn("evaluate", run, "--data", data)
    for value in re.findall(r"│ +(-?[\d.]+(?: %)?) │", out.split("Reliability")[0]):
        assert f"<td>{value}</td>" in text
    model = RunDirectory(run).load_model()
    with open_prepared(data) as prepared:
        X, labels = prepared.test.read(range(len(prepared.test))), prepared.test.labels
    found = model.predict(X)
    said = np.searchsorted(model.classes, found.label)
    assert f"{100 * (said == labels).mean():.1f} % of {len(labels)} recordings" in text
    for c in range(3):
        recall = 100 * (said[labels == c] == c).mean()
        assert f"<td>{(labels == c).sum()}</td><td>{recall:.1f}</td>" in text


def test_the_least_certain_come_first(page, made):
    run, data = made
    with open_prepared(data) as prepared:
        found = RunDirectory(run).load_model().predict(prepared.test.read(range(len(prepared.test))))
        names = [prepared.test.names[i] for i in np.argsort(found.confidence, kind="stable")[:9]]
    shown = re.findall(r"<small>\d+: (.*?)</small>", page.read_text())
    assert shown == [escape(name) for name in names]


def test_names_stay_names(page):
    text = page.read_text()
    assert "<script" not in text
    assert "<i>" not in text
    assert escape(HOSTILE[0]) in text


@pytest.mark.skipif(find_chromium() is None, reason="no Chromium is installed")
def test_a_browser_draws_it_on_any_screen(page):
    with Browser(find_chromium() or "") as browser:
        for width in (1280, 390):
            for dark in (False, True):
                browser.open(page, width, dark=dark)
                assert browser.evaluate("document.documentElement.scrollWidth") <= width
        assert browser.evaluate("document.querySelectorAll('figure svg').length") == 2 + 2 * 9
        assert browser.problems == []


def test_json_stays_json_beside_a_page(gemsnn, made, tmp_path):
    run, data = made
    _, out, _ = gemsnn("evaluate", run, "--data", data, "--json", "--page", tmp_path / "page.html")
    assert json.loads(out)["examples"] == 18


def test_spike_patterns_and_several_labels_have_pages_too(gemsnn, tmp_path):
    X, _ = toy.examples(24)
    several = np.eye(3, dtype=int)[np.arange(24) % 3] | np.eye(3, dtype=int)[np.arange(24) // 3 % 3]
    for name, wanted in (("several", {"y": several}), ("patterns", {"targets": X[:, :, :5]})):
        write_prepared(tmp_path / f"{name}.h5", X, split=0.5, **wanted)
        with open_prepared(tmp_path / f"{name}.h5") as data:
            train(toy.config(epochs=1), data, tmp_path / name)
        page = tmp_path / f"{name}.html"
        code, _, err = gemsnn("evaluate", tmp_path / name, "--data", tmp_path / f"{name}.h5", "--page", page)
        assert code == 0, err
        assert "<svg" in page.read_text()


def test_a_page_that_cannot_be_written_is_told(gemsnn, made, tmp_path):
    run, data = made
    code, _, err = gemsnn("evaluate", run, "--data", data, "--page", tmp_path / "none" / "page.html")
    assert code == 2
    assert "cannot be written" in err


def test_pictures_show_a_tenth_of_a_second_however_short_the_steps(monkeypatch):
    model = made_up_model(Preprocessing(sensor_size=(8, 6), bin_us=5000, n_steps=60), n_steps=60)
    examples, drawn = SimpleNamespace(planes=lambda index: np.ones((60, 2, 6, 8))), []
    monkeypatch.setattr(evaluation_page.plot, "picture", lambda counts, **_: drawn.append(counts))
    evaluation_page._example(model, examples, 0).draw()
    assert (drawn[0] == 20).all()

"""The report page and the figures, looked at as files, as text, and in a real browser."""

import re
import struct
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from browser import Browser, find_chromium
from made_up_results import made_up

import gemsnn.experiments.report as parts
from gemsnn import plot
from gemsnn.common.page import escape
from gemsnn.common.words import printable
from gemsnn.experiments import figures, judge
from gemsnn.experiments.report import report, verdicts
from gemsnn.plot.panels import INK, Panel, save, svg


@pytest.fixture(scope="module")
def results():
    made = made_up(
        log_likelihood=lambda K, seed, i: -30 + 5 * i + 0.1 * K + 0.1 * seed,
        accuracy=lambda K, seed, i: 0.7 + 0.01 * seed + 0.05 * i,
        ece=lambda K, seed, i: 0.3 - 0.01 * K + 0.01 * seed,
    )
    made.failed.append({"name": "K20-seed3", "status": "failed", "error": "out of <luck>"})
    return made


@pytest.fixture(scope="module")
def page(results, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(report(results, judge(results)))
    return path


class Structure(HTMLParser):
    VOID = frozenset({"meta", "link", "br", "img", "hr"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in ("src", "href", "xlink:href", "action"):
                self.links.append(value or "")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_well_formed_and_self_contained(page: Path) -> None:
    structure = Structure()
    structure.feed(page.read_text())
    assert structure.open == []
    assert len(structure.ids) == len(set(structure.ids)), "an id is used twice"
    for link in structure.links:
        assert link.startswith(("#", "data:")), link
        if link.startswith("#"):
            assert link[1:] in structure.ids
    assert not re.search(r"url\((?!#)", page.read_text())
    assert "<script" not in page.read_text()


def test_the_page_says_first_where_the_data_come_from(results, page: Path) -> None:
    body = page.read_text().split("<body>")[1]
    assert body.index("SIMULATED DATA") < body.index("<h1>")
    assert "REAL DATA" in parts._provenance({**results.about["data"], "simulated": False})


def test_every_verdict_and_number_is_on_the_page(results, page: Path) -> None:
    text = page.read_text()
    for claim in judge(results):
        assert claim.claim.replace("K^I", "Kᴵ") in text
    for name in type(results.protocol).model_fields:
        assert f'<th scope="row">{name}</th>' in text
    assert "gemsnn reproduce" in text
    assert f"{100 * results.estimate(20, 'accuracy', 'final').mean:.1f}" in text


def test_a_contradiction_of_the_paper_is_said() -> None:
    text = verdicts(judge(made_up(accuracy=lambda K, seed, i: 0.9 - 0.01 * K + 0.001 * seed)))
    card = text[text.index("With more compartments the network is right more often") :].partition("</summary>")[0]
    assert "not supported" in card


def test_words_of_the_trade_are_explained_where_they_first_stand(page: Path) -> None:
    text = page.read_text().partition("<main>")[2]
    for word, meaning in (
        (">K<", "is the number of compartments"),
        ("interval", "experiments it holds the true value"),
        ("nats", "one nat: 2.7 times as probable"),
        ("calibration error", "the mean gap between confidence and success"),
    ):
        first = text.index(word)
        assert meaning in text[first : first + 200], word


def test_a_claim_shows_one_verdict_until_it_is_unfolded(results) -> None:
    for card in verdicts(judge(results)).split("<details")[1:]:
        assert card.partition("</summary>")[0].count('class="tag') == 1


def test_failed_runs_are_on_the_page(page: Path) -> None:
    text = page.read_text()
    assert "K20-seed3" in text
    assert "out of &lt;luck&gt;" in text


def test_reliability_puts_the_seeds_together() -> None:
    results = made_up()
    for place, run in enumerate(results.of(1)):
        run.records[-1]["test"]["reliability"] = {
            "counts": [0] * 8 + [2, 10 * (place == 0)],
            "confidence": [None] * 8 + [0.85, 0.95 if place == 0 else None],
            "accuracy": [None] * 8 + [0.1 * place, 0.5 if place == 0 else None],
        }
    counts, confidence, accuracy = figures.pooled_reliability(results, 1, "vote", "final")
    assert counts.tolist() == [0] * 8 + [10, 10]
    assert confidence[8:] == pytest.approx([0.85, 0.95])
    assert accuracy[8:] == pytest.approx([0.2, 0.5])


def test_figures_are_files_that_hold_what_was_drawn(results, tmp_path: Path) -> None:
    panels = figures.all_figures(results)["figure-a"]
    save(panels, tmp_path / "a")
    drawn = ElementTree.parse(tmp_path / "a.svg").getroot()
    words = " ".join(element.text or "" for element in drawn.iter("{http://www.w3.org/2000/svg}text"))
    assert "compartments K" in words
    width, height = struct.unpack(">II", (tmp_path / "a.png").read_bytes()[16:24])
    assert width > height > 300


def test_inline_figures_take_the_pages_ink(results) -> None:
    drawn = svg(figures.costs(results), "costs")
    assert "currentColor" in drawn
    assert INK not in drawn
    ElementTree.fromstring(drawn)


needs_browser = pytest.mark.skipif(find_chromium() is None, reason="no Chromium is installed")


@needs_browser
def test_a_browser_draws_it_at_every_size_and_colour_without_complaint(page: Path) -> None:
    with Browser(find_chromium() or "") as browser:
        ink = {}
        for width in (1280, 390):
            for dark in (False, True):
                browser.open(page, width, dark=dark)
                assert browser.evaluate("document.documentElement.scrollWidth") <= width, "it can be scrolled sideways"
                sizes = browser.evaluate(
                    "[...document.querySelectorAll('figure svg')].map(s => [s.getBoundingClientRect().width, "
                    "s.getBoundingClientRect().height, s.querySelectorAll('path, use, image').length])"
                )
                assert len(sizes) == 19
                for drawn_width, drawn_height, shapes in sizes:
                    assert drawn_width > 200
                    assert drawn_height > 150
                    assert shapes > 1
                ink[width, dark] = browser.evaluate(
                    "[document.body, document.querySelector('figure svg text')].map(e => getComputedStyle(e))"
                    ".map((s, i) => i ? s.fill : s.backgroundColor)"
                )
        assert ink[1280, False] != ink[1280, True]  # text and paper both follow the colour scheme
        for paper, text in ink.values():
            assert abs(_brightness(paper) - _brightness(text)) > 0.5
        assert browser.problems == []
        assert [url for url in browser.requests if not url.startswith(("data:", "file:"))] == []


def _brightness(colour: str) -> float:
    red, green, blue = (int(part) for part in re.findall(r"\d+", colour)[:3])
    return (0.3 * red + 0.59 * green + 0.11 * blue) / 255


HOSTILE = (
    '"><script>alert(1)</script>',
    r"$\frac{$",
    "[/red]",
    'id="x" url(#y) #1f2933 \'',
    "a|b `c` **d**\n# e\x1b[2J",
    "数",
)


def hostile_results():
    results = made_up()
    results.about["data"] |= {"classes": list(HOSTILE), "description": HOSTILE[0], "split": HOSTILE[1]}
    results.about["commands"] = list(HOSTILE)
    results.failed.extend({"name": name, "status": "failed", "error": name} for name in HOSTILE)
    return results


def test_names_cannot_break_the_page_or_enter_it() -> None:
    results = hostile_results()
    structure = Structure()
    text = report(results, judge(results))
    structure.feed(text)
    assert structure.open == []
    assert "<script" not in text
    assert "\x1b" not in text
    for name in HOSTILE:
        assert escape(name) in text


def all_shown(words) -> bool:
    """Whether every hostile name is among the words; a long one is cut, and says so."""
    return all(
        any(word == name or (word and word.endswith("…") and name.startswith(word[:-1])) for word in words)
        for name in map(printable, HOSTILE)
    )


@pytest.mark.parametrize("label", HOSTILE)
def test_names_are_drawn_as_they_are_written(label: str, tmp_path: Path) -> None:
    spikes = np.random.default_rng(0).random((20, 2, len(HOSTILE))) < 0.3
    panels = [Panel(partial(plot.raster, spikes, HOSTILE, title=printable(label)), printable(label))]
    save(panels, tmp_path / "example")
    assert (tmp_path / "example.png").exists()
    drawn = [ElementTree.parse(tmp_path / "example.svg").getroot()]
    drawn += [ElementTree.fromstring(svg(panel, f"panel-{i}")) for i, panel in enumerate(panels)]
    for whole in (drawn[0], drawn[-1]):
        words = {element.text for element in whole.iter("{http://www.w3.org/2000/svg}text")}
        assert all_shown(words)
    assert drawn[1].get("aria-label") == printable(label)


@needs_browser
def test_a_browser_shows_hostile_names_and_runs_nothing(tmp_path: Path) -> None:
    results = hostile_results()
    page = tmp_path / "report.html"
    page.write_text(report(results, judge(results)))
    with Browser(find_chromium() or "") as browser:
        browser.open(page, 1280)
        assert browser.evaluate("document.querySelectorAll('script, [onerror], [onload]').length") == 0
        shown = browser.evaluate("document.querySelector('.provenance').textContent")
        for name in HOSTILE:
            assert name.replace("\x1b", "�") in shown
        assert browser.problems == []
        assert [url for url in browser.requests if not url.startswith(("data:", "file:"))] == []

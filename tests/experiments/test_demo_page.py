"""The page of the demonstration: what it opens with, and that a browser draws it everywhere."""

from pathlib import Path

import numpy as np
import pytest
from browser import Browser, find_chromium
from made_up_results import made_up

from gemsnn.experiments import Finished, judge
from gemsnn.experiments.demo import Answers, before_the_end, in_one_sentence
from gemsnn.experiments.demo_page import demo_page
from gemsnn.inference import AnytimePrediction

HOSTILE = '"><script>alert(1)</script>'


def answers(classes: tuple[object, ...] = (0, 1, 2), n: int = 30, right: float = 0.8) -> Answers:
    """Made up: whoever is right is sure, whoever is wrong is less so."""
    rng = np.random.default_rng(0)
    C, T = len(classes), 40
    labels = rng.integers(0, C, n)
    labels[:C] = np.arange(C)
    chosen = np.where(rng.random(n) < right, labels, (labels + 1) % C)
    sure = np.where(chosen == labels, 0.9, 0.6)[:, None] * np.linspace(0.5, 1, T)
    probabilities = np.repeat((1 - sure)[..., None] / (C - 1), C, axis=-1)
    np.put_along_axis(probabilities, np.repeat(chosen[:, None, None], T, axis=1), sure[..., None], axis=-1)
    anytime = AnytimePrediction(np.repeat(chosen[:, None], T, axis=1), probabilities, np.ones((n, T)))
    figures = {"accuracy": 0.8, "examples": 5}
    return Answers(
        classes=classes,
        labels=labels,
        names=tuple(f"recording {i}" for i in range(n)),
        anytime=anytime,
        films=[rng.random((T, 2, 6, 7)) < 0.2 for _ in range(n)],
        step_ms=25.0,
        hidden=rng.random((T, 20)) < 0.2,
        n_train=50,
        network="A network.",
        history=[{"position": 10 * i, "validation": figures} for i in (1, 2)],
    )


def test_it_opens_with_the_recording_the_answer_and_how_sure() -> None:
    found = answers()
    page = demo_page(found, None, [("Go on", "gemsnn --help")])
    body = page.partition("<body>")[2]
    said = found.classes[found.predicted[found.typical]]
    for earlier, later in (
        ("SIMULATED DATA", in_one_sentence(found)[:40]),
        (in_one_sentence(found)[:40], 'class="film"'),
        ('class="film"', f"It is a <b>{said}</b>"),
        (f"It is a <b>{said}</b>", "90.0 % sure, and rightly"),
        ("90.0 % sure, and rightly", "Other recordings</h2>"),
        ("Other recordings</h2>", "Can it be believed?</h2>"),
        ("Can it be believed?</h2>", "gemsnn --help"),
    ):
        assert body.index(earlier) < body.index(later), (earlier, later)
    assert "<script" not in page


def test_its_sentences_count_rightly() -> None:
    found = answers(n=200)
    right = int((found.predicted == found.labels).sum())
    sentence = in_one_sentence(found)
    assert f"Of 200 recordings that it had never seen it names {right} rightly ({right / 2:.1f} %)" in sentence
    confidence = found.anytime.probabilities[np.arange(200), -1, found.predicted]
    assert f"{100 * confidence.mean():.1f} % sure" in sentence
    assert f"(expected calibration error {found.reliability.ece:.3f})" in sentence
    # Sure to 0.8 after 0.5 + s / 78 of 0.9: the right ones stop after step 31, the others never.
    steps = np.where(found.right, 1 + np.argmax(0.9 * np.linspace(0.5, 1, 40) >= 0.8), 40).mean()
    assert f"it needs {steps * 0.025:.1f} s of 1 s on average" in before_the_end(found, 0.8)


def test_the_typical_recording_is_right_and_neither_the_surest_nor_the_least_sure() -> None:
    found = answers()
    assert found.right[found.typical]
    wrong = answers(right=0.0)
    assert not wrong.right.any()
    assert "and wrongly: it was a" in demo_page(wrong, None, [])


def test_names_cannot_break_the_page_or_enter_it() -> None:
    page = demo_page(answers(classes=(HOSTILE, "b", "c")), None, [(HOSTILE, HOSTILE)])
    assert "<script" not in page


@pytest.mark.skipif(find_chromium() is None, reason="no Chromium is installed")
def test_a_browser_draws_it_at_every_size_and_colour_without_complaint(tmp_path: Path) -> None:
    results = made_up()
    page = tmp_path / "index.html"
    paper = Finished(results, judge(results), tmp_path / "paper" / "report.html")
    page.write_text(demo_page(answers(), paper, [("Go on", "gemsnn --help " * 30)]))
    with Browser(find_chromium() or "") as browser:
        papers = {}
        for width in (1280, 390):
            for dark in (False, True):
                browser.open(page, width, dark=dark)
                assert browser.evaluate("document.documentElement.scrollWidth") <= width, "it can be scrolled sideways"
                film = browser.evaluate(
                    "(e => [e.getBoundingClientRect().top, e.getBoundingClientRect().width, "
                    "e.getAnimations().length])(document.querySelector('.film'))"
                )
                assert film[0] < 600, "the recording is not on the first screen"
                assert film[1] > 150
                assert film[2] == 1
                shown = browser.evaluate("[...document.querySelectorAll('details.claim')].map(d => d.open)")
                assert shown == [False] * 6
                heights = browser.evaluate(
                    "[...document.querySelectorAll('.claim')].map(d => d.getBoundingClientRect().height)"
                )
                assert sum(heights) < (900 if width > 640 else 1200), "the verdicts do not fit on a screen"
                papers[width, dark] = browser.evaluate("getComputedStyle(document.body).backgroundColor")
        assert papers[1280, False] != papers[1280, True]
        assert browser.problems == []
        assert [url for url in browser.requests if not url.startswith(("data:", "file:"))] == []

"""The page that plays recordings, in a real browser."""

import json
import re

import numpy as np
import pytest
from browser import Browser, find_chromium
from watched import HOSTILE, made_up_spikes

from gemsnn.common.words import printable
from gemsnn.watching import Item, Picture, least_certain, make_scene, scenes_of, watch_page
from gemsnn.watching.packing import pack_numbers

pytestmark = pytest.mark.skipif(find_chromium() is None, reason="needs chromium")


@pytest.fixture(scope="module")
def browser():
    with Browser(find_chromium()) as opened:
        yield opened


@pytest.fixture(scope="module")
def one(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "one.html"
    scene = make_scene(model, made_up_spikes(), Picture.of(model), "<b>mine</b>.aedat", truth=HOSTILE[0])
    path.write_text(watch_page(model, [scene], title="<u>title</u>", about="<s>run</s>"))
    return path


@pytest.fixture(scope="module")
def many(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "many.html"
    items = [Item(f"recording {i}", lambda i=i: made_up_spikes(i), HOSTILE[i % 3]) for i in range(9)]
    ordered, errors = least_certain(model, items, Picture.of(model))
    assert not errors
    scenes = scenes_of(model, ordered[:6], Picture.of(model))
    path.write_text(watch_page(model, scenes, title="many", left_out=3))
    return path


@pytest.fixture(scope="module")
def rows(without_grid, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "rows.html"
    picture = Picture.of(without_grid)
    scenes = [make_scene(without_grid, made_up_spikes(i, width=48), picture, f"rows {i}") for i in range(2)]
    path.write_text(watch_page(without_grid, scenes, title="rows"))
    return path


def opened(browser, page, width=1100, dark=False):
    browser.problems.clear()
    browser.requests.clear()
    browser.open(page, width, dark=dark)
    return browser


def text(browser, name):
    return browser.evaluate(f"document.getElementById('{name}').textContent")


def test_the_page_needs_nothing_but_itself(one):
    content = one.read_text()
    assert not re.search(r"""(src|href)\s*=\s*["'](?!data:|#)""", content)
    assert "http" not in re.sub(r"http-equiv", "", content)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [360, 1200])
@pytest.mark.parametrize("page", ["one", "many", "rows"])
def test_it_opens_without_complaint_and_fits(browser, page, width, dark, request):
    file = request.getfixturevalue(page)
    opened(browser, file, width, dark)
    browser.evaluate("player.seek(player.scene.steps)")
    assert browser.problems == []
    assert browser.requests == [file.as_uri()]
    assert browser.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    right = "Math.max(...[...document.querySelectorAll('.transport > *')].map(e => e.getBoundingClientRect().right))"
    assert browser.evaluate(f"{right} <= window.innerWidth")
    paper = browser.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", paper)[:3])) < 200) == dark


def test_names_are_text_and_do_no_harm(browser, one, many):
    for page in (one, many):
        opened(browser, page)
        browser.evaluate("player.seek(player.scene.steps)")
        assert browser.evaluate("window.harm === undefined && !document.querySelector('img, u, s, main b > *')")
    opened(browser, one)
    bars = "[...document.querySelectorAll('.bar b')].map(e => e.textContent)"
    assert browser.evaluate(bars) == [printable(name) for name in HOSTILE]
    assert text(browser, "name") == "<b>mine</b>.aedat"
    assert text(browser, "truth") == f"truth: {HOSTILE[0]}"
    assert browser.evaluate("document.querySelector('h1').textContent") == "<u>title</u>"


def test_the_script_reads_what_was_packed(browser, one, model):
    opened(browser, one)
    spikes = made_up_spikes()
    answers = model.predict_anytime([spikes.to_array(48)])[0]
    found = browser.evaluate("player.scene.spikes.map(places => [...places])")
    listed = spikes.spikes
    assert found == [listed["index"][listed["step"] == t].tolist() for t in range(30)]
    assert browser.evaluate("player.scene.ends") == list(range(1, 31))
    assert browser.evaluate("player.scene.answers") == answers.classes.tolist()
    told = np.array(browser.evaluate("player.scene.p.map(row => [...row])"))
    np.testing.assert_allclose(told, answers.probabilities, atol=1e-5)


def test_at_every_moment_it_shows_the_answer_and_the_set_of_that_moment(browser, one, model):
    opened(browser, one)
    answers = model.predict_anytime([made_up_spikes().to_array(48)])[0]
    sets = model.calibration.guarantee.sets(answers)
    for step in (1, 5, 6, 12, 18, 24, 30):
        browser.evaluate(f"player.seek({step})")
        assert text(browser, "answer") == printable(HOSTILE[answers.classes[step - 1]])
        assert text(browser, "sure") == f"{100 * answers.confidence[step - 1]:.0f} % sure"
        gone = browser.evaluate("[...document.querySelectorAll('.chip')].map(e => e.classList.contains('gone'))")
        assert gone == (~sets[step - 1]).tolist()
    browser.evaluate("player.seek(0)")
    assert text(browser, "sure") == "no events yet"


def test_it_says_when_it_would_have_stopped_and_goes_there(browser, one, model):
    opened(browser, one)
    found = model.predict_set([made_up_spikes().to_array(48)])
    steps = int(found.steps[0])
    browser.evaluate("player.seek(1)")
    assert text(browser, "stop") == "3 of 3 classes are still possible"
    browser.evaluate("document.getElementById('to-stop').click()")
    assert browser.evaluate("player.position") == steps
    names = ", ".join(printable(HOSTILE[c]) for c in np.flatnonzero(found.members[0]))
    assert text(browser, "stop").startswith(f"would stop after {steps * 10} ms with {{{names}}}: ")
    assert f"{100 - 100 * steps / 30:.0f} % of the time" in text(browser, "stop")


def pixel(browser, cell, canvas="eye"):
    where = f"{cell % 8}, {cell // 8}, 1, 1"
    return browser.evaluate(f"[...document.getElementById('{canvas}').getContext('2d').getImageData({where}).data]")


def test_events_have_the_colour_of_their_polarity_and_fade(browser, one):
    opened(browser, one)
    listed = made_up_spikes().spikes
    step = 20
    now = set(listed["index"][listed["step"] == step - 1].tolist())
    browser.evaluate(f"player.seek({step})")
    off = next(place for place in sorted(now) if place < 48 and place + 48 not in now)
    on = next(place for place in sorted(now) if place >= 48 and place - 48 not in now)
    earlier = set(listed["index"][(listed["step"] < step - 1) & (listed["step"] > step - 12)].tolist())
    alone = [p for p in (off, on) if (p + 48) % 96 not in earlier]
    for place in alone:
        assert pixel(browser, place % 48) == [*((59, 130, 246) if place < 48 else (240, 118, 27)), 255]
    assert alone
    browser.evaluate(f"player.seek({step + 3})")
    later = set(listed["index"][(listed["step"] >= step) & (listed["step"] < step + 3)].tolist())
    for place in alone:
        if not {place, (place + 48) % 96} & later:
            assert 0 < pixel(browser, place % 48)[3] < 255
    browser.evaluate("player.seek(0)")
    assert all(pixel(browser, cell)[3] == 0 for cell in range(48))


def ink(browser, canvas):
    """How many pixels of a canvas are drawn on."""
    return browser.evaluate(
        f"(() => {{ const c = document.getElementById('{canvas}');"
        "const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; let n = 0;"
        "for (let i = 3; i < d.length; i += 4) n += d[i] > 0; return n; })()"
    )


@pytest.mark.parametrize("canvas", ["curves", "hidden"])
def test_curves_and_spikes_grow_with_time(browser, one, canvas):
    opened(browser, one)
    drawn = []
    for step in (1, 10, 20, 30):
        browser.evaluate(f"player.seek({step})")
        drawn.append(ink(browser, canvas))
    assert drawn == sorted(drawn)
    assert drawn[0] < drawn[-1]


def test_input_rows_grow_with_time_where_there_is_no_grid(browser, rows):
    opened(browser, rows)
    browser.evaluate("player.seek(3)")
    few = ink(browser, "eye")
    browser.evaluate("player.seek(30)")
    assert 0 < few < ink(browser, "eye")
    assert text(browser, "clock") == "30 steps"
    assert text(browser, "eye-title") == "Input spikes"


def wait(browser, milliseconds):
    browser.evaluate(f"new Promise(done => setTimeout(done, {milliseconds}))")


def until(browser, condition):
    browser.evaluate(
        f"new Promise(done => {{ const look = () => ({condition}) ? done() : setTimeout(look, 20); look(); }})"
    )


def test_it_plays_pauses_and_plays_again_from_the_start(browser, one):
    opened(browser, one)
    browser.evaluate("player.seek(0); document.getElementById('speed').value = '0.1'")
    browser.evaluate("document.getElementById('play').click()")
    until(browser, "player.position > 0.5")
    browser.evaluate("document.getElementById('play').click()")
    paused = browser.evaluate("player.position")
    wait(browser, 120)
    assert 0 < browser.evaluate("player.position") == paused
    browser.evaluate("document.getElementById('speed').value = '4'; document.getElementById('play').click()")
    browser.evaluate(
        "new Promise(done => { const look = () => player.playing ? setTimeout(look, 20) : done(); look(); })"
    )
    assert browser.evaluate("player.position") == 30
    browser.evaluate("document.getElementById('speed').value = '0.1'; document.getElementById('play').click()")
    assert browser.evaluate("player.position < 30 && player.playing")


def test_it_is_moved_by_hand_and_by_keys(browser, one):
    opened(browser, one)
    browser.evaluate(
        "(() => { const s = document.getElementById('scrub'); s.value = 12.4; s.dispatchEvent(new Event('input')); })()"
    )
    assert browser.evaluate("[player.position, player.playing]") == [12.4, False]
    assert text(browser, "clock") == "120 ms"

    def press(key):
        browser.evaluate(
            f"document.body.dispatchEvent(new KeyboardEvent('keydown', {{key: {json.dumps(key)}, bubbles: true}}))"
        )
        return browser.evaluate("player.position")

    assert press("ArrowRight") == 13
    assert press("ArrowLeft") == 12
    assert press("End") == 30
    assert press("Home") == 0
    press(" ")
    assert browser.evaluate("player.playing")


def test_a_gallery_begins_with_the_least_certain_and_plays_what_is_chosen(browser, many, model):
    opened(browser, many)
    until(browser, "document.documentElement.dataset.drawn")
    sure = [float(model.predict([made_up_spikes(i).to_array(48)]).confidence[0]) for i in range(9)]
    order = np.argsort(sure, kind="stable")[:6]
    shown = browser.evaluate("[...document.querySelectorAll('.gallery .who')].map(e => e.title)")
    assert shown == [f"recording {i}" for i in order]
    assert text(browser, "name") == f"recording {order[0]}"
    browser.evaluate("document.querySelectorAll('.gallery button')[3].click()")
    assert text(browser, "name") == f"recording {order[3]}"
    assert browser.evaluate("player.playing")
    marked = browser.evaluate("[...document.querySelectorAll('.gallery button')].map(e => e.ariaCurrent)")
    assert marked == ["false"] * 3 + ["true"] + ["false"] * 2
    painted = (
        "[...document.querySelectorAll('.gallery canvas')].map(c => [...c.getContext('2d').getImageData(0, 0, 8, 6)"
    )
    assert all(browser.evaluate(f"{painted}.data].some(value => value > 0))"))
    assert "3 more confident recordings not shown." in many.read_text()


def test_a_gallery_shows_whole_file_names_without_folders(browser, model, tmp_path):
    name = f"{'folder/' * 9}{'a_long_name_' * 4}.aedat"
    scenes = [make_scene(model, made_up_spikes(i), Picture.of(model), name) for i in range(2)]
    (tmp_path / "names.html").write_text(watch_page(model, scenes, title="names"))
    opened(browser, tmp_path / "names.html")
    who = "document.querySelector('.gallery .who')"
    assert browser.evaluate(f"{who}.textContent").endswith(f" · {name.rpartition('/')[2]}")
    assert browser.evaluate(f"{who}.title") == name
    assert browser.evaluate(f"{who}.scrollWidth <= {who}.clientWidth")
    assert browser.evaluate(f"getComputedStyle({who}).textOverflow") == "clip"


def test_an_unusual_recording_is_marked_in_the_gallery_and_while_it_plays(browser, model, tmp_path):
    scenes = [make_scene(model, made_up_spikes(i), Picture.of(model), f"recording {i}") for i in range(2)]
    scenes[1].content["unusual"] = pack_numbers(np.ones(30, dtype=np.int64))
    (tmp_path / "unusual.html").write_text(watch_page(model, scenes, title="unusual"))
    opened(browser, tmp_path / "unusual.html")
    until(browser, "document.documentElement.dataset.drawn")
    words = [card.endswith("unlike anything it was trained on") for card in browser.evaluate(
        "[...document.querySelectorAll('.gallery button')].map(card => card.textContent)")]  # fmt: skip
    assert words == [False, True]
    browser.evaluate("document.querySelectorAll('.gallery button')[1].click(); player.seek(30)")
    assert text(browser, "sure").endswith("unlike anything it was trained on, no guarantee")


def test_a_short_recording_plays_in_slow_motion_until_a_speed_is_chosen(browser, many):
    opened(browser, many)
    assert browser.evaluate("document.getElementById('speed').value") == "0.1"  # 0.3 s
    browser.evaluate(
        "(() => { const s = document.getElementById('speed'); s.value = '2'; s.dispatchEvent(new Event('change')); })()"
    )
    browser.evaluate("document.querySelectorAll('.gallery button')[1].click()")
    assert browser.evaluate("document.getElementById('speed').value") == "2"


def test_a_link_leads_to_one_recording_of_the_gallery(browser, many):
    opened(browser, many)
    names = browser.evaluate("[...document.querySelectorAll('.gallery .who')].map(e => e.title)")
    browser.evaluate("location.hash = '#2'")
    until(browser, f"document.getElementById('name').textContent === {json.dumps(names[1])}")


def test_a_model_without_a_guarantee_shows_no_sets(browser, model, tmp_path):
    from dataclasses import replace

    plain = replace(model, calibration=None)
    scene = make_scene(plain, made_up_spikes(), Picture.of(plain), "plain")
    (tmp_path / "plain.html").write_text(watch_page(plain, [scene], title="plain"))
    opened(browser, tmp_path / "plain.html")
    browser.evaluate("player.seek(30)")
    assert browser.problems == []
    for part in ("set", "stop", "to-stop"):
        assert browser.evaluate(f"getComputedStyle(document.getElementById('{part}')).display") == "none"
    assert "Not calibrated for this decoder" in (tmp_path / "plain.html").read_text()

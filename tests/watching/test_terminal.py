"""Bars in a terminal: a real one, as far as rich can tell."""

import io

import numpy as np
from rich.console import Console
from watched import made_up_spikes

from gemsnn.watching import Picture, play
from gemsnn.watching.terminal import bars


def shown(group, width=80):
    console = Console(file=io.StringIO(), width=width, markup=False)
    console.print(group)
    return console.file.getvalue()


def test_a_bar_is_as_long_as_its_class_is_probable():
    out = shown(bars(("a", "b", "c"), np.array([0.5, 0.25, 0.25]), np.array([True, False, True]), "now"))
    lengths = [line.count("█") for line in out.splitlines()[:3]]
    assert lengths == [20, 10, 10]
    assert "set: {a, c}" in out
    assert "now" in out


def test_names_obey_nobody():
    out = shown(bars(("[red]x[/]", "\x1b[2Jgone"), np.array([0.5, 0.5]), None, "now"))
    assert "[red]x[/]" in out
    assert "\x1b" not in out


def test_of_many_classes_the_most_probable_are_shown():
    p = np.arange(40) / np.arange(40).sum()
    out = shown(bars(tuple(range(40)), p, np.ones(40, dtype=bool), "now"))
    assert "12 of 40 classes are shown" in out
    assert "39 " in out
    assert "..." in out


def test_it_plays_at_the_speed_of_the_camera_and_ends_with_the_end(model):
    waited = []
    console = Console(file=io.StringIO(), force_terminal=True, width=80, markup=False)
    play(model, made_up_spikes(), Picture.of(model), console, speed=2.0, wait=waited.append)
    assert np.isclose(sum(waited), 0.3 / 2, rtol=0.5)
    out = console.file.getvalue()
    assert "after 0.30 s of 0.30 s" in out
    assert "would have stopped after" in out

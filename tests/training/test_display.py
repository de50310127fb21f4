import io
import re

import toy
from rich.console import Console

from gemsnn.training import display as module
from gemsnn.training import trainer_of
from gemsnn.training.display import LineDisplay, LiveDisplay, display


def shown(trainer, **options):
    """What a run prints."""
    console = Console(file=io.StringIO(), width=200, **options)
    with display(console, trainer) as watching:
        trainer.run(watching)
    return console.file.getvalue()


def test_a_terminal_gets_the_live_display_and_anything_else_plain_lines(data):
    trainer = trainer_of(toy.config(), data)
    assert isinstance(display(Console(file=io.StringIO(), force_terminal=True), trainer), LiveDisplay)
    assert isinstance(display(Console(file=io.StringIO()), trainer), LineDisplay)


def test_plain_lines_tell_each_evaluation_and_have_no_control_codes(data):
    trainer = trainer_of(toy.config(), data)
    lines = shown(trainer).splitlines()
    assert "\x1b" not in "".join(lines)
    assert [line.split(":")[0] for line in lines] == [f"{p} of 60 examples" for p in (10, 20, 30, 40, 50, 60)]
    assert re.search(r"validation: accuracy [\d.]+ %, ECE 0\.\d+, log-likelihood -[\d.]+; test: accuracy", lines[0])
    assert lines[0].endswith("(best so far)")


def test_plain_lines_come_now_and_then_between_evaluations(data, monkeypatch):
    monkeypatch.setattr(module, "LINE_SECONDS", 0)
    lines = shown(trainer_of(toy.config(epochs=1), data)).splitlines()
    told = r"5 of 30 examples: [\d.]+ examples/s, log-likelihood -[\d.]+, hidden spikes/step [\d.]+, 0:00:\d\d left"
    assert any(re.fullmatch(told, line) for line in lines)


def test_the_live_display_shows_progress_rates_and_the_last_evaluation(data):
    text = shown(trainer_of(toy.config(), data), force_terminal=True)
    for part in ("60/60", "examples/s", "left", "log-likelihood", "hidden spikes/step", "ECE", "(best so far)"):
        assert part in text
    assert "\x1b[" in text


def test_a_resumed_run_shows_where_it_is_from_the_start(data):
    first = trainer_of(toy.config(), data)
    first.run(stop=lambda: first.position >= 25)
    console = Console(file=io.StringIO(), width=200, force_terminal=True)
    with display(console, trainer_of(toy.config(), data, first.state)):
        pass
    assert "25/60" in console.file.getvalue()
    assert "accuracy" in console.file.getvalue()


def test_without_anything_to_evaluate_on_the_training_likelihood_is_told(data):
    lines = shown(trainer_of(toy.config(validation_fraction=0, test_limit=0), data)).splitlines()
    assert all("training log-likelihood -" in line for line in lines)

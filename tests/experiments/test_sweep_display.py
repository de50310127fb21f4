"""What is shown while a sweep runs."""

import io
import json
import os
import re
import time
from pathlib import Path

import pytest
from rich.console import Console

from gemsnn import ConfigError, DataError
from gemsnn.common.sealed import seal
from gemsnn.experiments import Ended, Found, Measurement, planned
from gemsnn.experiments.display import Watch
from gemsnn.experiments.sweep import note_file, stop_file


@pytest.fixture
def runs(tmp_path: Path, tiny_protocol, tiny_data):
    return planned(tiny_protocol, tmp_path, dict.fromkeys(tiny_protocol.seeds, tiny_data))


def note(run, share: float, left: float | None = None, whole: float | None = None, doing: str = "") -> None:
    note_file(run).parent.mkdir(exist_ok=True)
    text = {"share": share, "left": left, "whole": whole, "doing": doing, "at": time.time()}
    note_file(run).write_text(json.dumps(text))


def table(watch) -> list[list[str]]:
    """The cells of the table, below the headline."""
    out = io.StringIO()
    Console(file=out, width=100, force_terminal=True, color_system=None).print(watch._table())
    lines = out.getvalue().splitlines()
    headline = next(i for i, line in enumerate(lines) if re.match(r"\d+ % of the work done", line))
    return [re.split(r"  +", line.strip()) for line in lines[headline + 1 :]]


def test_ended_runs_are_lines(runs) -> None:
    out = io.StringIO()
    with Watch(Console(file=out), runs) as watch:
        watch.ended(Ended(runs[2].name, "done", found=Found("validation accuracy", "87.5 %")))
        watch.ended(Ended(runs[3].name, "failed", "Traceback\n  File ...\nValueError: no luck"))
    lines = out.getvalue().splitlines()
    assert lines == [
        "K03-seed0 done, validation accuracy 87.5 % (1 of 4 done)",
        "K03-seed1 failed: ValueError: no luck (1 of 4 done)",
    ]


def test_the_table_shows_every_run(runs) -> None:
    note(runs[3], 0.25)  # left behind by an earlier process
    with Watch(Console(file=io.StringIO(), force_terminal=True, width=100), runs) as watch:
        note(runs[0], 0.5)
        watch.ended(Ended(runs[1].name, "done", found=Found("validation accuracy", "90.0 %")))
        watch.ended(Ended(runs[2].name, "failed", "no luck"))
        watch._look()
        assert table(watch) == [
            ["K", "seed 0", "seed 1"],
            ["1", "50 %", "done 90.0 %"],
            ["3", "failed", "waiting, 25 %"],
        ]


def test_any_labels_make_a_table(tmp_path: Path) -> None:
    made = [("gem", "classes", 1), ("gem", "classes", 2), ("gem", "completion", 1), ("[/red]", "classes", "\x1b[2J")]
    works = [
        Measurement(str(i), dict, {}, {"rule": rule, "task": task, "K": K}, tmp_path)
        for i, (rule, task, K) in enumerate(made)
    ]
    with Watch(Console(file=io.StringIO()), works) as watch:
        assert table(watch) == [
            ["rule", "task", "K 1", "K 2", "K �[2J"],
            ["gem", "classes", "waiting", "waiting"],
            ["gem", "completion", "waiting"],
            ["[/red]", "classes", "waiting"],
        ]


def test_a_low_terminal_shows_what_is_going_on(tmp_path: Path) -> None:
    works = [Measurement(str(i), dict, {}, {"i": i, "seed": 0}, tmp_path) for i in range(100)]
    with Watch(Console(file=io.StringIO(), height=20), works) as watch:
        note(works[70], 0.1)
        watch._look()
        assert table(watch) == [["i", "seed 0"], ["70", "10 %"]]


def test_the_work_done_counts_what_runs_cost(runs) -> None:
    # K = 3 costs 15 and K = 1 costs 9 a step, and half of the first K = 3 is done: 7.5 of 48.
    note(runs[2], 0.5)
    with Watch(Console(file=io.StringIO()), runs) as watch:
        assert watch._share() == pytest.approx(7.5 / 48)
        watch.ended(Ended(runs[2].name, "done"))
        assert watch._share() == pytest.approx(15 / 48)


def test_the_time_left_is_told_once_a_run_can_tell_it(runs) -> None:
    note(runs[1], 0.5, left=1000.0, whole=2000.0)  # of an earlier process, perhaps on another machine
    with Watch(Console(file=io.StringIO()), runs) as watch:
        note(runs[2], 0.0, doing="starting")
        watch._look()
        assert "estimating the time left" in watch._headline()
        note(runs[2], 0.2, left=120.0, whole=150.0)
        watch._look()
        # A unit of cost takes 10 s. One works: 120 s, 150 s for the other K = 3, 90 s and half of 90 s for K = 1.
        assert watch._seconds_left() == pytest.approx(120 + 150 + 90 + 45)
        note(runs[3], 0.0, left=150.0, whole=150.0)
        watch._look()
        # Two work: one 120 s and then 90 s, the other 150 s and then 45 s.
        assert watch._seconds_left() == pytest.approx(210)
        assert "about 0:03:30 left" in watch._headline()


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "3", "{}", '{"share": "x", "left": null, "whole": null, "doing": ""}', "[" * 99999]
)
def test_damaged_notes_are_not_shown(runs, text: str) -> None:
    note_file(runs[0]).parent.mkdir()
    note_file(runs[0]).write_text(text)
    note_file(runs[1]).mkdir()
    with Watch(Console(file=io.StringIO()), runs) as watch:
        watch._look()
        assert watch._share() == 0


def test_a_wish_to_stop_becomes_a_file_that_is_gone_at_the_end(runs, tmp_path: Path) -> None:
    out = io.StringIO()
    stop_file(tmp_path).touch()  # left behind by an earlier process that was killed
    wished = False
    with Watch(Console(file=out), runs, lambda: wished):
        assert not stop_file(tmp_path).exists()
        wished = True
        while not stop_file(tmp_path).exists():
            pass
    assert not stop_file(tmp_path).exists()
    assert "stopping" in out.getvalue()


@pytest.mark.parametrize(
    "note",
    [
        f'{{"share": {"9" * 400}, "left": 1, "whole": 2, "doing": ""}}',
        '{"share": NaN, "left": 1, "whole": 2, "doing": ""}',
        '{"share": 0.5, "left": Infinity, "whole": 2, "doing": ""}',
        '{"share": 0.5, "left": 1, "whole": NaN, "doing": ""}',
        "[" * 10_000,
    ],
)
def test_a_note_that_no_worker_wrote_is_only_not_shown(tmp_path, note):
    run = Measurement("one", print, {}, {"seed": 1}, tmp_path)
    note_file(run).parent.mkdir()
    note_file(run).write_text(note)
    watch = Watch(Console(file=io.StringIO(), width=100), [run])
    watch._look()
    watch._console.print(watch._table())
    assert not watch._notes


def test_somebody_elses_file_named_stop_is_not_removed(tmp_path):
    run = Measurement("one", print, {}, {"seed": 1}, tmp_path)
    (tmp_path / "stop").write_text("my shopping list")
    with pytest.raises(ConfigError, match=r"stop: .*none of ours"), Watch(Console(file=io.StringIO()), [run]):
        pass
    assert (tmp_path / "stop").read_text() == "my shopping list"


@pytest.mark.parametrize("content", [{}, {"arguments": 1, "answer": {}}, {"arguments": {}, "answer": []}])
def test_a_sealed_file_that_is_no_measurement_is_not_believed(tmp_path, content):
    run = Measurement("one", print, {}, {"seed": 1}, tmp_path)
    run.file.parent.mkdir()
    run.file.write_bytes(seal(content))
    with pytest.raises(DataError, match="it is no measurement"):
        run.done()
    run.file.unlink()
    os.mkfifo(run.file)
    with pytest.raises(DataError, match="cannot be read"):
        run.done()

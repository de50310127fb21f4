"""What is shown while a sweep runs."""

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from gemsnn.experiments.display import Watch
from gemsnn.experiments.sweep import Ended, planned, progress_file, stop_file


@pytest.fixture
def runs(tmp_path: Path, tiny_protocol, tiny_data):
    return planned(tiny_protocol, tmp_path, dict.fromkeys(tiny_protocol.seeds, tiny_data))


def note(run, position: int, accuracy: float | None = None) -> None:
    progress_file(run).parent.mkdir(exist_ok=True)
    progress_file(run).write_text(json.dumps({"position": position, "total": 100, "validation_accuracy": accuracy}))


def test_ended_runs_are_lines(runs) -> None:
    out = io.StringIO()
    note(runs[0], 100, 0.875)
    with Watch(Console(file=out), runs) as watch:
        watch.ended(Ended(runs[0].name, "done"))
        watch.ended(Ended(runs[1].name, "failed", "Traceback\n  File ...\nValueError: no luck"))
    lines = out.getvalue().splitlines()
    assert lines == [
        "K03-seed0 done, validation accuracy 87.5 % (1 of 4 done)",
        "K03-seed1 failed: ValueError: no luck (1 of 4 done)",
    ]


def test_the_table_shows_every_run(runs) -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=100, legacy_windows=False)
    note(runs[0], 50)
    note(runs[1], 100, 0.9)
    watch = Watch(console, runs)
    with watch:
        watch.ended(Ended(runs[1].name, "done"))
        watch.ended(Ended(runs[2].name, "failed", "no luck"))
        watch._read_notes()
        Console(file=out, width=100).print(watch._table())
    shown = out.getvalue()
    for text in ("seed 0", "seed 1", "50 %", "done 90 %", "failed", "waiting", "of the work done"):
        assert text in shown


def test_the_work_done_counts_what_runs_cost(runs) -> None:
    # K = 3 costs 15 and K = 1 costs 9 a step, and half of the first K = 3 is done: 7.5 of 48.
    note(runs[0], 50)
    with Watch(Console(file=io.StringIO()), runs) as watch:
        assert watch._share() == pytest.approx(7.5 / 48)
        watch.ended(Ended(runs[0].name, "done"))
        assert watch._share() == pytest.approx(15 / 48)


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

"""Sweeps with real processes, some of them killed."""

import dataclasses
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import toy
from rich.console import Console

from gemsnn.common.sealed import seal
from gemsnn.errors import CheckpointError, ConfigError, DataError
from gemsnn.experiments import Ended, Measurement, Protocol, Run, answers, planned
from gemsnn.experiments.sweep import locally, log_file, on_cluster, stop_file, sweep, work
from gemsnn.training.lock import locked


def runs_in(folder: Path, protocol: Protocol, data: Path) -> list[Run]:
    folder.mkdir(exist_ok=True)
    return planned(protocol, folder, dict.fromkeys(protocol.seeds, data))


def do(runs: list[Run], execute=None, stop=lambda: False):
    return sweep(runs, execute or locally(2), Console(file=io.StringIO()), stop)


def what_they_left(runs: list[Run]) -> dict[str, tuple[bytes, bytes]]:
    return {
        run.name: (run.directory.metrics.read_bytes(), run.directory.model_path("final").read_bytes()) for run in runs
    }


@pytest.fixture(scope="module")
def reference(tmp_path_factory, tiny_protocol, tiny_data):
    """The sweep, done one run after the other in this process."""
    runs = runs_in(tmp_path_factory.mktemp("reference"), tiny_protocol, tiny_data)
    assert {work(run).status for run in runs} == {"done"}
    return what_they_left(runs)


def test_every_K_and_seed_is_a_run_of_its_own_the_longest_first(tmp_path, tiny_protocol, tiny_data) -> None:
    runs = runs_in(tmp_path, tiny_protocol, tiny_data)
    assert [run.labels for run in runs] == [{"K": K, "seed": seed} for K in (1, 3) for seed in (0, 1)]
    asked = []

    def take_note(left):
        asked.extend(run.name for run in left)
        return iter(())

    do(runs, take_note)
    assert asked == ["K03-seed0", "K03-seed1", "K01-seed0", "K01-seed1"]


def test_processes_give_the_same_bits_as_one_process(tmp_path, tiny_protocol, tiny_data, reference) -> None:
    runs = runs_in(tmp_path, tiny_protocol, tiny_data)
    assert sorted(end.name for end in do(runs)) == sorted(reference)
    assert what_they_left(runs) == reference


def test_what_is_done_is_not_done_again(tmp_path, tiny_protocol, tiny_data) -> None:
    runs = runs_in(tmp_path, tiny_protocol, tiny_data)
    work(runs[0])
    before = {path: path.stat().st_mtime_ns for path in runs[0].directory.path.rglob("*")}
    ended = do(runs)
    assert {end.status for end in ended} == {"done"}
    assert before == {path: path.stat().st_mtime_ns for path in runs[0].directory.path.rglob("*")}

    def nobody(left):
        raise AssertionError(f"{left} were to be run again")

    assert {end.status for end in do(runs, nobody)} == {"done"}


def test_a_stopped_sweep_goes_on_to_the_same_bits(tmp_path, tiny_protocol, tiny_data, reference) -> None:
    runs = runs_in(tmp_path, tiny_protocol, tiny_data)

    def stop_in_the_middle(left):
        work(left[0])
        stop_file(tmp_path).touch()
        yield from locally(2)(left[1:])

    ended = do(runs, stop_in_the_middle)
    assert {end.status for end in ended} == {"interrupted"}
    assert not stop_file(tmp_path).exists()
    assert {end.status for end in do(runs)} == {"done"}
    assert what_they_left(runs) == reference


def test_a_wish_to_stop_reaches_the_workers(tmp_path, tiny_protocol, tiny_data) -> None:
    long = tiny_protocol.model_copy(update={"epochs": 2000, "evaluation_points": (1.0,)})
    runs = runs_in(tmp_path, long, tiny_data)
    wish = threading.Event()

    def once_they_work() -> None:
        while not holders(runs):
            time.sleep(0.05)
        wish.set()

    threading.Thread(target=once_they_work).start()
    assert {end.status for end in do(runs, stop=wish.is_set)} == {"interrupted"}
    assert not any(run.done() for run in runs)


def test_a_failed_run_is_reported_and_the_others_are_done(tmp_path, tiny_protocol, tiny_data) -> None:
    runs = runs_in(tmp_path, tiny_protocol, tiny_data)
    broken = next(run for run in runs if run.name == "K01-seed1").directory
    broken.path.mkdir(parents=True)
    broken.config.write_text("this run lost its checkpoints")
    ended = {end.name: end for end in do(runs)}
    assert ended["K01-seed1"].status == "failed"
    assert "nothing to resume from" in ended["K01-seed1"].error
    assert [ended[run.name].status for run in runs if run.name != "K01-seed1"] == ["done"] * 3


def test_a_killed_process_costs_no_run(tmp_path, tiny_protocol, tiny_data) -> None:
    long = tiny_protocol.model_copy(update={"epochs": 60})
    runs = runs_in(tmp_path, long, tiny_data)
    killed = []

    def kill_one() -> None:
        while True:
            for run in runs:
                lock = run.directory.path / "lock"
                try:
                    pid = json.loads(lock.read_text())["pid"]
                except (OSError, ValueError):
                    continue
                if pid != os.getpid():
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)
                    return
            time.sleep(0.01)

    thread = threading.Thread(target=kill_one)
    thread.start()
    ended = do(runs)
    thread.join()
    assert killed
    assert {end.status for end in ended} == {"done"}


def test_runs_made_with_other_settings_are_refused(tmp_path, tiny_protocol, tiny_data) -> None:
    runs = runs_in(tmp_path, tiny_protocol, tiny_data)
    work(runs[-1])
    other = runs_in(tmp_path, tiny_protocol.model_copy(update={"learning_rate": 0.5}), tiny_data)
    with pytest.raises(ConfigError, match=r"K03-seed1.*learning_rate was 0.01 and is now 0.5.*another --out"):
        do(other)


def test_a_worker_with_another_version_refuses(tmp_path, tiny_protocol, tiny_data) -> None:
    run = runs_in(tmp_path, tiny_protocol, tiny_data)[0]
    ended = work(run, "999.0")
    assert ended.status == "failed"
    assert "999.0" in ended.error


def test_without_a_scheduler_there_is_one_clear_message(tmp_path, tiny_protocol, tiny_data) -> None:
    pytest.importorskip("distributed")
    runs = runs_in(tmp_path, tiny_protocol, tiny_data)
    with pytest.raises(ConfigError, match="no Dask scheduler answers"):
        do(runs, on_cluster("tcp://127.0.0.1:1"))


def test_work_that_is_asked_for_twice_is_done_once(tmp_path, tiny_protocol, tiny_data) -> None:
    run = runs_in(tmp_path, tiny_protocol, tiny_data)[-1]
    assert work(run).status == "done"
    before = {path: path.stat().st_mtime_ns for path in run.directory.path.rglob("*")}
    assert work(run).status == "done"
    assert before == {path: path.stat().st_mtime_ns for path in run.directory.path.rglob("*")}


def test_a_sweep_takes_any_settings_under_any_labels(tmp_path, tiny_data) -> None:
    settings = {hidden: toy.config(n_hidden=hidden, epochs=1, shift=0) for hidden in (0, 3)}
    runs = [Run(f"hidden-{n}", config, tiny_data, {"hidden": n}, tmp_path) for n, config in settings.items()]
    ended = do(runs)
    assert {end.status for end in ended} == {"done"}
    for run in runs:
        assert run.directory.read_summary()["config"] == run.settings.identity()


def test_the_figure_told_is_that_of_the_last_evaluation(tmp_path, tiny_protocol, tiny_data) -> None:
    runs = runs_in(tmp_path, tiny_protocol, tiny_data)
    told = io.StringIO()
    sweep(runs, locally(2), Console(file=told))
    for run in runs:
        last = run.directory.read_metrics()[-1]["validation"]["accuracy"]
        assert f"{run.name} done, validation accuracy {100 * last:.1f} % (" in told.getvalue()


def test_worker_processes_write_to_a_file_and_not_to_the_terminal(tmp_path, capfd) -> None:
    measurements = [Measurement(str(i), shout, {"number": i}, {"number": i}, tmp_path) for i in range(2)]
    assert {end.status for end in do(measurements)} == {"done"}
    assert capfd.readouterr() == ("", "")
    assert sorted(log_file(tmp_path).read_text().split()) == ["0!", "0?", "1!", "1?"]


def test_lines_of_workers_that_print_at_the_same_time_stay_whole(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", "1")  # Python then writes a line and its end one after the other
    measurements = [Measurement(str(i), chatter, {"number": i}, {"number": i}, tmp_path) for i in range(2)]
    assert {end.status for end in do(measurements)} == {"done"}
    lines = log_file(tmp_path).read_text().splitlines()
    assert sorted(lines) == ["0!"] * 500 + ["1!"] * 500


def chatter(folder: Path, number: int) -> dict:
    (folder / f"here-{number}").touch()
    end = time.monotonic() + 60
    while not all((folder / f"here-{i}").exists() for i in range(2)) and time.monotonic() < end:
        time.sleep(0.001)
    for _ in range(500):
        print(f"{number}!")
    return {"accuracy": 0.5}


def test_what_workers_print_does_not_follow_a_planted_link(tmp_path) -> None:
    mine = tmp_path / "mine"
    mine.write_text("mine")
    log_file(tmp_path).symlink_to(mine)
    for ended in do([Measurement(str(i), shout, {"number": i}, {"number": i}, tmp_path) for i in range(2)]):
        assert ended.status == "failed"
        assert "workers.log: what workers print cannot be written there: is a link" in ended.error
    assert mine.read_text() == "mine"


def shout(folder: Path, number: int) -> dict:
    print(f"{number}!", flush=True)
    os.write(2, f"{number}?\n".encode())
    return {"accuracy": 0.5}


def test_what_was_measured_is_kept_and_believed_only_as_it_was_written(tmp_path) -> None:
    def measurement(number: int) -> Measurement:
        return Measurement("one", shout, {"number": number}, {"number": number}, tmp_path)

    assert work(measurement(1)).found == "accuracy 50.0 %"
    written = measurement(1).file.stat().st_mtime_ns
    assert work(measurement(1)).status == "done"
    assert measurement(1).file.stat().st_mtime_ns == written
    assert answers(tmp_path) == [{"accuracy": 0.5}]
    with pytest.raises(ConfigError, match=r"one\.json: was made with other settings.*number was 1 and is now 2"):
        measurement(2).done()
    text = measurement(1).file.read_text()
    measurement(1).file.write_text(text.replace("0.5", "0.9"))
    with pytest.raises(DataError, match=r"one\.json: cannot be believed: it was changed"):
        measurement(1).done()


def test_a_finished_run_whose_files_were_changed_is_not_believed(tmp_path, tiny_protocol, tiny_data) -> None:
    runs = runs_in(tmp_path, tiny_protocol, tiny_data)
    work(runs[0])
    metrics = runs[0].directory.metrics
    metrics.write_bytes(b"".join(metrics.read_bytes().splitlines(keepends=True)[:-1]))
    with pytest.raises(CheckpointError, match=r"metrics\.jsonl: cannot be believed"):
        do(runs)


SWEEP = """
import io, sys
from pathlib import Path
from rich.console import Console
from gemsnn.experiments import Protocol, planned
from gemsnn.experiments.sweep import locally, sweep

protocol = Protocol.model_validate_json(sys.argv[1])
runs = planned(protocol, Path(sys.argv[2]), dict.fromkeys(protocol.seeds, Path(sys.argv[3])))
sweep(runs, locally(2), Console(file=io.StringIO()))
"""


def holders(runs: list[Run]) -> set[int]:
    """The processes that say they work on the runs."""
    found = set()
    for run in runs:
        try:
            found.add(json.loads((run.directory.path / "lock").read_text())["pid"])
        except (OSError, ValueError):
            continue
    return found


def alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def test_workers_end_with_a_killed_parent_and_the_next_sweep_goes_on(
    tmp_path, tiny_protocol, tiny_data, reference
) -> None:
    long = tiny_protocol.model_copy(update={"epochs": 400, "evaluation_points": (1.0,)})
    runs = runs_in(tmp_path / "out", long, tiny_data)
    arguments = [long.model_dump_json(), str(tmp_path / "out"), str(tiny_data)]
    parent = subprocess.Popen([sys.executable, "-c", SWEEP, *arguments])
    while len(workers := holders(runs)) < 2:
        assert parent.poll() is None, "the sweep ended before it could be killed"
        time.sleep(0.01)
    assert parent.pid not in workers
    # One of the two is held still, as if it were slow to notice, until after the next sweep wanted its run.
    slow, *_ = workers
    os.kill(slow, signal.SIGSTOP)
    parent.kill()
    parent.wait()

    def let_it_go() -> None:
        while "held by another process" not in log_file(tmp_path / "out").read_text():
            time.sleep(0.01)
        os.kill(slow, signal.SIGCONT)

    thread = threading.Thread(target=let_it_go)
    thread.start()
    ended = do(runs)
    thread.join()
    assert [end.error for end in ended if end.status != "done"] == []
    for worker in workers:
        while alive(worker):
            time.sleep(0.05)


def test_a_run_that_another_process_finishes_meanwhile_is_done(tmp_path, tiny_protocol, tiny_data, capsys) -> None:
    run = runs_in(tmp_path, tiny_protocol, tiny_data)[0]
    run.directory.path.mkdir(parents=True)
    ended = []
    with locked(run.directory.path):
        thread = threading.Thread(target=lambda: ended.append(work(run)))
        thread.start()
        while "held by another process" not in capsys.readouterr().out:
            time.sleep(0.01)
        other = dataclasses.replace(run, folder=tmp_path / "other")
        other.folder.mkdir()
        work(other)
        shutil.copytree(other.directory.path, run.directory.path, dirs_exist_ok=True)
        before = run.directory.summary.stat().st_mtime_ns
        thread.join()
    assert [end.status for end in ended] == ["done"]
    assert run.directory.summary.stat().st_mtime_ns == before


def test_runs_that_end_are_lines_and_a_terminal_shows_how_much_is_done(tmp_path) -> None:
    works = [Measurement(name, shout, {}, {}, tmp_path, cost) for name, cost in (("[/red]", 1), ("b", 2), ("c", 1))]

    def execute(left):
        assert [run.name for run in left] == ["b", "[/red]", "c"]
        yield Ended("b", "done", found="accuracy 87.5 %")
        yield Ended("[/red]", "failed", "Traceback\n  File ...\nValueError: no \x1b[2J luck")
        yield Ended("c", "interrupted")

    plain, terminal = io.StringIO(), io.StringIO()
    sweep(works, execute, Console(file=plain))
    assert plain.getvalue().splitlines() == [
        "b done, accuracy 87.5 % (1 of 3 done)",
        "[/red] failed: ValueError: no �[2J luck (1 of 3 done)",
    ]
    sweep(works, execute, Console(file=terminal, force_terminal=True, width=100))
    assert "100 %" in terminal.getvalue()


def test_a_wish_to_stop_becomes_a_file_that_is_gone_at_the_end(tmp_path) -> None:
    stop_file(tmp_path).touch()  # left behind by an earlier process that was killed
    told = io.StringIO()

    def execute(left):
        assert not stop_file(tmp_path).exists()
        wished.set()
        while not stop_file(tmp_path).exists():
            time.sleep(0.01)
        yield Ended("one", "interrupted")

    wished = threading.Event()
    sweep([Measurement("one", shout, {}, {}, tmp_path)], execute, Console(file=told), wished.is_set)
    assert not stop_file(tmp_path).exists()
    assert told.getvalue().startswith("stopping: ")


def test_somebody_elses_file_named_stop_is_not_removed(tmp_path) -> None:
    (tmp_path / "stop").write_text("my shopping list")
    with pytest.raises(ConfigError, match=r"stop: .*not ours"):
        do([Measurement("one", shout, {}, {}, tmp_path)])
    assert (tmp_path / "stop").read_text() == "my shopping list"


@pytest.mark.parametrize("content", [{}, {"arguments": 1, "answer": {}}, {"arguments": {}, "answer": []}])
def test_a_sealed_file_that_is_no_measurement_is_not_believed(tmp_path, content) -> None:
    run = Measurement("one", print, {}, {"seed": 1}, tmp_path)
    run.file.parent.mkdir()
    run.file.write_bytes(seal(content))
    with pytest.raises(DataError, match="it is no measurement"):
        run.done()
    run.file.unlink()
    os.mkfifo(run.file)
    with pytest.raises(DataError, match="cannot be read"):
        run.done()

"""Sweeps with real processes, some of them killed."""

import io
import json
import os
import signal
import threading
import time
from pathlib import Path

import pytest
from rich.console import Console

from gemsnn.errors import ConfigError
from gemsnn.experiments import Protocol
from gemsnn.experiments.display import Watch
from gemsnn.experiments.sweep import Run, locally, on_cluster, planned, stop_file, sweep, work


def runs_in(folder: Path, protocol: Protocol, data: Path) -> list[Run]:
    folder.mkdir(exist_ok=True)
    return planned(protocol, folder, dict.fromkeys(protocol.seeds, data))


def do(runs: list[Run], execute=None, stop=lambda: False):
    return sweep(runs, execute or locally(2), Watch(Console(file=io.StringIO()), runs, stop))


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
    names = [run.name for run in runs_in(tmp_path, tiny_protocol, tiny_data)]
    assert names == ["K03-seed0", "K03-seed1", "K01-seed0", "K01-seed1"]


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
        while not any((tmp_path / "progress").glob("*.json")):
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
    with pytest.raises(ConfigError, match=r"K01-seed1.*learning_rate was 0.01 and is now 0.5.*another --out"):
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

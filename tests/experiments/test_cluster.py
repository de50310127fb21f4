"""A sweep on a real Dask cluster: a scheduler and two worker processes on this machine, one of which is killed."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from rich.console import Console

from gemsnn.errors import ConfigError
from gemsnn.experiments import Protocol, Run, planned
from gemsnn.experiments.sweep import on_cluster, sweep, work

pytest.importorskip("distributed", reason="needs the extra gemsnn[cluster]")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")


@contextmanager
def cluster(
    folder: Path, n_workers: int, settings: Path | None = None
) -> Iterator[tuple[str, list[subprocess.Popen], subprocess.Popen]]:
    """The scheduler's address, the worker processes, and the scheduler's own."""
    folder.mkdir()
    file = folder / "scheduler.json"
    env = os.environ if settings is None else {**os.environ, "DASK_CONFIG": str(settings)}

    def start(module: str, *arguments: str) -> subprocess.Popen:
        command = [sys.executable, "-m", f"distributed.cli.{module}", "--scheduler-file", str(file), *arguments]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder, env=env)

    how = ["--protocol", "tcp" if settings is None else "tls", "--dashboard-address", "127.0.0.1:0"]
    scheduler = start("dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", *how)
    workers = []
    try:
        while not file.exists():
            assert scheduler.poll() is None, "the scheduler ended"
            time.sleep(0.05)
        for _ in range(n_workers):
            # No nanny: a killed worker stays dead, as on a node that goes down.
            workers.append(start("dask_worker", "--nthreads", "1", "--no-nanny", "--no-dashboard"))
        yield json.loads(file.read_text())["address"], workers, scheduler
    finally:
        for process in (*workers, scheduler):
            process.kill()
            process.wait()


def timed(run: Run) -> list[dict]:
    """What really happened in a run: one entry per evaluation, with the process that did it."""
    if not run.directory.timing.exists():
        return []
    return [json.loads(line) for line in run.directory.timing.read_text().splitlines()]


def test_a_sweep_survives_a_killed_worker_and_equals_a_local_one(
    tmp_path: Path, tiny_protocol: Protocol, tiny_data: Path
) -> None:
    protocol = tiny_protocol.model_copy(update={"epochs": 30, "seeds": (0, 1, 2)})
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        folder.mkdir()
    local = planned(protocol, here, dict.fromkeys(protocol.seeds, tiny_data))
    assert {work(run).status for run in local} == {"done"}

    runs = planned(protocol, there, dict.fromkeys(protocol.seeds, tiny_data))
    done_before_the_kill: dict[str, int] = {}
    victim_was_at: list[str] = []
    with cluster(tmp_path / "cluster", 2) as (address, workers, _):

        def kill_one_once_something_is_done(watching):
            """Kills the worker that is in the middle of a run, as soon as another run is done."""
            for ended in watching:
                if not victim_was_at and ended.status == "done":
                    done_before_the_kill.update(
                        {run.name: run.directory.summary.stat().st_mtime_ns for run in runs if run.directory.finished}
                    )
                    victim_was_at.append(kill_a_busy_one())
                yield ended

        def kill_a_busy_one() -> str:
            pids = {worker.pid for worker in workers}
            while True:
                for run in runs:
                    past = timed(run)
                    if len(past) == 1 and past[0]["process"] in pids:  # a quarter is done
                        # Held still, and looked at again: on a busy machine it may have finished in between.
                        os.kill(past[0]["process"], signal.SIGSTOP)
                        time.sleep(0.1)
                        if len(timed(run)) == 1:
                            os.kill(past[0]["process"], signal.SIGKILL)
                            return run.name
                        os.kill(past[0]["process"], signal.SIGCONT)
                assert not all(run.directory.finished for run in runs), "all was done before a worker could be killed"
                time.sleep(0.005)

        execute = on_cluster(address)
        console = Console(file=io.StringIO())
        ended = sweep(runs, lambda left: kill_one_once_something_is_done(execute(left)), console)

    assert sorted((end.name, end.status) for end in ended) == sorted((run.name, "done") for run in runs)
    # What was done when the worker died was left alone.
    assert done_before_the_kill
    for run in runs:
        if run.name in done_before_the_kill:
            assert run.directory.summary.stat().st_mtime_ns == done_before_the_kill[run.name]
    # The victim's run went on in the other process, from where it was: no evaluation was made twice.
    (victim,) = (run for run in runs if run.name == victim_was_at[0])
    assert len({entry["process"] for entry in timed(victim)}) == 2
    for run in runs:
        positions = [entry["position"] for entry in timed(run)]
        assert positions == sorted(set(positions))
    # And nothing of it can be seen in the results.
    for one, other in zip(local, runs, strict=True):
        assert one.directory.metrics.read_bytes() == other.directory.metrics.read_bytes()
        for name in ("best", "best_on_test", "final"):
            assert one.directory.model_path(name).read_bytes() == other.directory.model_path(name).read_bytes()


def test_no_connection_is_left_behind(tmp_path: Path, tiny_protocol: Protocol, tiny_data: Path) -> None:
    runs = planned(tiny_protocol, tmp_path, dict.fromkeys(tiny_protocol.seeds, tiny_data))
    said: list[str] = []
    with cluster(tmp_path / "cluster", 1) as (address, _, _):
        ended = sweep(runs, on_cluster(address, said.append), Console(file=io.StringIO()))
    assert {end.status for end in ended} == {"done"}
    assert said
    assert address in said[0]


def test_a_killed_scheduler_is_one_message_and_a_new_one_goes_on(
    tmp_path: Path, tiny_protocol: Protocol, tiny_data: Path
) -> None:
    protocol = tiny_protocol.model_copy(update={"epochs": 30})
    runs = planned(protocol, tmp_path, dict.fromkeys(protocol.seeds, tiny_data))
    with cluster(tmp_path / "one", 1) as (address, _, scheduler):

        def kill_it_once_something_is_done(watching):
            for ended in watching:
                scheduler.kill()
                yield ended

        execute = on_cluster(address)
        with pytest.raises(ConfigError, match=r"the scheduler is gone\. What was learned is saved"):
            sweep(
                runs,
                lambda left: kill_it_once_something_is_done(execute(left)),
                Console(file=io.StringIO()),
            )
    with cluster(tmp_path / "two", 1) as (address, _, _):
        ended = sweep(runs, on_cluster(address), Console(file=io.StringIO()))
    assert {end.status for end in ended} == {"done"}


def test_with_tls_only_who_holds_the_certificate_is_served(
    tmp_path: Path, tiny_protocol: Protocol, tiny_data: Path
) -> None:
    import dask
    import yaml

    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=gemsnn -keyout key.pem -out cert.pem"
    subprocess.run(command.split(), cwd=tmp_path, check=True, capture_output=True)
    both = {"cert": str(tmp_path / "cert.pem"), "key": str(tmp_path / "key.pem")}
    tls = {"ca-file": both["cert"], "scheduler": both, "worker": both, "client": both}
    (tmp_path / "dask.yaml").write_text(yaml.dump({"distributed": {"comm": {"require-encryption": True, "tls": tls}}}))
    mine = {f"distributed.comm.tls.{name}": value for name, value in tls.items()}
    runs = planned(tiny_protocol, tmp_path, dict.fromkeys(tiny_protocol.seeds, tiny_data))

    def do(address: str) -> list:
        return sweep(runs, on_cluster(address), Console(file=io.StringIO()))

    with cluster(tmp_path / "cluster", 1, tmp_path / "dask.yaml") as (address, _, _):
        assert address.startswith("tls://127.0.0.1:")
        with pytest.raises(ConfigError, match="TLS needs a certificate"):
            do(address)
        with pytest.raises(ConfigError, match="no Dask scheduler answers there"):
            do(address.replace("tls", "tcp"))
        with dask.config.set({"distributed.comm.require-encryption": True, **mine}):
            with pytest.raises(ConfigError, match="require encryption; give a tls:// address"):
                do(address.replace("tls", "tcp"))
            assert {end.status for end in do(address)} == {"done"}
    with (
        dask.config.set({**mine, "distributed.comm.tls.ca-file": str(tmp_path / "nowhere.pem")}),
        pytest.raises(ConfigError, match="certificates cannot be read"),
    ):
        next(iter(on_cluster("tls://127.0.0.1:1")([])))


@pytest.mark.parametrize(
    "address", ["", "x", "tcp://", "tcp://:::", "tcp://h:99999", "http://h:80", "inproc://x", "h:1"]
)
def test_an_address_that_is_none_is_told_at_once(address: str) -> None:
    with pytest.raises(ConfigError, match=r"give an address such as tcp://HOST:8786"):
        next(iter(on_cluster(address)([])))

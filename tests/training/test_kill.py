"""kill -9 at random instants: real processes, really killed, must end in the bits of a run that nobody touched."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import toy

import gemsnn
from gemsnn.events import open_prepared
from gemsnn.training import RunDirectory, TrainingConfig, train, write_config

SUPPORT = Path(toy.__file__).parent
CONFIG = toy.config(checkpoint_seconds=0, average_last=0.5, eval_every=100)


class Warm:
    """Trains in child processes of a warm process (see ``warm_trainer.py``)."""

    def __init__(self, data_file: Path) -> None:
        self.data_file = data_file
        command = [sys.executable, str(SUPPORT / "warm_trainer.py"), str(data_file)]
        path = os.pathsep.join(filter(None, [str(SUPPORT), os.environ.get("PYTHONPATH")]))
        environment = {**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        assert self._answer() == "ready"

    def _answer(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def start(self, directory: Path, config: TrainingConfig = CONFIG) -> int:
        """The child's process number."""
        assert self.process.stdin is not None
        request = [str(self.data_file), str(directory), config.model_dump(mode="json")]
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return int(self._answer())

    def status(self) -> int:
        """The wait status of the child, once it has ended; until asked for, its process number is not given away."""
        assert self.process.stdin is not None
        self.process.stdin.write("status\n")
        self.process.stdin.flush()
        return int(self._answer())

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            stream.close()


@pytest.fixture(scope="module")
def warm(data_file):
    trainer = Warm(data_file)
    yield trainer
    trainer.close()


@pytest.fixture(scope="module")
def untouched(tmp_path_factory, data_file):
    directory = tmp_path_factory.mktemp("untouched") / "run"
    with open_prepared(data_file) as data:
        train(CONFIG, data, directory)
    return toy.results(directory)


def test_killed_at_any_instant_and_resumed_a_run_ends_in_the_same_bits(warm, untouched, tmp_path):
    """Goes on until at least 12 processes were killed, two of them in the middle of writing a file."""
    rng = random.Random(0)
    begin = time.monotonic()
    warm.start(tmp_path / "whole")
    assert warm.status() == 0
    mean = (time.monotonic() - begin) / 5  # however busy the machine is
    kills = in_the_middle_of_writing = rounds = 0
    while kills < 12 or in_the_middle_of_writing < 2:
        rounds += 1
        assert rounds < 60, "the kills come too late or too early: nothing is tested"
        directory = tmp_path / f"run-{rounds}"
        ended = False
        while not ended:
            child = warm.start(directory)
            time.sleep(rng.expovariate(1 / mean))
            os.kill(child, signal.SIGKILL)  # still there, if only as a zombie, until its status is asked for
            status = warm.status()
            ended = status == 0
            if not ended:
                assert os.WTERMSIG(status) == signal.SIGKILL
                kills += 1
                in_the_middle_of_writing += bool(list(directory.rglob(".*.partial")))
        assert toy.results(directory) == untouched
        assert not list(directory.rglob("*.partial"))
        assert len(RunDirectory(directory).checkpoints.paths()) == 2


GRAPHS = {"event": {}, "sparse": {"topology": {"kind": "random", "density": 0.4}}}


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("rule", gemsnn.rules.RULES)
def test_batches_killed_with_one_number_of_threads_and_resumed_with_another_end_in_the_same_bits(
    warm, data_file, tmp_path, rule, graph
):
    config = CONFIG.changed(batch_size=4, threads=1, rule={"kind": rule}, **GRAPHS[graph])
    with open_prepared(data_file) as data:
        train(config, data, tmp_path / "untouched")
    run = RunDirectory(tmp_path / "run")
    for position, threads in ((8, 2), (30, 1), (42, 2)):
        child = warm.start(run.path, config.changed(threads=threads))
        while not run.finished and _position(run) < position:
            time.sleep(0.001)
        os.kill(child, signal.SIGKILL)
        warm.status()
    child = warm.start(run.path, config)
    assert warm.status() == 0
    assert toy.results(run.path) == toy.results(tmp_path / "untouched")


def _position(run: RunDirectory) -> int:
    """Of the newest checkpoint, by its name."""
    return max((int(path.name.partition(".")[0]) for path in run.checkpoints.paths()), default=-1)


def test_the_command_line_killed_from_its_very_start_on_is_resumed_as_well(data_file, untouched, tmp_path):
    directory, file = tmp_path / "run", tmp_path / "config.toml"
    file.write_text(write_config(CONFIG))
    command = [Path(sys.executable).with_name("gemsnn"), "train", "--data", data_file, "--out", directory]
    command += ["--config", file, "--resume"]
    for wanted in ("lock", "metrics.jsonl"):  # killed as soon as there is a file of this name
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        while not (directory / wanted).exists() and process.poll() is None:
            time.sleep(0.002)
        process.kill()
        process.wait()
    assert subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode == 0
    assert toy.results(directory) == untouched

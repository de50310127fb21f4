"""`gemsnn reproduce` as a user runs it."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from gemsnn.cli import main
from gemsnn.events import write_prepared

TINY = ["--set", "compartments=[1,3]", "--set", "n_hidden=4", "--set", "realisations=5", "--seeds", "2"]
LONG = [*TINY, "--set", "epochs=150", "--set", "evaluation_points=[0.01,0.5,1.0]"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "tiny.h5"
    rng = np.random.default_rng(0)
    labels = np.tile([0, 1, 2], 20)
    rates = np.full((3, 9), 0.1) + 0.5 * np.repeat(np.eye(3), 3, axis=1)
    spikes = rng.random((60, 12, 9)) < rates[labels][:, None, :]
    write_prepared(path, spikes, labels, split=["train"] * 42 + ["test"] * 18)
    return path


class Here:
    """Runs the command in this process, which spares loading everything anew."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.monkeypatch, self.capsys = monkeypatch, capsys

    def __call__(self, *arguments: object) -> tuple[int, str, str]:
        """Exit code, output and errors."""
        self.monkeypatch.setenv("COLUMNS", "500")
        self.monkeypatch.setattr(sys, "argv", ["gemsnn", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = self.capsys.readouterr()
        code = ended.value.code
        return int(code) if isinstance(code, int) else 0, captured.out, captured.err


@pytest.fixture
def gemsnn(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    return Here(monkeypatch, capsys)


def start(out: Path, data: Path, *arguments: str) -> subprocess.Popen[str]:
    """A reproduction in a process of its own, once it is learning."""
    command = [sys.executable, "-c", "from gemsnn.cli import main; main()", "reproduce", "--out", str(out)]
    process = subprocess.Popen(
        [*command, "--data", str(data), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    while not any(path.stat().st_size for path in out.glob("runs/*/metrics.jsonl")):
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    return process


def test_from_interrupted_to_the_report(tmp_path: Path, data: Path, gemsnn: Here) -> None:
    out = tmp_path / "out"
    process = start(out, data, *LONG, "--workers", "2")

    # A second one in the same directory is refused.
    code, _, errors = gemsnn("reproduce", "--out", out, "--data", data, *LONG)
    assert code == 2
    assert f"process {process.pid}" in errors

    # Ctrl-C saves.
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 130, (output, errors)
    assert "The same command resumes" in output
    assert "Traceback" not in errors
    assert not (out / "stop").exists()
    assert max(int(path.stem) for path in out.glob("runs/*/checkpoints/*.safetensors")) > 0

    # The same command goes on to the end.
    code, output, errors = gemsnn("reproduce", "--out", out, "--data", data, *LONG, "--workers", "1")
    assert code == 0, errors
    assert "accuracy rises with K" in output
    assert f"Report: {out / 'report.html'}" in output
    assert sorted(path.name for path in (out / "runs").iterdir()) == [
        "K01-seed0",
        "K01-seed1",
        "K03-seed0",
        "K03-seed1",
    ]
    results = json.loads((out / "results.json").read_text())
    assert {(r["n_compartments"], r["seed"]) for r in results["runs"]} == {(1, 0), (1, 1), (3, 0), (3, 1)}
    assert len(results["claims"]) == 6
    assert results["about"]["data"]["simulated"] is False
    assert results["about"]["versions"]["gemsnn"]
    assert results["about"]["commands"][0].startswith("gemsnn reproduce --out")
    names = {path.name for path in (out / "figures").iterdir()}
    for name in ("figure-a", "figure-b", "reliability"):
        assert {f"{name}.svg", f"{name}.png"} <= names

    # Each run is one like any other.
    code, output, errors = gemsnn("evaluate", out / "runs/K03-seed0", "--data", data, "--json")
    assert code == 0, errors
    assert json.loads(output)

    # Once more: only the report is written anew.
    before = {path: path.stat().st_mtime_ns for path in (out / "runs").rglob("*")}
    written = (out / "report.html").stat().st_mtime_ns
    code, _, errors = gemsnn("reproduce", "--out", out, "--data", data, *LONG)
    assert code == 0, errors
    assert {path: path.stat().st_mtime_ns for path in (out / "runs").rglob("*")} == before
    assert (out / "report.html").stat().st_mtime_ns > written


def test_a_polite_kill_saves_too(tmp_path: Path, data: Path) -> None:
    process = start(tmp_path / "out", data, *LONG, "--workers", "1")
    process.terminate()
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 143, (output, errors)
    assert "all is saved" in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "epochs=0"], "epochs"),
        (["--set", "nonsense=1"], "nonsense"),
        (["--set", "epochs"], "FIELD=VALUE"),
        (["--set", "compartments=3"], "compartments = 3: must be a list of values"),
        (["--set", "compartments=[]"], "compartments = (): needs different values"),
        (["--set", "compartments=[[1],{}]"], "compartments.0"),
        (["--data", "/nowhere/there.h5"], "/nowhere/there.h5"),
    ],
)
def test_what_users_get_wrong_is_one_message(
    tmp_path: Path, data: Path, gemsnn: Here, arguments: list[str], message: str
) -> None:
    given = [] if "--data" in arguments else ["--data", data]
    code, _, errors = gemsnn("reproduce", "--out", tmp_path / "out", *given, *TINY, *arguments)
    assert code == 2
    assert message in errors
    assert errors.count("\n") == 1
    assert "Traceback" not in errors


def test_a_failed_run_is_named_and_the_report_is_written_without_it(tmp_path: Path, data: Path, gemsnn: Here) -> None:
    out = tmp_path / "out"
    broken = out / "runs" / "K01-seed1"
    broken.mkdir(parents=True)
    (broken / "config.toml").write_text("")
    short = ["--set", "epochs=2", "--set", "evaluation_points=[1.0]", "--workers", "1"]
    code, output, errors = gemsnn("reproduce", "--out", out, "--data", data, *TINY, *short)
    assert code == 1
    assert "K01-seed1 failed" in errors
    assert "Report:" in output
    page = (out / "report.html").read_text()
    assert "1 of the runs failed" in page
    assert "nothing to resume from" in page


SHORT = [*TINY, "--set", "epochs=2", "--set", "evaluation_points=[1.0]", "--workers", "1"]


def one_message(code: int, errors: str) -> str:
    assert code == 2
    assert "Traceback" not in errors
    assert errors.count("\n") == 1, errors
    return errors


def test_a_folder_that_holds_something_else_is_refused_and_left_alone(tmp_path: Path, data: Path, gemsnn: Here) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    (tmp_path / "data").mkdir()
    code, _, errors = gemsnn("reproduce", "--out", tmp_path, "--data", data, *SHORT)
    assert "holds something else already (thesis.tex); choose a new or empty folder" in one_message(code, errors)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "thesis.tex"]


def test_a_training_run_is_no_folder_for_a_reproduction(tmp_path: Path, data: Path, gemsnn: Here) -> None:
    assert (
        gemsnn("train", "--data", data, "--out", tmp_path / "run", "--set", "epochs=1", "--set", "n_hidden=2")[0] == 0
    )
    code, _, errors = gemsnn("reproduce", "--out", tmp_path / "run", "--data", data, *SHORT)
    assert "holds something else already" in one_message(code, errors)


@pytest.mark.parametrize("name", ["stop", "results.json", "workers.log"])
def test_a_folder_where_a_file_is_kept_is_one_message(tmp_path: Path, data: Path, gemsnn: Here, name: str) -> None:
    out = tmp_path / "out"
    (out / name).mkdir(parents=True)
    code, _, errors = gemsnn("reproduce", "--out", out, "--data", data, *SHORT)
    assert f"{out / name}: is a folder where a file of this name is kept; move it away" in one_message(code, errors)


@pytest.mark.parametrize("name", ["runs", "measured", "figures"])
def test_a_file_where_a_folder_is_kept_is_one_message(tmp_path: Path, data: Path, gemsnn: Here, name: str) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / name).write_text("mine")
    code, _, errors = gemsnn("reproduce", "--out", out, "--data", data, *SHORT)
    assert f"{out / name}: is a file where a folder of this name is kept; move it away" in one_message(code, errors)
    assert (out / name).read_text() == "mine"


def test_when_every_run_fails_it_is_said_once_why(tmp_path: Path, data: Path, gemsnn: Here) -> None:
    out = tmp_path / "out"
    names = ("K01-seed0", "K01-seed1", "K03-seed0", "K03-seed1")
    for name in names:
        (out / "runs" / name).mkdir(parents=True)
        (out / "runs" / name / "config.toml").write_text("")
    code, _, errors = gemsnn("reproduce", "--out", out, "--data", data, *SHORT)
    assert code == 2
    assert "Traceback" not in errors
    for name in names:
        assert errors.count(f"{name} failed: ") == 1
    assert "too few runs are done to conclude anything: no run is" in errors
    assert not (out / "report.html").exists()


def test_a_changed_result_of_a_run_is_not_reported(tmp_path: Path, data: Path, gemsnn: Here) -> None:
    out = tmp_path / "out"
    assert gemsnn("reproduce", "--out", out, "--data", data, *SHORT)[0] == 0
    results = (out / "results.json").read_text()

    # results.json, for the report alone
    for changed in (
        results.replace('"accuracy": 0.', '"accuracy": 1.', 1),
        results[: len(results) // 2],
        "",
        "[]",
        "{}",
    ):
        (out / "results.json").write_text(changed)
        code, _, errors = gemsnn("reproduce", "--out", out, "--report-only")
        assert "results.json: not the results of gemsnn reproduce, or damaged" in one_message(code, errors)
    # A damaged one does not stand in the way of what is known from the runs.
    code, _, errors = gemsnn("reproduce", "--out", out, "--data", data, *SHORT)
    assert code == 0, errors
    assert json.loads((out / "results.json").read_text())["runs"] == json.loads(results)["runs"]

    summary = out / "runs" / "K01-seed0" / "summary.json"
    whole = summary.read_text()
    summary.write_text(whole.replace('"to_neurons": ', '"to_neurons": 1', 1))
    code, _, errors = gemsnn("reproduce", "--out", out, "--data", data, *SHORT)
    assert "K01-seed0/summary.json: cannot be believed" in one_message(code, errors)
    summary.write_text(whole)
    metrics = out / "runs" / "K01-seed0" / "metrics.jsonl"
    metrics.write_text(metrics.read_text().replace("0.", "1.", 1))
    code, _, errors = gemsnn("reproduce", "--out", out, "--data", data, *SHORT)
    assert "K01-seed0/metrics.jsonl: cannot be believed" in one_message(code, errors)


def test_killed_outright_with_several_workers_it_goes_on_at_once(tmp_path: Path, data: Path, gemsnn: Here) -> None:
    out = tmp_path / "out"
    for _ in range(2):
        process = start(out, data, *LONG, "--workers", "2")
        process.kill()
        process.communicate()
    code, output, errors = gemsnn("reproduce", "--out", out, "--data", data, *LONG, "--workers", "2")
    assert code == 0, errors
    assert "failed" not in output
    assert len(json.loads((out / "results.json").read_text())["runs"]) == 4

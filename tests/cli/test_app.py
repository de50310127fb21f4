"""The `gemsnn` command as a whole: version, help, and what a mistake looks like."""

import runpy
import subprocess
import sys

import pytest

import gemsnn


def run(*arguments):
    command = [sys.executable, "-c", "from gemsnn.cli import main; main()", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def test_the_version_is_that_of_the_package():
    done = run("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"gemsnn {gemsnn.__version__}\n", "")


def test_the_package_is_a_command_too(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["gemsnn", "--version"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("gemsnn", run_name="__main__")  # what `python -m gemsnn --version` does
    assert not ended.value.code
    assert capsys.readouterr().out == f"gemsnn {gemsnn.__version__}\n"


def test_without_a_command_the_help_says_where_to_begin():
    assert "See it at work: gemsnn demo" in run().stdout


@pytest.mark.parametrize("arguments", [["trian"], ["train", "--comparments", "5"], ["data", "show"]])
def test_a_mistyped_command_is_an_error_without_a_traceback(arguments):
    done = run(*arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stderr.strip()


def test_an_error_of_ours_is_one_line_that_names_the_file(tmp_path):
    done = run("data", "info", str(tmp_path / "absent.h5"))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert "absent.h5" in done.stderr
    assert len(done.stderr.splitlines()) == 1

"""The help teaches: every command and option is explained, and the examples run as they are printed."""

import re
import shlex
from itertools import pairwise
from pathlib import Path

import pytest
import typer

from gemsnn.cli.app import app
from gemsnn.cli.commands import describe

ROOT = Path(__file__).parents[2]
# Added to an example to keep it small; a later value takes the place of an earlier one.
SMALLER = {
    "data simulate": ["--per-class", "4", "2", "--aedat", "path/to/mnist-dvs"],
    "train": ["--hidden", "5", "--epochs", "1"],
    "calibrate": ["--alpha", "0.5", "--checkpoints", "1"],
    "evaluate": ["--samples", "2"],
}
ORDER = ["data simulate", "data info", "data show", "data import", "train", "calibrate", "evaluate"]
ORDER += ["runs", "export", "watch", "predict", "stream"]


def walk(group, words=()):
    describe(group)
    yield " ".join(words), group
    for name, command in getattr(group, "commands", {}).items():
        yield from walk(command, (*words, name))


COMMANDS = dict(walk(typer.main.get_command(app)))


@pytest.mark.parametrize("words", COMMANDS)
def test_a_command_and_each_of_its_options_is_explained(words):
    assert COMMANDS[words].help
    for parameter in COMMANDS[words].params:
        assert parameter.help, parameter.name
        assert parameter.help.endswith("."), parameter.help


@pytest.mark.parametrize("words", COMMANDS)
def test_lines_of_a_help_are_as_long_as_the_terminal_allows(gemsnn, words, monkeypatch):
    """No line ends early in the middle of a sentence, and no switch is shown with a type."""
    monkeypatch.setenv("COLUMNS", "80")
    code, out, err = gemsnn(*words.split(), "--help")
    assert code == 0, err
    text = out.partition("╭")[0].partition("Usage")[2].splitlines()[1:]
    for line, following in pairwise(text):
        if line.strip() and following.strip():
            assert len(line.rstrip()) + 1 + len(following.split()[0]) > 79, line
    assert "<bool>" not in out
    assert "…" not in out, "cut"


def test_a_switch_with_a_value_is_told_that_it_takes_none(gemsnn, tmp_path):
    code, _, err = gemsnn("train", "--resume", "true", "--out", tmp_path / "run")
    assert code == 2
    assert "--resume takes no value" in err


def example(words):
    (line,) = re.findall(r"Example: gemsnn (.+)", COMMANDS[words].help)
    return line


def test_the_examples_of_the_help_run_one_after_the_other(gemsnn, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for words in ORDER:
        arguments = shlex.split(example(words)) + SMALLER.get(words, [])
        if words == "predict":
            recordings = tmp_path.glob("path/to/mnist-dvs/**/*.aedat")
            (tmp_path / "recordings").mkdir()
            for path in recordings:
                path.rename(tmp_path / "recordings" / path.name)
            at = arguments.index("recordings/*.aedat")
            arguments[at : at + 1] = sorted(map(str, tmp_path.glob("recordings/*.aedat")))  # as a shell does
        if words == "stream":
            next(tmp_path.glob("recordings/*.aedat")).rename(tmp_path / "recordings/recording.aedat")
        code, out, err = gemsnn(*arguments)
        assert code == 0, (words, out, err)
        assert out


def test_the_example_of_the_demonstration_is_what_make_demo_runs():
    assert f"gemsnn {example('demo')}\n" in (ROOT / "Makefile").read_text()
    rest = {"demo", "reproduce"}  # which take minutes
    assert {words for words, command in COMMANDS.items() if not hasattr(command, "commands")} == {*ORDER, *rest}

"""A start is quick: what takes long to import is imported when something needs it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer

import gemsnn
from gemsnn.cli.app import app
from gemsnn.cli.commands import describe
from gemsnn.rules import RULES
from gemsnn.training import PRESETS, TrainingConfig
from gemsnn.training.config import rule_table
from gemsnn.training.schedule import EXAMPLES_SHOWN

SLOW = {"numba", "scipy", "pydantic", "sklearn", "matplotlib", "h5py"}
TYPERS_OWN = {"pydantic"}  # some versions of typer use it to read the options of a command
RUN = "import sys; from gemsnn.cli import main; sys.argv[0] = 'gemsnn'; main()"


def imported(code, *arguments, **environment):
    """The packages that a process had imported at its end, and what it printed."""
    say = "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr))\n"
    command = [sys.executable, "-c", say + code, *arguments]
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, timeout=300)
    return {name.split(".")[0] for name in done.stderr.split()}, done.stdout


def completed(line):
    words = line.split(" ")
    return imported(RUN, _GEMSNN_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=str(len(words) - 1))


def test_the_package_is_there_before_what_it_is_built_on():
    assert not imported("import gemsnn")[0] & (SLOW | {"numpy", "rich"})


def commands(group, words=()):
    yield words
    for name, command in getattr(group, "commands", {}).items():
        yield from commands(command, (*words, name))


DESCRIBED = {("train",), ("data", "import"), ("data", "simulate")}  # by the settings that their options stand for


@pytest.mark.parametrize("words", sorted(set(commands(typer.main.get_command(app))) - DESCRIBED), ids=" ".join)
def test_help_needs_nothing_that_is_slow(words):
    packages, text = imported(RUN, *words, "--help")
    assert "Usage" in text
    ours = SLOW | {"numpy"}
    assert not packages & (ours - TYPERS_OWN if words else ours)


def test_the_version_needs_nothing_that_is_slow():
    packages, text = imported(RUN, "--version")
    assert text.startswith("gemsnn ")
    assert not packages & (SLOW | {"numpy", "rich"})


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("gemsnn tr", ["train"]),
        ("gemsnn evaluate run --split ", ["test", "train"]),
    ],
)
def test_completion_needs_nothing_that_is_slow(line, words):
    packages, text = completed(line)
    assert text.split() == words
    assert not packages & (SLOW - TYPERS_OWN)


def test_the_help_of_train_names_every_rule_and_preset():
    command = typer.main.get_command(app).commands["train"]
    helps = {parameter.name: parameter.help for parameter in command.params}
    assert all(name in helps["rule"] for name in RULES)
    assert all(name in helps["preset"] for name in PRESETS)


# ---- public names that are loaded when they are used


def test_all_public_names_are_listed_before_any_is_used():
    code = "import gemsnn; print(*(set(gemsnn.__all__) - set(dir(gemsnn))))"
    packages, text = imported(code)
    assert not text.split()
    assert not packages & SLOW


@pytest.mark.parametrize("name", gemsnn.__all__)
def test_every_public_name_can_be_imported_by_itself(name):
    scope = {}
    exec(f"from gemsnn import {name}", scope)
    assert scope[name] is getattr(gemsnn, name)


def test_type_checkers_see_the_names_that_are_loaded_later():
    text = Path(gemsnn.__file__).read_text()
    static = text.partition("if TYPE_CHECKING:")[2].partition("__all__")[0]
    named = {name.strip() for line in static.splitlines() for name in line.partition(" import ")[2].split(",")}
    assert named - {""} == {*gemsnn._ROOMS, *gemsnn._HOME_OF}


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'Networks'"):
        _ = gemsnn.Networks
    with pytest.raises(ImportError):
        exec("from gemsnn import Networks")


def test_help_says_the_defaults_of_the_settings():
    command, default = typer.main.get_command(app).commands["train"], TrainingConfig()
    describe(command)
    shown = {p.name: p.help for p in command.params}
    for name in ("n_hidden", "n_compartments", "decoder", "seed", "batch_size"):
        assert shown[name].endswith(f"Default: {getattr(default, name)}.")
    assert shown["rule"].endswith(f"Default: {rule_table(default.rule)['kind']}.")
    assert f"{EXAMPLES_SHOWN} / sqrt" in shown["epochs"]
    assert shown["patience"] == TrainingConfig.model_fields["patience"].description
    assert default.rule.learning_rate is None
    assert "0.001 for the other rules" in shown["rule__learning_rate"]
    assert {rule().learning_rate for rule in RULES.values()} == {None, 0.001}

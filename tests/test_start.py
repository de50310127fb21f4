"""A start is quick: what takes long to import is imported when something needs it."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
import typer

import gemsnn
from gemsnn.cli import settings
from gemsnn.cli.app import app
from gemsnn.cli.train import decoder_names
from gemsnn.inference import DECODERS
from gemsnn.model.network import READOUTS
from gemsnn.rules import RULES
from gemsnn.training import PRESETS, TrainingConfig
from gemsnn.training.config import EXAMPLES_SHOWN, rule_table

SLOW = {"numba", "scipy", "pydantic", "sklearn", "matplotlib", "h5py"}
TYPERS_OWN = {"pydantic"}  # some versions of typer use it to read the options of a command
RUN = "import sys; from gemsnn.cli import main; sys.argv[0] = 'gemsnn'; main()"


def imported(code, *arguments, **environment):
    """The packages that a process had imported at its end, and what it printed."""
    say = "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr))\n"
    command = [sys.executable, "-c", say + code, *arguments]
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, timeout=120)
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


@pytest.mark.parametrize("words", list(commands(typer.main.get_command(app))), ids=" ".join)
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
        ("gemsnn data import ", ["mnist-dvs", "n-mnist", "folder", "tonic"]),
        ("gemsnn train --preset ", list(PRESETS)),
        ("gemsnn train --rule ", list(RULES)),
        ("gemsnn evaluate run --split ", ["test", "train"]),
    ],
)
def test_completion_knows_all_names_and_needs_nothing_that_is_slow(line, words):
    packages, text = completed(line)
    assert text.split() == words
    assert not packages & (SLOW - TYPERS_OWN - {"scipy"})  # the list of rules touches SciPy, but none of its parts


def test_the_help_of_train_names_every_rule_and_preset():
    command = typer.main.get_command(app).commands["train"]
    helps = {parameter.name: parameter.help for parameter in command.params}
    assert all(name in helps["rule"] for name in RULES)
    assert all(name in helps["preset"] for name in PRESETS)


def test_decoders_have_the_same_names_on_the_command_line():
    assert decoder_names() == list(DECODERS)


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


# ---- completing settings


def completed_in_bash(*words):
    """What Bash gets when it takes each `=` for a word, as it does."""
    packages, text = imported(
        RUN, _GEMSNN_COMPLETE="complete_bash", COMP_WORDS=" ".join(words), COMP_CWORD=str(len(words) - 1)
    )
    assert not packages & {"pydantic", "sklearn", "matplotlib", "h5py"} - TYPERS_OWN
    return text.split()


def test_set_completes_names_and_values():
    assert completed("gemsnn train --set rule.k")[1].split() == ["rule.kind=", "rule.kappa="]
    assert completed("gemsnn train --set rule.kind=f")[1].split() == ["rule.kind=feedback"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("gemsnn", "train", "--set", "rule.kind", "=", ""), list(RULES)),
        (("gemsnn", "train", "--set", "rule.kind", "="), list(RULES)),
        (("gemsnn", "train", "--set", "rule.kind", "=", "g"), ["gem"]),
        (("gemsnn", "train", "--set", "seed=3", "--set", "dtype", "=", "float6"), ["float64"]),
        (("gemsnn", "train", "--set", "visible_memory", "=", ""), ["true", "false"]),
        (("gemsnn", "train", "--set", "learning_rate_sch"), ["learning_rate_schedule="]),
        (("gemsnn", "train", "--set", "epochs", "=", ""), []),
    ],
)
def test_values_complete_where_a_shell_takes_the_sign_for_a_word(words, expected):
    assert completed_in_bash(*words) == expected


def test_completion_knows_every_setting_and_all_its_values():
    top = {name.partition(".")[0] for name in settings.fields()}
    assert top == set(TrainingConfig.model_fields)
    assert settings.values("readout") == list(READOUTS)
    assert settings.values("decoder") == list(DECODERS)
    for name, field in TrainingConfig.model_fields.items():
        finite = [str(value) for value in get_args(field.annotation) if isinstance(value, str)]
        if field.annotation is bool:
            finite = ["true", "false"]
        if finite:
            assert settings.values(name) == finite, name


def test_help_says_the_defaults_of_the_settings():
    shown = {p.name: p.show_default for p in typer.main.get_command(app).commands["train"].params}
    default = TrainingConfig()
    for name, value in {
        "hidden": default.n_hidden,
        "compartments": default.n_compartments,
        "rule": rule_table(default.rule)["kind"],
        "learning_rate": default.rule.learning_rate,
        "decoder": default.decoder,
        "epochs": EXAMPLES_SHOWN,  # over the square root of how many there are
        "seed": default.seed,
        "threads": default.threads,
    }.items():
        assert re.match(rf"{value}\b", shown[name]), f"cli/train.py says {shown[name]!r} of {name}, which is {value}"
    assert {rule().learning_rate for rule in RULES.values()} == {default.rule.learning_rate, 0.001}
    assert default.eval_every is default.patience is default.inference_compartments is None


@pytest.mark.parametrize("word", ["--gpu", "--device=cuda", "--cuda"])
def test_who_asks_for_a_graphics_processor_is_told_that_there_is_none(word):
    done = subprocess.run([sys.executable, "-c", RUN, "train", word], capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert f"error: {word}: gemsnn runs on the CPU" in done.stderr
    assert "--threads" in done.stderr

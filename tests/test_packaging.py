"""What is shipped is whole: a wheel, built and installed in an environment of its own, works without the repository."""

import os
import pty
import select
import shlex
import shutil
import subprocess
import sys
import tarfile
import time
import tomllib
import zipfile
from pathlib import Path

import pytest

import gemsnn

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

TRAIN_AND_PREDICT = """
import numpy as np, gemsnn
assert not gemsnn.__file__.startswith({root!r}), gemsnn.__file__
rng = np.random.default_rng(0)
y = np.array([0, 1] * 20)
X = rng.random((40, 20, 8)) < np.where(y == 0, 0.05, 0.5)[:, None, None]
classifier = gemsnn.GEMClassifier(n_hidden=5, rule={{"learning_rate": 1e-2}}, schedule={{"epochs": 2}})
classifier.fit(X[:30], y[:30])
print(classifier.predict_proba(X[30:]).shape)
"""


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, **options)
    assert done.returncode == 0, f"{command}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=ROOT)
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """The folder of the commands of a clean environment, which sees our dependencies but not the repository."""
    environment = tmp_path_factory.mktemp("clean")
    run(sys.executable, "-m", "venv", "--without-pip", environment)
    (packages,) = environment.glob("lib/python*/site-packages")
    pip = [sys.executable, "-m", "pip", "--python", environment / "bin" / "python", "--disable-pip-version-check"]
    run(*pip, "install", "--no-deps", "--no-index", wheel)
    # A .pth file in the folder of our dependencies is not followed, so an editable gemsnn there stays out of sight.
    (packages / "dependencies.pth").write_text(str(Path(pytest.__file__).parents[1]) + "\n")
    return environment / "bin"


def clean(tmp_path):
    """Where and how a command runs: in an empty folder, without paths from outside."""
    return {"cwd": tmp_path, "env": {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}}


def test_the_wheel_holds_the_package_its_types_and_its_licence_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert "gemsnn/py.typed" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert "gemsnn/events/digits.npz" in names
    assert any(name.endswith("licenses/src/gemsnn/events/digits.txt") for name in names)  # its licence is not ours
    assert {name.split("/")[0] for name in names} == {"gemsnn", f"gemsnn-{gemsnn.__version__}.dist-info"}
    shipped = {name.removeprefix("gemsnn/") for name in names if name.endswith(".py")}
    assert shipped == {str(path.relative_to(ROOT / "src/gemsnn")) for path in (ROOT / "src/gemsnn").rglob("*.py")}
    assert {name for name in names if name.startswith("gemsnn/export/c/")} == {
        f"gemsnn/export/c/{name}" for name in ("gemsnn.c", "gemsnn.h", "main.c")
    }


def test_the_command_of_the_installed_wheel_knows_its_version_and_its_commands(installed, tmp_path):
    assert run(installed / "gemsnn", "--version", **clean(tmp_path)) == f"gemsnn {gemsnn.__version__}\n"
    text = run(installed / "gemsnn", "--help", **clean(tmp_path))
    for command in ("data", "train", "evaluate", "predict", "reproduce"):
        assert command in text


def test_the_installed_wheel_trains_and_predicts(installed, tmp_path):
    code = TRAIN_AND_PREDICT.format(root=str(ROOT))
    assert run(installed / "python", "-W", "error", "-c", code, **clean(tmp_path)) == "(10, 2)\n"


def test_the_extras_are_those_that_the_documentation_names():
    assert set(PROJECT["optional-dependencies"]) == {
        "cluster",
        "graphs",
        "gymnasium",
        "nir",
        "tonic",
        "faery",
        "mapie",
        "tensorboard",
        "bench",
        "dev",
        "docs",
    }


def test_the_citation_names_the_version_and_the_paper():
    text = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {gemsnn.__version__}\n" in text
    assert "Multi-Sample Online Learning for Spiking Neural Networks" in text


# ---- the source archive


def test_the_source_archive_holds_all_that_its_tests_and_pages_need(tmp_path):
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout, so there is no list of files to compare with")
    tracked = run(git, "ls-files", cwd=ROOT).splitlines()
    run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", tmp_path, cwd=ROOT)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as files:
        held = {name.partition("/")[2] for name in files.getnames()}
    assert {name for name in tracked if not name.startswith(".") and (ROOT / name).exists()} <= held


# ---- completion, as typed


class Terminal:
    """A bash that believes a person is typing, with a home of its own and the installed command in its path."""

    def __init__(self, installed, home):
        environment = {**clean(home)["env"], "HOME": str(home), "TERM": "dumb", "INPUTRC": "/dev/null", "HISTFILE": ""}
        environment["PATH"] = f"{installed}{os.pathsep}{environment['PATH']}"
        self.keyboard, theirs = pty.openpty()
        bash = ["bash", "--noprofile", "--rcfile", str(home / ".bashrc"), "-i"]
        where = {"stdin": theirs, "stdout": theirs, "stderr": theirs, "cwd": home, "env": environment}
        self.bash = subprocess.Popen(bash, start_new_session=True, **where)
        os.close(theirs)

    def type(self, keys, until):
        """What the screen shows, up to ``until``."""
        os.write(self.keyboard, keys.encode())
        shown, give_up = "", time.monotonic() + 120
        while until not in shown:
            ready, _, _ = select.select([self.keyboard], [], [], give_up - time.monotonic())
            assert ready, f"{keys!r} gave only {shown!r}"
            shown += os.read(self.keyboard, 4096).decode()
        return shown

    def close(self):
        self.bash.kill()
        self.bash.wait()
        os.close(self.keyboard)


@pytest.fixture(scope="module")
def terminal(installed, tmp_path_factory):
    """After `gemsnn --install-completion`, which writes into the home folder."""
    if shutil.which("bash") is None:
        pytest.skip("there is no bash to complete in")
    home = tmp_path_factory.mktemp("home")
    environment = {**clean(home)["env"], "HOME": str(home)}
    run("bash", "-c", f"{shlex.quote(str(installed / 'gemsnn'))} --install-completion; true", cwd=home, env=environment)
    with (home / ".bashrc").open("a") as rc:
        rc.write("\nbind 'set enable-bracketed-paste off'\nPS1='ready> '\n")
    terminal = Terminal(installed, home)
    terminal.type("", until="ready> ")
    yield terminal
    terminal.close()


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("tr", "train "),
        ("data sim", "data simulate "),
        ("train --com", "train --compartments "),
        ("evaluate runs/first --model fi", "evaluate runs/first --model final "),
        ("evaluate runs/first --split te", "evaluate runs/first --split test "),
    ],
)
def test_the_tab_key_completes_commands_options_and_their_values(terminal, typed, completed):
    try:
        terminal.type(f"gemsnn {typed}\t", until=f"gemsnn {completed}")
    finally:
        terminal.type("\x15echo next''line\n", until="nextline\r\nready> ")  # forget the line: nothing is run

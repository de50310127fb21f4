"""What is shipped is whole: a wheel, built and installed in an environment of its own, works without the repository."""

import os
import subprocess
import sys
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
classifier = gemsnn.GEMClassifier(n_hidden=5, learning_rate=1e-2, epochs=2).fit(X[:30], y[:30])
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
    assert {name.split("/")[0] for name in names} == {"gemsnn", f"gemsnn-{gemsnn.__version__}.dist-info"}
    shipped = {name.removeprefix("gemsnn/") for name in names if name.endswith(".py")}
    assert shipped == {str(path.relative_to(ROOT / "src/gemsnn")) for path in (ROOT / "src/gemsnn").rglob("*.py")}


def test_the_command_of_the_installed_wheel_knows_its_version_and_its_commands(installed, tmp_path):
    assert run(installed / "gemsnn", "--version", **clean(tmp_path)) == f"gemsnn {gemsnn.__version__}\n"
    text = run(installed / "gemsnn", "--help", **clean(tmp_path))
    for command in ("data", "train", "evaluate", "predict", "reproduce"):
        assert command in text


def test_the_installed_wheel_trains_and_predicts(installed, tmp_path):
    code = TRAIN_AND_PREDICT.format(root=str(ROOT))
    assert run(installed / "python", "-W", "error", "-c", code, **clean(tmp_path)) == "(10, 2)\n"


def test_the_extras_are_those_that_the_documentation_names():
    assert set(PROJECT["optional-dependencies"]) == {"cluster", "tonic", "tensorboard", "bench", "dev", "docs"}


def test_the_citation_names_the_version_and_the_paper():
    text = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {gemsnn.__version__}\n" in text
    assert "Multi-Sample Online Learning for Spiking Neural Networks" in text


def test_the_shell_completes_commands_and_options(installed, tmp_path):
    def completions(words):
        asked = {"_GEMSNN_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
        return run(installed / "gemsnn", cwd=tmp_path, env={**os.environ, **asked}).split()

    assert completions("gemsnn tr") == ["train"]
    assert completions("gemsnn data sim") == ["simulate"]
    assert "--compartments" in completions("gemsnn train --com")

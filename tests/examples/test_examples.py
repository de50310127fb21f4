"""Each example runs as a user would run it, and draws something."""

import subprocess
import sys
from pathlib import Path

import matplotlib.image
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
SHORTER = {"cartpole": ("--actions", "300")}
RUN = """
import runpy, sys
from gemsnn.training import schedule
schedule.EXAMPLES_SHOWN, schedule.FEWEST_EPOCHS = 1, 2  # where epochs are not given
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py"))


def test_every_subject_has_its_example():
    assert NAMES == [
        "cartpole",
        "classify_with_uncertainty",
        "complete_recordings",
        "cross_validation",
        "custom_recurrent_graph",
        "encode_signals",
        "generate_a_pattern",
        "go_on_from_a_model",
        "learn_from_a_stream",
        "learn_from_pictures",
    ]


@pytest.mark.parametrize("name", NAMES)
def test_an_example_runs_and_draws(name, tmp_path):
    script = EXAMPLES / f"{name}.py"
    command = [sys.executable, "-W", "error", "-c", RUN, script, "--out", "drawn.png", *SHORTER.get(name, ())]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("wrote drawn.png\n")
    picture = matplotlib.image.imread(tmp_path / "drawn.png")[..., :3]
    share_drawn = (picture != picture[0, 0]).any(axis=-1).mean()
    assert 0.02 < share_drawn < 0.95
    assert [path.name for path in tmp_path.iterdir()] == ["drawn.png"]


@pytest.mark.parametrize("name", NAMES)
def test_an_example_says_how_to_run_it(name):
    text = (EXAMPLES / f"{name}.py").read_text()
    assert f"python examples/{name}.py --out {name}.png" in text
    assert len(text.splitlines()) <= 130

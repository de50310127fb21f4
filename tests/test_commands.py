"""Every command that the documentation prints is a command: it is understood, and runs as it stands."""

import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
import tomllib
from functools import cache
from glob import glob
from pathlib import Path

import numpy as np
import pytest
import typer
from PIL import Image

from gemsnn.cli import main
from gemsnn.cli.app import app
from gemsnn.events import simulate_prepared
from gemsnn.events.nmnist import encode_nmnist
from gemsnn.events.records import make_events
from gemsnn.events.simulated import write_recordings
from gemsnn.training import schedule

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
PROGRAMS = ("gemsnn", "python", "make", "pip")
COMMAND = typer.main.get_command(app)
OPTIONS = ("--import",)  # of gemsnn itself, before the name of a command, each with a value


def helps(group=COMMAND):
    for command in group.commands.values():
        if hasattr(command, "commands"):
            yield from helps(command)
        else:
            yield command.help


def in_blocks():
    """The lines of blocks that a reader would copy; those with a prompt run with their page."""
    for page in PAGES:
        for block in re.finditer(r"^```(?:sh|bash|text)\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL):
            yield from (re.split(r"\s{2,}#", line)[0].strip() for line in block[1].splitlines())
    for text in helps():
        yield from re.findall(r"^ *Example: (.+)$", text, re.MULTILINE)


def in_sentences():
    tour = json.loads((ROOT / "examples" / "tour.ipynb").read_text())
    texts = [page.read_text() for page in PAGES]
    texts += ["".join(cell["source"]) for cell in tour["cells"] if cell["cell_type"] == "markdown"]
    for text in texts:
        for found in re.findall(rf"(?<!`)`((?:{'|'.join(PROGRAMS)}) [^`]+)`", text):
            yield " ".join(found.split())


BLOCKS = list(dict.fromkeys(line for line in in_blocks() if line.split(" ")[0] in (*PROGRAMS, "camera-program")))
PRINTED = list(dict.fromkeys([*BLOCKS, *in_sentences()]))


def printed_for(program):
    return [line for line in PRINTED if line.startswith(f"{program} ")]


@pytest.mark.parametrize("line", printed_for("gemsnn"))
def test_a_command_of_ours_has_these_options(line):
    words = [word for word in shlex.split(line)[1:] if word != "..."]
    command, names = COMMAND, []
    while words and words[0] in OPTIONS:
        del words[:2]
    while hasattr(command, "commands") and words and words[0] in command.commands:
        names.append(words.pop(0))
        command = command.commands[names[-1]]
    assert names or words[0] in ("COMMAND", "--help", "--install-completion"), line
    known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    assert {word.split("=")[0] for word in words if word.startswith("--")} <= known | {"--help", "--install-completion"}
    given = {word for word in words if not word.startswith("-")}
    if "--help" not in words and given and "{" not in line and names and names[-1] != "import":
        command.make_context(names[-1], list(words), resilient_parsing=True)


@cache
def help_of(script):
    command = [sys.executable, str(ROOT / script), "--help"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=True).stdout


@pytest.mark.parametrize("line", printed_for("python"))
def test_a_script_is_there_and_has_these_options(line):
    words = shlex.split(line)[1:]
    if words[0] == "-m":
        assert words[1] == "gemsnn"
        return
    assert (ROOT / words[0]).is_file()
    options = [word for word in words[1:] if word.startswith("-")]
    if options and "torch" not in (ROOT / words[0]).read_text():  # an extra that need not be installed
        assert all(f"{option} " in help_of(words[0]) or f"{option}\n" in help_of(words[0]) for option in options)


@pytest.mark.parametrize("line", printed_for("make"))
def test_a_target_is_in_the_makefile(line):
    text = (ROOT / "Makefile").read_text()
    for word in shlex.split(line, comments=True)[1:]:
        name, is_variable, _ = word.partition("=")
        assert re.search(rf"^{name} \?=|\$\({name}\)" if is_variable else rf"^{name}:", text, re.MULTILINE), word


@pytest.mark.parametrize("line", printed_for("pip"))
def test_an_extra_can_be_installed(line):
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(re.findall(r"gemsnn\[(\w+)\]", line)) <= extras.keys()


# ---- commands in blocks and in helps run

NOT_RUN = {
    "tonic:": "downloads the data set",
    "--scheduler": "needs a cluster; tests/experiments/test_cluster.py has one",
}
ENDLESS = ("gemsnn reproduce", "gemsnn demo", "udp:", "--live", "--camera n-mnist --vary", "400 100")
"""Takes long, or has no end: begins as it stands, and ends well when it is told to."""
RUN = [
    line
    for line in BLOCKS
    if re.match("gemsnn|camera-program", line) and not any(part in line for part in NOT_RUN)
]  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """All that the commands name, small."""
    folder = tmp_path_factory.mktemp("files")
    simulate_prepared(folder / "digits.h5", digits=(0, 1, 2), per_class=(8, 25))
    simulate_prepared(folder / "simulated.h5", digits=(0, 1), per_class=(4, 2), camera="n-mnist")
    simulate_prepared(folder / "few.h5", digits=(0, 1, 2), per_class=(4, 2))
    shutil.copy(folder / "few.h5", folder / "n-mnist-012.h5")
    write_recordings(folder / "path/to/mnist-dvs", (0, 1, 2), (2, 1))
    rng = np.random.default_rng(0)
    for split in ("Train", "Test"):
        for digit in range(10):
            place = folder / "path/to/n-mnist" / split / str(digit)
            place.mkdir(parents=True)
            x, y, p = rng.integers(34, size=90), rng.integers(34, size=90), rng.integers(2, size=90)
            (place / "00001.bin").write_bytes(encode_nmnist(make_events(x, y, np.sort(rng.integers(3e5, size=90)), p)))
    aedat = sorted((folder / "path/to/mnist-dvs").rglob("*.aedat"))
    for name in ("MY_RECORDINGS/zero", "MY_RECORDINGS/one", "ANOTHER_RECORDING", "recordings", "demo/recordings"):
        (folder / name).mkdir(parents=True)
        for copy in range(3):
            shutil.copy(aedat[copy], folder / name / f"{copy}.aedat")
    shutil.copy(aedat[0], folder / "recording.aedat")
    shutil.copy(aedat[0], folder / "recordings" / "recording.aedat")
    for name, size in (("cup", (30, 20)), ("key", (8, 30))):
        (folder / "pictures" / name).mkdir(parents=True)
        for n in range(4):
            picture = Image.new("L", (50, 50))
            picture.paste(255, (10 + n, 10, 10 + n + size[0], 10 + size[1]))
            picture.save(folder / "pictures" / name / f"{n}.png")
    (folder / "camera-program").write_text("#!/bin/sh\nprintf '0,60,60,1\\n40000,61,60,1\\n'\n")
    (folder / "camera-program").chmod(0o755)
    (folder / "gemsnn").write_text(f'#!/bin/sh\nexec {sys.executable} -m gemsnn "$@"\n')
    (folder / "gemsnn").chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert run_here("gemsnn data simulate --images pictures --out pictures.h5", patch) == 0
        runs = {"digits.h5": "runs/first", "simulated.h5": "runs/simulated", "pictures.h5": "runs/pictures"}
        for data, run in runs.items():
            assert run_here(f"gemsnn train --data {data} --out {run} --hidden 5 --epochs 1", patch) == 0
    (folder / "repro/runs").mkdir(parents=True)
    (folder / "repro/data").mkdir()
    shutil.copytree(folder / "runs/first", folder / "repro/runs/K20-seed3")
    shutil.copy(folder / "digits.h5", folder / "repro/data/simulated-012-400+100-seed0.h5")
    shutil.copytree(folder / "runs/first", folder / "demo/run")
    return folder


def run_here(line, monkeypatch):
    """Run a command in this process; returns its exit code."""
    words = [name for word in shlex.split(line) for name in sorted(glob(word)) or [word]]
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code or 0


@pytest.fixture
def here(files, tmp_path, monkeypatch):
    """A folder in which a printed command can run: all that it names is there, and nothing that it makes."""

    def made(line):
        folder = shutil.copytree(files, tmp_path / "here")
        monkeypatch.chdir(folder)
        out = re.search(r"--out (\S+)", line)
        if out and (folder / out[1]).is_dir():
            shutil.rmtree(folder / out[1])
        elif out:
            (folder / out[1]).unlink(missing_ok=True)
        if "runs/mine" in line and "predict" in line:
            shutil.copytree(folder / "runs/first", folder / "runs/mine")
        if learned := re.search(r"gemsnn train --data (\S+)", line):
            shutil.copy(folder / "few.h5", folder / learned[1])
        if "import folder recordings" in line:
            shutil.rmtree("recordings")
            names = [f"{what}/person{n}_{what}.aedat" for what in ("waves", "claps") for n in range(4)]
            for name in names:
                Path("recordings", name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy("recording.aedat", Path("recordings", name))
            Path("people.csv").write_text("".join(f"{name},{name[12]}\n" for name in names))
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
        return folder / out[1] if out else None

    return made


def in_shell(line):
    """Begin a command in a process of its own, which prints to the file `output`."""
    with Path("output").open("w") as output:
        return subprocess.Popen(
            line, shell=True, executable="/bin/bash", start_new_session=True, stdin=subprocess.DEVNULL,
            stdout=output, stderr=subprocess.STDOUT,
        )  # fmt: skip


def is_endless(line):
    return any(part in line for part in ENDLESS)


@pytest.fixture
def short_runs(monkeypatch):
    """Where a command gives no epochs, two are enough to see that it runs."""
    monkeypatch.setattr(schedule, "EXAMPLES_SHOWN", 1)
    monkeypatch.setattr(schedule, "FEWEST_EPOCHS", 2)


@pytest.mark.usefixtures("short_runs")
@pytest.mark.filterwarnings("default")  # as on the command line
@pytest.mark.parametrize("line", [line for line in RUN if not is_endless(line)])
def test_a_printed_command_runs_as_it_stands(line, here, monkeypatch, capsys):
    out = here(line)
    if "|" in line:
        code, told = in_shell(line).wait(), Path("output").read_text()
    else:
        code = run_here(line, monkeypatch)
        told = "".join(capsys.readouterr())
    assert code == 0, told
    assert not out or out.exists()


@pytest.mark.parametrize("line", [line for line in RUN if is_endless(line)])
def test_a_printed_command_without_an_end_begins_as_it_stands_and_can_be_stopped(line, here):
    out = here(line)
    process = in_shell(re.sub(r"\b(7777|8000)\b", lambda _: str(free_port()), line))
    while process.poll() is None and not begun(out):
        time.sleep(0.05)
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGINT)
    code, told = process.wait(), Path("output").read_text()
    # Interrupted within an exec() of a module that loads, Python itself ends by SIGINT, which is 130 to a shell, too.
    assert code in (0, 130, -signal.SIGINT), told
    assert "Traceback" not in told
    assert "error:" not in told


def begun(out):
    """Whether a command has printed something, or begun to write what it makes."""
    return Path("output").stat().st_size or (out and (out.exists() or list(Path().glob(f".{out.name}.*"))))


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as door:
        door.bind(("127.0.0.1", 0))
        return door.getsockname()[1]

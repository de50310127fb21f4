"""The documentation keeps its word: its code runs, and what it names exists."""

import importlib
import re
import shlex
import sys
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from unittest.mock import patch

import matplotlib.pyplot as plt
import pytest
import typer

import gemsnn
from gemsnn.cli import main
from gemsnn.cli.app import app
from gemsnn.events.datasets import DATASETS
from gemsnn.events.recordings import READERS
from gemsnn.experiments import CLAIMS
from gemsnn.inference import DECODERS
from gemsnn.model.filters import FILTERS
from gemsnn.objectives import OBJECTIVES
from gemsnn.rules import RULES
from gemsnn.training import schedule

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
NOTE = r"<!-- (?:not run: [^\n]+|needs: \w+) -->\n"  # why a block is not run, or the package that it is run with
BLOCK = re.compile(rf"^({NOTE})?```(python|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAMES = [page.name for page in PAGES if BLOCK.search(page.read_text())]


@pytest.fixture
def own_lists():
    """What a page adds to the lists of parts is gone after it."""
    lists = (RULES, OBJECTIVES, FILTERS, DECODERS, READERS, DATASETS, CLAIMS)
    with ExitStack() as stack:
        for each in lists:
            stack.enter_context(patch.dict(each))
        yield


UNJUDGED = {"README.md"}  # says nothing of how well its model does, so that a short run will do


@pytest.mark.usefixtures("own_lists")
@pytest.mark.filterwarnings("ignore:.*FigureCanvasAgg is non-interactive")
@pytest.mark.parametrize("name", NAMES)
def test_the_code_of_a_page_runs_from_top_to_bottom(name, tmp_path, monkeypatch, capsys):
    page = next(page for page in PAGES if page.name == name)
    monkeypatch.chdir(tmp_path)
    if name in UNJUDGED:
        monkeypatch.setattr(schedule, "EXAMPLES_SHOWN", 1)
        monkeypatch.setattr(schedule, "FEWEST_EPOCHS", 2)
    text, namespace = page.read_text(), {"__name__": "page"}
    for block in BLOCK.finditer(text):
        note, kind, code = block.groups()
        needed = re.fullmatch(r"<!-- needs: (\w+) -->\n", note or "")
        if note and not (needed and find_spec(needed[1])):
            compile(code, name, "exec")
        elif kind == "python":
            line = text[: block.start(3)].count("\n")
            exec(compile("\n" * line + code, str(page), "exec"), namespace)
        else:
            for command in re.findall(r"^\$ (.+)$", code, re.MULTILINE):
                _run(shlex.split(command), monkeypatch, capsys)
    plt.close("all")


def _run(command, monkeypatch, capsys):
    """In this process, in which a warning is an error."""
    assert command[0] == "gemsnn"
    monkeypatch.setattr(sys, "argv", command)
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code, f"{command}:\n{''.join(capsys.readouterr())}"


TABLES = sorted((ROOT / "docs" / "results").glob("*.md"))  # the long ones
LINKED = [*PAGES, *TABLES, ROOT / "docs" / "api" / "index.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]


def places(page):
    """What a link can lead to within a page: its headings, and its labels."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings} | set(
        re.findall(r"^\((.+)\)=$", page.read_text(), re.MULTILINE)
    )


@pytest.mark.parametrize("page", LINKED, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_within_the_repository_leads_somewhere(page):
    for target, place in re.findall(r"\]\(([^)#]*?)(?:#([^)]*))?\)", page.read_text()):
        if "://" not in target:
            file = page.parent / target if target else page
            assert file.exists(), target
            assert not place or place in places(file), f"{target}#{place}"


GUIDES = [page for page in PAGES if page.name not in ("README.md", "index.md")]


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.name)
def test_a_page_opens_with_what_its_reader_can_do_afterwards(page):
    assert re.match(r"# .+\n\nAfter (?:reading this page|twenty minutes),? you ", page.read_text())


@pytest.mark.parametrize(
    "words", ["export", "GPU", "imbalance", "hyperparameter", "energy", "learning rate", "does not learn", "fine-tune"]
)
def test_what_people_search_for_has_a_page(words):
    answers = re.findall(r"^\| .+ \| .+ \|$", (ROOT / "docs" / "index.md").read_text(), re.MULTILINE)
    assert any(words in answer for answer in answers)


def test_the_results_are_short_and_their_tables_are_elsewhere():
    assert len((ROOT / "docs" / "results.md").read_text().splitlines()) <= 250


def test_the_ten_lines_of_the_readme_are_ten():
    code = next(block[3] for block in BLOCK.finditer((ROOT / "README.md").read_text()) if block[2] == "python")
    assert len([line for line in code.splitlines() if line.strip()]) == 10


# ---- from the paper to the code

PAPER = (ROOT / "docs" / "paper-to-code.md").read_text()


def test_every_equation_of_the_paper_is_there_with_a_function_and_a_test():
    sections = re.split(r"^### ", PAPER, flags=re.MULTILINE)[1:]
    numbers = []
    for section in sections:
        title = section.splitlines()[0]
        if title.startswith("Equation"):
            numbers += [int(number) for number in re.findall(r"\d+", title.split(":")[0])]
        assert "Computed in `gemsnn." in section, title
        assert "Checked by `tests/" in section, title
    assert numbers == list(range(1, 14))


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(gemsnn\.[\w.]+)`", PAPER))))
def test_every_function_named_beside_an_equation_exists(name):
    module, *attributes = _longest_module(name)
    thing = module
    for attribute in attributes:
        thing = getattr(thing, attribute)


def _longest_module(name):
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            return importlib.import_module(".".join(parts[:length])), *parts[length:]
        except ModuleNotFoundError:
            continue
    raise AssertionError(name)


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(tests/[\w/.]+(?:::\w+)?)`", PAPER))))
def test_every_test_named_beside_an_equation_exists(name):
    file, _, function = name.partition("::")
    assert (ROOT / file).is_file()
    assert not function or f"\ndef {function}(" in (ROOT / file).read_text()


# ---- the commands


def commands(group, words="gemsnn"):
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{words} {name}")
        else:
            yield f"{words} {name}", command


def test_every_command_is_in_the_table_of_commands_and_its_help_has_an_example():
    table = (ROOT / "docs" / "commands.md").read_text()
    found = dict(commands(typer.main.get_command(app)))
    assert set(re.findall(r"^\| `(gemsnn(?: [a-z]+)+)", table, re.MULTILINE)) == found.keys()
    for words, command in found.items():
        assert f"| `{words} " in table
        assert f"Example: {words} " in command.help


# ---- the API reference

ROOMS = (
    "checks", "encode", "events", "export", "inference", "learning", "metrics", "model", "objectives", "plot", "rules",
    "training",
)  # fmt: skip


@pytest.mark.parametrize("room", ["gemsnn", *(f"gemsnn.{name}" for name in ROOMS)])
def test_every_public_name_is_in_the_api_reference(room):
    reference = "\n".join(path.read_text() for path in (ROOT / "docs" / "api").glob("*.rst"))
    documented = {name.rpartition(".")[2] for name in re.findall(r"^\.\. (?:auto|py:)\w+:: ([\w.]+)", reference, re.M)}
    documented |= {name for name in dir(gemsnn.errors) if name.endswith("Error")}  # an automodule
    public = {name for name in importlib.import_module(room).__all__ if name not in (*ROOMS, "__version__")}
    assert public <= documented


@pytest.mark.parametrize("page", sorted(path.name for path in (ROOT / "docs" / "api").glob("*.rst")))
def test_every_name_in_the_api_reference_exists(page):
    module = ""
    for directive, name in re.findall(
        r"^\.\. (currentmodule|auto\w+):: ([\w.]+)", (ROOT / "docs" / "api" / page).read_text(), re.M
    ):
        if directive == "currentmodule":
            module = name
            continue
        thing, *attributes = _longest_module(name if name.startswith("gemsnn.") else f"{module}.{name}")
        for attribute in attributes:
            thing = getattr(thing, attribute)

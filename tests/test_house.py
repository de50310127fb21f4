"""The house keeps its order: rooms import only from rooms above them, and a part is known in one place only."""

import ast
import inspect
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gemsnn.engine import ENGINES
from gemsnn.events.datasets import DATASETS
from gemsnn.events.recordings import READERS
from gemsnn.experiments.claims import CLAIMS
from gemsnn.inference import DECODERS
from gemsnn.model.filters import FILTERS
from gemsnn.model.topologies import TOPOLOGIES
from gemsnn.objectives import OBJECTIVES
from gemsnn.rules import RULES

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "gemsnn"
FILES = sorted(PACKAGE.rglob("*.py"))
ROOMS = (
    "errors", "_version", "common", "compiling", "plot", "model", "encode", "rules", "objectives", "engine", "learning",
    "inference", "metrics", "events", "training", "export", "experiments", "watching", "estimator", "checks", "cli",
)  # fmt: skip
DOORS = ("__init__", "__main__")  # the package's own: they lead into every room


def module_of(path: Path) -> str:
    parts = ["gemsnn", *path.relative_to(PACKAGE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in FILES}


def imported(tree: ast.AST) -> list[str]:
    """Every module of the package that a file imports: at its top, in functions, and for type checkers only."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name.split(".")[0] == "gemsnn"]
        elif isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").split(".")[0] == "gemsnn"):
            assert not node.level, "imports name the whole path"
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            found += [name if name in MODULES else node.module for name in inner]
    return found


def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), str(path))


def room_of(module: str) -> str:
    return module.split(".")[1] if "." in module else "__init__"


# ---- the order of the rooms


def test_every_file_is_in_a_room():
    assert {room_of(module) for module in MODULES} - set(DOORS) == set(ROOMS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_room_imports_only_from_rooms_above_it(path):
    room = room_of(module_of(path))
    if room in DOORS:
        return
    for module in imported(parse(path)):
        other = room_of(module)
        assert other != "__init__", f"{path.name} imports the whole package"
        assert ROOMS.index(other) <= ROOMS.index(room), f"{room} imports {module}, from a room below it"


def test_no_files_import_each_other_in_a_circle():
    heard_of = {module: set(imported(parse(path))) for module, path in MODULES.items() if module != "gemsnn"}
    while True:
        ends = {module for module, others in heard_of.items() if not others & heard_of.keys() - {module}}
        if not ends:
            break
        heard_of = {module: others for module, others in heard_of.items() if module not in ends}
    assert not heard_of, f"import each other: {sorted(heard_of)}"


def test_the_test_of_the_rooms_sees_imports_wherever_they_are():
    code = """
from typing import TYPE_CHECKING
from gemsnn.model import Network
if TYPE_CHECKING:
    from gemsnn import events
def later():
    import gemsnn.cli.app
    from gemsnn.engine import event, ENGINES
"""
    expected = ["gemsnn.model", "gemsnn.events", "gemsnn.cli.app", "gemsnn.engine.event", "gemsnn.engine"]
    assert sorted(imported(ast.parse(code))) == sorted(expected)


INSIDES = ("llvmlite", "numba.core", "numba.experimental", "numba.extending")


def test_only_one_room_depends_on_the_internals_of_numba():
    for path in FILES:
        tree = parse(path)
        names = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
        names += [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
        inside = [name for name in names if any(f"{name}.".startswith(f"{known}.") for known in INSIDES)]
        assert not inside or room_of(module_of(path)) == "compiling", path


def test_coverage_leaves_out_what_is_compiled_and_nothing_else():
    excluded = re.search(r'"@\(([\w|]+)\)', (ROOT / "pyproject.toml").read_text())
    assert excluded
    compiling = set()
    for path in FILES:
        tree = parse(path)
        there = {
            alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module in ("gemsnn.compiling.jit", "numba")
            for alias in node.names
        }
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        calls = [part.func for node in functions for part in node.decorator_list if isinstance(part, ast.Call)]
        compiling |= {call.id for call in calls if isinstance(call, ast.Name)} & there
    assert compiling == set(excluded[1].split("|"))


# ---- who knows a part's name


def names_of_code(tree: ast.Module) -> set[str]:
    """Names and attributes, imported ones included."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.alias):
            found |= set(node.name.split("."))
        elif isinstance(node, ast.ClassDef):
            found.add(node.name)
    return found


def texts_of_code(tree: ast.Module) -> set[str]:
    """Strings, but for docstrings, which like comments may say what they like, and defaults of a rule or decoder."""
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    prose |= defaults_of("decoder", tree) | defaults_of("rule", tree)
    strings = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return {node.value for node in strings if id(node) not in prose}


def defaults_of(name: str, tree: ast.Module) -> set[int]:
    """The nodes that are the default of an argument of that name."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            arguments = node.args.posonlyargs + node.args.args
            pairs = zip(arguments[len(arguments) - len(node.args.defaults) :], node.args.defaults, strict=True)
            pairs = [*pairs, *zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)]
            found |= {id(default) for argument, default in pairs if argument.arg == name}
    return found


def test_the_test_of_names_reads_code_and_not_prose():
    tree = ast.parse(
        '"""GEM"""\nfrom a import B as c\nx = y.z == "gem"  # MB\ndef f():\n    "IW"\n    return Feedback\n'
    )
    assert names_of_code(tree) == {"B", "x", "y", "z", "Feedback"}
    assert texts_of_code(tree) == {"gem"}


@dataclass(frozen=True)
class Family:
    """Parts of one kind by the names that settings give them, and the files or folders that may know these."""

    parts: dict[str, Any]
    """Classes or functions, by kind."""
    known_in: tuple[str, ...]
    kinds_too: bool = True

    def known(self, tree: ast.Module) -> set[str]:
        """What code knows of the family: classes or functions, and kinds as texts."""
        kinds = texts_of_code(tree) & self.parts.keys() if self.kinds_too else set()
        return names_of_code(tree) & self.names | texts_of_code(tree) & self.names | kinds

    @property
    def names(self) -> set[str]:
        return {part.__name__ for part in self.parts.values()}


LIKELIHOOD_DECODER = (
    "inference/decoders",
    "inference/__init__.py",
    "inference/likelihood.py",
    "training/evaluation.py",
)
FAMILIES = {
    # their own room, the package's public names, and the settings that are the defaults
    "rules": Family(RULES, ("rules", "__init__.py", "training/config.py")),
    # besides the defaults, those who know the decoder that is called Likelihood as well; kinds are everyday words
    "objectives": Family(
        OBJECTIVES,
        ("objectives", "__init__.py", "training/config.py", *LIKELIHOOD_DECODER),
        kinds_too=False,
    ),
    # besides these, a network that is given no filters has the paper's, and rules are checked in one that has both
    # kinds; taps alone are what all filters are
    "filters": Family(
        {kind: part for kind, part in FILTERS.items() if kind != "taps"},
        (
            "model/filters",
            "model/__init__.py",
            "model/network.py",
            "__init__.py",
            "training/config.py",
            "checks/rules.py",
        ),
    ),
    # their kinds are everyday words ("file", "random"): only the classes are looked for
    "topologies": Family(TOPOLOGIES, ("model/topologies.py", "training/config.py"), kinds_too=False),
    # besides the defaults: the objective of one name; the paper's protocol; and the log-likelihood, which is estimated
    # as by the decoder
    "decoders": Family(
        {kind: type(part) for kind, part in DECODERS.items()},
        (
            "inference/decoders",
            "objectives",
            "__init__.py",
            "training/config.py",
            "experiments/protocol.py",
            "training/evaluation.py",
        ),
    ),
    # "folder" is an everyday word, "mnist-dvs" also the way in which that camera stood
    "data sets": Family(DATASETS, ("events/datasets", "events/__init__.py"), kinds_too=False),
    "claims": Family({part.__name__: part for part in CLAIMS.values()}, ("experiments/claims.py",)),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_only_its_own_room_the_public_names_and_the_defaults_know_a_part_by_name(name):
    family = FAMILIES[name]
    for path in FILES:
        place = path.relative_to(PACKAGE)
        if not any(place == Path(known) or Path(known) in place.parents for known in family.known_in):
            assert not family.known(parse(path)), place


def test_no_rule_knows_another():
    for part in RULES.values():
        others = {rule.__name__ for rule in RULES.values()} - {part.__name__}
        assert not names_of_code(parse(Path(inspect.getfile(part)))) & others, part


def test_engines_are_listed_once_and_nobody_compares_their_names():
    """Outside their room a name may stand only as the default of an argument called engine."""
    for path in FILES:
        tree, place = parse(path), path.relative_to(PACKAGE)
        for node in ast.walk(tree):
            if isinstance(node, ast.Compare | ast.match_case):
                constants = {inner.value for inner in ast.walk(node) if isinstance(inner, ast.Constant)}
                assert not constants & ENGINES.keys(), f"{place}:{node.lineno} compares an engine's name"
        if place.parts[0] == "engine":
            continue
        defaults = defaults_of("engine", tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and node.value in ENGINES and id(node) not in defaults:
                raise AssertionError(f"{place}:{node.lineno} names an engine")
        heard = {module for module in imported(tree) if module in ENGINES.values()}
        assert not heard, f"{place} imports an engine past the list"


# ---- what CONTRIBUTING says

CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()


def test_contributing_lists_the_rooms_in_their_order():
    listed = re.findall(r"^  (\w+)(?:/|\.py) ", CONTRIBUTING, re.MULTILINE)
    assert listed == [room for room in ROOMS if room not in ("errors", "_version")]


# What stands in a folder of parts besides them: the contract, and what several parts share.
SHARED = {
    "rules": {"rule.py"},
    "objectives": {"objective.py"},
    "filters": {"filter.py"},
    "decoders": {"decoder.py"},
    "data sets": {"inventory.py"},
}


@pytest.mark.parametrize("name", SHARED)
def test_every_part_has_a_file_of_its_own_and_is_named_once_in_the_list(name):
    family = FAMILIES[name]
    files = [Path(inspect.getfile(part)) for part in family.parts.values()]
    assert len(set(files)) == len(files)
    home = PACKAGE / family.known_in[0]
    assert {path.name for path in files} | {"__init__.py"} | SHARED[name] == {path.name for path in home.glob("*.py")}
    used = [node.id for node in ast.walk(parse(home / "__init__.py")) if isinstance(node, ast.Name)]
    for part in family.parts.values():
        assert used.count(part.__name__) == 1


def test_every_reader_has_a_file_of_its_own_and_only_the_list_and_the_data_sets_know_it():
    functions = {reader.read for reader in READERS.values()}
    files = {Path(inspect.getfile(function)) for function in functions}
    assert len(files) == len(functions)
    events = PACKAGE / "events"
    known_in = {*files, events / "recordings.py", events / "__init__.py", *(events / "datasets").glob("*.py")}
    for path in set(FILES) - known_in:
        names = {node.name for node in ast.walk(parse(path)) if isinstance(node, ast.alias)}
        assert not names & {function.__name__ for function in functions}, path


@pytest.mark.parametrize("part", ["rule", "filter", "decoder", "data set", "reader"])
def test_contributing_says_what_is_one_file(part):
    """Where, and in which list: both exist."""
    sentence = rf"^- A {part} is one file in `src/gemsnn/([\w/]+)/` and one entry of `(\w+)`"
    ((folder, listed),) = re.findall(sentence, CONTRIBUTING, re.MULTILINE)
    home = PACKAGE / folder
    lists = [path for path in home.glob("*.py") if re.search(rf"^{listed}\b.* = ", path.read_text(), re.MULTILINE)]
    assert len(lists) == 1, part

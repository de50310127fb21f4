"""The house keeps its order: rooms import only from rooms above them, and a part is known in one place only."""

import ast
import inspect
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from gemsnn.engine import ENGINES
from gemsnn.model.filters import FILTERS
from gemsnn.model.topologies import TOPOLOGIES
from gemsnn.rules import RULES

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "gemsnn"
FILES = sorted(PACKAGE.rglob("*.py"))
ROOMS = (
    "errors", "_version", "common", "model", "rules", "engine", "learning", "inference", "metrics", "events",
    "training", "experiments", "estimator", "cli",
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
    from gemsnn.engine import direct, ENGINES
"""
    expected = ["gemsnn.model", "gemsnn.events", "gemsnn.cli.app", "gemsnn.engine.direct", "gemsnn.engine"]
    assert sorted(imported(ast.parse(code))) == sorted(expected)


# ---- who knows a part's name


def words_of_code(tree: ast.Module) -> set[str]:
    """Names, attributes and whole strings of the code; docstrings and comments may say what they like."""
    found, prose = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            prose.add(id(node.value))
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.alias):
            found |= set(node.name.split("."))
        elif isinstance(node, ast.ImportFrom):
            found |= set((node.module or "").split("."))
        elif isinstance(node, ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            found.add(node.value)
    return found


def test_the_test_of_names_reads_code_and_not_prose():
    code = '"""GEM"""\nfrom a.b import c as d\nx = y.z == "gem"  # MB\ndef f():\n    "IW"\n    return Feedback\n'
    assert words_of_code(ast.parse(code)) == {"a", "b", "c", "x", "y", "z", "gem", "Feedback"}


@dataclass(frozen=True)
class Family:
    """Parts of one kind, the files that may know their names, and the names."""

    parts: dict[str, type]
    known_in: tuple[str, ...]  # files, or folders with all their files
    names: frozenset[str]


def family(parts: dict[str, type], *known_in: str, base: str = "", kinds: bool = True) -> Family:
    names = {part.__name__ for part in parts.values()} - {base}
    return Family(parts, known_in, frozenset(names | (set(parts) if kinds else set())))


FAMILIES = {
    # their own room, the package's public names, and the settings that are the defaults
    "rules": family(RULES, "rules", "__init__.py", "training/config.py"),
    # besides these: a network without filters given has the paper's
    "filters": family(
        {kind: part for kind, part in FILTERS.items() if kind != "taps"},  # any bank of taps: what all filters are
        "model/filters", "model/__init__.py", "model/network.py", "__init__.py", "training/config.py",
    ),
    # their kinds are everyday words ("file", "random"): only the classes are looked for
    "topologies": family(TOPOLOGIES, "model/topologies.py", "training/config.py", kinds=False),
}  # fmt: skip


@pytest.mark.parametrize("name", FAMILIES)
def test_only_its_own_room_the_public_names_and_the_defaults_know_a_part_by_name(name):
    of = FAMILIES[name]
    for path in FILES:
        place = path.relative_to(PACKAGE)
        if any(place == Path(known) or Path(known) in place.parents for known in of.known_in):
            continue
        assert not words_of_code(parse(path)) & of.names, place


def test_no_rule_knows_another():
    for part in RULES.values():
        others = {name for rule in RULES.values() if rule is not part for name in (rule.__name__,)}
        path = Path(inspect.getfile(part))
        assert not words_of_code(parse(path)) & others, path.name


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
        defaults = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                arguments = node.args.posonlyargs + node.args.args
                pairs = zip(arguments[len(arguments) - len(node.args.defaults) :], node.args.defaults, strict=True)
                pairs = [*pairs, *zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)]
                defaults |= {id(default) for argument, default in pairs if argument.arg == "engine"}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and node.value in ENGINES.keys() and id(node) not in defaults:
                raise AssertionError(f"{place}:{node.lineno} names an engine")
        heard = {module for module in imported(tree) if module in ENGINES.values()}
        assert not heard, f"{place} imports an engine past the list"


# ---- what CONTRIBUTING says

CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()


def test_contributing_lists_the_rooms_in_their_order():
    listed = re.findall(r"^  (\w+)(?:/|\.py) ", CONTRIBUTING, re.MULTILINE)
    assert listed == [room for room in ROOMS if room not in ("errors", "_version")]


@pytest.mark.parametrize("name", ["rules", "filters"])
def test_every_part_has_a_file_of_its_own_and_one_line_in_the_list(name):
    of = FAMILIES[name]
    files = [Path(inspect.getfile(part)) for part in of.parts.values()]
    assert len(set(files)) == len(files)
    home = PACKAGE / of.known_in[0]
    contract = {"rules": "rule.py", "filters": "filter.py"}[name]
    assert {path.name for path in files} | {"__init__.py", contract} == {path.name for path in home.glob("*.py")}
    room = (home / "__init__.py").read_text()
    for part in of.parts.values():
        assert room.count(f": {part.__name__},") + room.count(f": {part.__name__}}}") == 1

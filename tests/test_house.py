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
    """Strings, but for docstrings: these, like comments, may say what they like."""
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    strings = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return {node.value for node in strings if id(node) not in prose}


def test_the_test_of_names_reads_code_and_not_prose():
    tree = ast.parse(
        '"""GEM"""\nfrom a import B as c\nx = y.z == "gem"  # MB\ndef f():\n    "IW"\n    return Feedback\n'
    )
    assert names_of_code(tree) == {"B", "x", "y", "z", "Feedback"}
    assert texts_of_code(tree) == {"gem"}


@dataclass(frozen=True)
class Family:
    """Parts of one kind by the names that settings give them, and the files or folders that may know these."""

    parts: dict[str, type]
    known_in: tuple[str, ...]
    kinds_too: bool = True

    def known(self, tree: ast.Module) -> set[str]:
        """What code knows of the family: classes, and kinds as texts."""
        kinds = texts_of_code(tree) & self.parts.keys() if self.kinds_too else set()
        return names_of_code(tree) & self.classes | texts_of_code(tree) & self.classes | kinds

    @property
    def classes(self) -> set[str]:
        return {part.__name__ for part in self.parts.values()}


FAMILIES = {
    # their own room, the package's public names, and the settings that are the defaults
    "rules": Family(RULES, ("rules", "__init__.py", "training/config.py")),
    # besides these, a network that is given no filters has the paper's; taps alone are what all filters are
    "filters": Family(
        {kind: part for kind, part in FILTERS.items() if kind != "taps"},
        ("model/filters", "model/__init__.py", "model/network.py", "__init__.py", "training/config.py"),
    ),
    # their kinds are everyday words ("file", "random"): only the classes are looked for
    "topologies": Family(TOPOLOGIES, ("model/topologies.py", "training/config.py"), kinds_too=False),
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
        defaults = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                arguments = node.args.posonlyargs + node.args.args
                pairs = zip(arguments[len(arguments) - len(node.args.defaults) :], node.args.defaults, strict=True)
                pairs = [*pairs, *zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)]
                defaults |= {id(default) for argument, default in pairs if argument.arg == "engine"}
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


@pytest.mark.parametrize("name", ["rules", "filters"])
def test_every_part_has_a_file_of_its_own_and_one_line_in_the_list(name):
    family = FAMILIES[name]
    files = [Path(inspect.getfile(part)) for part in family.parts.values()]
    assert len(set(files)) == len(files)
    home = PACKAGE / family.known_in[0]
    contract = {"rules": "rule.py", "filters": "filter.py"}[name]
    assert {path.name for path in files} | {"__init__.py", contract} == {path.name for path in home.glob("*.py")}
    room = (home / "__init__.py").read_text()
    for part in family.parts.values():
        assert room.count(f": {part.__name__},") + room.count(f": {part.__name__}}}") == 1

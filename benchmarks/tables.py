"""Tables that a benchmark prints, and writes as Markdown for the documentation."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import rich.table
from rich.console import Console
from rich.text import Text


@dataclass
class Table:
    title: str
    columns: Sequence[str]
    rows: list[Sequence[str]] = field(default_factory=list)
    note: str = ""

    def show(self, console: Console) -> None:
        table = rich.table.Table(title=self.title, caption=self.note or None, title_justify="left")
        for index, column in enumerate(self.columns):
            table.add_column(column, justify="left" if index == 0 else "right")
        for row in self.rows:
            table.add_row(*row)
        console.print(table)
        console.print()

    def markdown(self) -> str:
        lines = [f"### {self.title}", "", _row(self.columns), _row(["---"] + ["---:"] * (len(self.columns) - 1))]
        lines += [_row(row) for row in self.rows]
        return "\n".join([*lines, "", *([self.note, ""] if self.note else [])])


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(Text.from_markup(cell).plain for cell in cells) + " |"


def machine() -> str:
    """What the figures were measured on, in one line."""
    processor = platform.processor() or platform.machine()
    details = Path("/proc/cpuinfo")
    if details.exists():
        lines = details.read_text().splitlines()
        processor = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), processor)
    versions = []
    for package in ("numpy", "numba", "torch"):
        try:
            versions.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            versions.append(f"no {package}")
    return f"{processor}, {os.cpu_count()} cores, Python {platform.python_version()}, {', '.join(versions)}"


def other_load() -> float:
    """Processes that want a core, over the last minute: 0 on a quiet machine."""
    return os.getloadavg()[0]


def write_markdown(path: Path, heading: str, tables: Sequence[Table]) -> None:
    path.write_text("\n".join([heading, "", *(table.markdown() for table in tables)]), encoding="utf-8")

"""Groups of recordings, such as those of one person, day or trial, which are held out as a whole."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from gemsnn.errors import ConfigError, DataError
from gemsnn.events.datasets.inventory import Inventory


def grouped(inventory: Inventory, by: str) -> Inventory:
    """The inventory, with a group for every recording.

    Parameters
    ----------
    by
        A regular expression, searched for in each recording's path inside the folder: its first parenthesised part,
        or the whole match, is the recording's group. Or a table (.csv) with a line NAME,GROUP per recording.

    Examples
    --------
    >>> from gemsnn.events.groups import grouped
    >>> grouped(inventory, r"(person\\d+)_")  # doctest: +SKIP
    """
    group_of = _from_table(Path(by)) if Path(by).suffix.lower() == ".csv" else _from_names(by)
    recordings = tuple(replace(one, group=group_of(one.name)) for one in inventory.recordings)
    return replace(inventory, recordings=recordings)


def _from_names(expression: str) -> Callable[[str], str]:
    try:
        pattern = re.compile(expression)
    except re.error as error:
        raise ConfigError(f"--group {expression}: not a regular expression: {error}") from None

    def group_of(name: str) -> str:
        found = pattern.search(name)
        group = None if found is None else found[1] if pattern.groups else found[0]
        if not group:
            raise DataError(f"{name}: --group {expression} does not match this name, so its group is unknown")
        return group

    return group_of


def _from_table(file: Path) -> Callable[[str], str]:
    try:
        rows = list(csv.reader(file.read_text(encoding="utf-8").splitlines()))
    except (OSError, UnicodeError, csv.Error) as error:
        raise DataError(f"{file}: cannot be read as a table of NAME,GROUP: {error}") from None
    groups = {row[0].strip(): row[1].strip() for row in rows if len(row) >= 2}

    def group_of(name: str) -> str:
        group = groups.get(name) or groups.get(Path(name).name)
        if not group:
            raise DataError(f"{file}: no line for {name}; there must be one NAME,GROUP for every recording")
        return group

    return group_of

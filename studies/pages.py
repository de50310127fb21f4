"""What the studies' pages share: tables in Markdown, and parts of a page that are written anew while the rest stays."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

ABOUT = re.compile(r"<!-- of: (.*?) -->\n*")


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; all columns but the first are aligned to the right."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def put(text: str, name: str, block: str) -> str:
    """A page with another text between ``<!-- begin: NAME -->`` and ``<!-- end: NAME -->``."""
    pattern = re.compile(rf"(<!-- begin: {name} -->\n).*?(<!-- end: {name} -->)", re.DOTALL)
    if not pattern.search(text):
        raise SystemExit(f"the page has no <!-- begin: {name} --> ... <!-- end: {name} -->")
    return pattern.sub(lambda match: f"{match[1]}\n{block}\n\n{match[2]}", text)


def block(text: str, name: str) -> str:
    """What stands between these comments, and the comments; empty if they are not there."""
    found = re.search(rf"<!-- begin: {name} -->\n.*?<!-- end: {name} -->", text, re.DOTALL)
    return found[0] if found else ""


def kept_words(old: str, name: str, about: str) -> str:
    """What a person wrote about these results, between comments of that name; about others it would be wrong."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    text = old[old.index(begin) + len(begin) : old.index(end)] if begin in old and end in old else ""
    of = ABOUT.search(text)
    words = ABOUT.sub("", text).strip()
    if words and of and of[1] != about:
        print(f"The {name} in the page is about other results and was left out; git has it.")
        words = ""
    return f"{begin}\n\n<!-- of: {about} -->\n\n{words}\n\n{end}\n".replace("\n\n\n\n", "\n\n")


def fingerprint(folders: Sequence[Path]) -> str:
    """Of all results together."""
    digest = hashlib.sha256()
    for folder in folders:
        digest.update((folder / "results.json").read_bytes())
    return digest.hexdigest()[:12]


def figures_folder(page: Path) -> Path:
    """The nearest folder ``figures`` beside the page or above it."""
    return next(folder / "figures" for folder in page.absolute().parents if (folder / "figures").is_dir())


def elsewhere(command: str) -> str:
    """A command for other machines, where folders have other places."""
    return re.sub(r"(--out|--data|--n-mnist) (\S+)", lambda given: f"{given[1]} {Path(given[2]).name}", command)

"""Self-contained HTML pages, for laptop and phone, light and dark; without scripts and network access."""

from __future__ import annotations

import html
from pathlib import Path

from gemsnn.common.files import open_regular
from gemsnn.common.words import printable

MARK = '<meta name="generator" content="gemsnn">'
"""Marks a page written by gemsnn, which may be replaced."""


def is_page(path: Path) -> bool:
    """Whether a file is a page written by gemsnn."""
    try:
        with open_regular(path) as stream:
            return MARK.encode() in stream.read(1024)
    except OSError:
        return False


def escape(text: object) -> str:
    """Escape untrusted text (names, errors, commands) for HTML; all such text must pass through here."""
    lines = str(text).split("\n")
    return "\n".join(html.escape(printable(line)) for line in lines)


def page(title: str, header: str, main: str, style: str = "") -> str:
    """A complete page from the HTML of its header and body; ``style`` is CSS in addition to :data:`STYLE`."""
    return _PAGE.format(mark=MARK, title=escape(title), style=STYLE + style, header=header, main=main)


def section(name: str, title: str, content: str) -> str:
    """A section that can be linked to as ``#name``."""
    return f'<section id="{name}"><h2>{title}</h2>{content}</section>'


def caption(text: str) -> str:
    """A caption below figures, from HTML."""
    return f'<p class="caption">{text}</p>'


def table(head: list[str], rows: list[list[str]], kind: str = "") -> str:
    """A table of strings, which are escaped; ``kind`` is a CSS class."""
    top = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join(
        f'<tr><th scope="row">{escape(first)}</th>{"".join(f"<td>{escape(cell)}</td>" for cell in rest)}</tr>'
        for first, *rest in rows
    )
    return f'<div class="scroll"><table class="{kind}"><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
{mark}
<link rel="icon" href="data:,">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<header class="page">
{header}
</header>
<main>
{main}
</main>
</body>
</html>
"""

STYLE = """
:root { --paper: #fbfbf9; --card: #ffffff; --ink: #1f2933; --soft: #5d6b7a; --line: #dfe3e8; --link: #1d5fc4;
  --yes: #137a52; --no: #b3261e; --open: #8a6100; --yes-bg: #e3f5ec; --no-bg: #fbe9e7; --open-bg: #fdf3d8; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #14171b; --card: #1c2026; --ink: #e4e8ed; --soft: #9aa7b5; --line: #313842; --link: #7fb0ff;
    --yes: #5fd6a2; --no: #ff8f85; --open: #f0c45c; --yes-bg: #173529; --no-bg: #3d201e; --open-bg: #3a2f14; } }
* { box-sizing: border-box; }
html { scroll-behavior: smooth; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, sans-serif; }
header.page, main { max-width: 1120px; margin: 0 auto; padding: 0 1.25rem; }
header.page { padding-top: 1.25rem; }
h1 { font-size: clamp(1.5rem, 4vw, 2.1rem); line-height: 1.2; margin: 1.2rem 0 .4rem; letter-spacing: -.01em;
  overflow-wrap: anywhere; }
h2 { font-size: 1.3rem; margin: 0 0 .8rem; }
h3 { font-size: 1rem; margin: 0; font-weight: 600; }
.lead { color: var(--soft); margin: 0 0 1rem; max-width: 75ch; overflow-wrap: anywhere; }
.notice { border-left: 3px solid var(--open); padding-left: .8rem; margin: 0 0 1rem; }
nav { display: flex; flex-wrap: wrap; gap: .3rem 1.1rem; padding: .6rem 0; border-top: 1px solid var(--line);
  border-bottom: 1px solid var(--line); font-size: .92rem; }
a { color: var(--link); text-decoration: none; } a:hover { text-decoration: underline; }
section { margin: 2.2rem 0; scroll-margin-top: 1rem; }
section > p { max-width: 80ch; }
details { margin: .5rem 0; } summary { cursor: pointer; color: var(--link); font-size: .92rem; }
.panels { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 320px), 1fr)); gap: .9rem; }
.panels.small { grid-template-columns: repeat(auto-fit, minmax(min(100%, 290px), 1fr)); }
.panels + .caption { margin-bottom: 1.4rem; }
figure { margin: 0; background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: .5rem;
  color: var(--ink); display: grid; place-items: center; }
figure svg { width: 100%; height: auto; max-height: 420px; display: block; }
figure svg image { image-rendering: pixelated; }
.caption { color: var(--soft); font-size: .9rem; margin: .6rem 0 0; max-width: 90ch; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .87rem; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .7rem; text-align: right; border-bottom: 1px solid var(--line); vertical-align: top; }
th { font-weight: 600; } td { white-space: nowrap; }
th[scope=row], thead th:first-child { text-align: left; }
.settings th, .settings td { text-align: left; white-space: normal; overflow-wrap: anywhere; }
.settings th code, .settings thead th { white-space: nowrap; overflow-wrap: normal; }
small { color: var(--soft); }
code, pre { font-family: ui-monospace, monospace; font-size: .87em; }
pre { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: .8rem 1rem; overflow-x: auto;
  white-space: pre-wrap; overflow-wrap: anywhere; }
@media (max-width: 640px) { body { font-size: 15px; } }
"""

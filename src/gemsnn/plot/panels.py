"""Plots for files and pages: several side by side as SVG and PNG, or each as SVG inside a page.

In a page, text and lines use ``currentColor``, so that they are legible in light and dark mode.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
from matplotlib.figure import Figure

from gemsnn.common.files import write_whole
from gemsnn.common.page import escape

INK = "#1f2933"
SIZE = (4.2, 3.1)  # inches


class Panel(NamedTuple):
    """A plot, with alternative text."""

    draw: Callable[..., Any]
    """Called with ``axes=``, like every function of :mod:`gemsnn.plot`."""
    about: str
    size: tuple[float, float] = SIZE


def save(panels: Sequence[Panel], path: Path) -> None:
    """All panels, three per row, as ``path.svg`` and ``path.png``."""
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    with style():
        width = sum(panel.size[0] for panel in panels[:columns])
        figure = Figure(figsize=(width, rows * max(panel.size[1] for panel in panels)), layout="constrained")
        ratios = [panel.size[0] for panel in panels[:columns]]
        places = figure.subplots(rows, columns, squeeze=False, width_ratios=ratios).ravel()
        for place in places[len(panels) :]:
            place.set_visible(False)
        for panel, axes in zip(panels, places, strict=False):
            panel.draw(axes=axes)
        for kind in ("svg", "png"):
            file = io.BytesIO()
            metadata: dict[str, Any] = {"Date": None} if kind == "svg" else {"Software": None}
            figure.savefig(file, format=kind, dpi=150, facecolor="white", metadata=metadata)
            write_whole(path.with_suffix(f".{kind}"), file.getvalue())


def in_page(panels: Sequence[Panel], name: str, small: bool = False) -> str:
    """Panels as a part of a page, side by side if there is room; ``name`` is unique within the page."""
    drawn = "".join(f"<figure>{svg(panel, f'{name}-{i}')}</figure>" for i, panel in enumerate(panels))
    return f'<div class="panels{" small" if small else ""}">{drawn}</div>'


def svg(panel: Panel, name: str) -> str:
    """A panel as SVG for a page; ``name`` prefixes its ids, to keep them unique within the page."""
    with style(), matplotlib.rc_context({"svg.hashsalt": name}):
        figure = Figure(figsize=panel.size, layout="constrained")
        panel.draw(axes=figure.add_subplot())
        file = io.StringIO()
        figure.savefig(file, format="svg", transparent=True, dpi=150, metadata={"Date": None})
    text = re.sub(r"<metadata>.*?</metadata>", "", file.getvalue(), flags=re.DOTALL)
    text = text[text.index("<svg") :]
    opening, rest = text.split(">", 1)
    opening = re.sub(r' (width|height)="[^"]*"', "", opening)
    described = opening.replace("<svg", f'<svg role="img" aria-label="{escape(panel.about)}"', 1)
    # Only tags are changed, never the text between them, which may be untrusted.
    return f"{described}>{re.sub(r'<[^>]*>', lambda tag: _tag_for_a_page(tag[0], name), rest)}".strip()


def _tag_for_a_page(tag: str, name: str) -> str:
    """A tag with the page's colour and font, and ids prefixed by ``name``."""
    tag = tag.replace(INK, "currentColor")
    tag = re.sub(r"(font: [^;\"]*?px) '[^;\"]*?sans-serif", r"\1 system-ui, sans-serif", tag)
    return re.sub(r'(id="|url\(#|href="#)', rf"\g<1>{name}-", tag)


@contextmanager
def style() -> Iterator[None]:
    """Matplotlib's settings for pages and reports."""
    settings: dict[Any, Any] = {
        "svg.fonttype": "none",
        "text.parse_math": False,  # a class may have the name $x$
        "font.size": 9,
        "axes.edgecolor": INK,
        "axes.labelcolor": INK,
        "axes.titlecolor": INK,
        "text.color": INK,
        "xtick.color": INK,
        "ytick.color": INK,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.color": INK,
        "grid.alpha": 0.13,
        "grid.linewidth": 0.6,
        "lines.linewidth": 1.8,
        "figure.max_open_warning": 0,
    }
    with matplotlib.rc_context(settings), warnings.catch_warnings():
        # Names of classes may have characters that the font lacks.
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        yield

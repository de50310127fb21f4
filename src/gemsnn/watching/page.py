"""The page that plays recordings, as one HTML file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from gemsnn.common.page import escape, page
from gemsnn.common.words import counted, printable
from gemsnn.training import DecoderSettings, Model
from gemsnn.watching.scene import Scene


def watch_page(
    model: Model,
    scenes: Sequence[Scene],
    *,
    title: str,
    about: str = "",
    lead: str | None = None,
    decoder: DecoderSettings | None = None,
    left_out: int = 0,
    order: str = "the least certain first",
    links: Sequence[tuple[str, str]] = (),
    live: str | None = None,
) -> str:
    """HTML that plays one recording, or a gallery of several, starting with the first.

    Parameters
    ----------
    title, about
        Title of the page, and what it shows: text, not HTML.
    lead
        Text below the title, instead of ``about`` with the decoder and the guarantee.
    decoder
        Decoder of the scenes. Default: the model's.
    left_out
        Number of recordings for which there was no room.
    order
        Order of several recordings, as text.
    links
        Names and addresses of other pages.
    live
        Address of the events of a live stream, instead of scenes.
    """
    data = {
        "classes": [printable(label) for label in model.classes],
        "scenes": [scene.to_dict() for scene in scenes],
        "live": live,
    }
    lead = _lead(model, about, decoder) if lead is None else lead
    header = f'<h1>{escape(title)}</h1><p class="lead">{escape(lead)}</p>'
    if links:
        anchors = (f'<a href="{escape(to)}">{escape(name)}</a>' for name, to in links)
        header += f"<nav>{''.join(anchors)}</nav>"
    main = _STAGE.format(name=escape(scenes[0].name if scenes else ""), light=_LIGHT if live is not None else "")
    if len(scenes) > 1:
        others = f"{left_out} more confident recordings not shown." if left_out else ""
        main += (
            f"<section><h2>{counted(len(scenes), 'recording')}, {escape(order)}</h2>"
            f'<div class="gallery" id="gallery"></div><p class="note">{others}</p></section>'
        )
    main += _TRANSPORT + f"{_script(data)}<script>{_part('player.js')}</script>"
    return page(title, header, main, _part("player.css"))


def _lead(model: Model, about: str, decoder: DecoderSettings | None) -> str:
    readout = model.decoder if decoder is None else decoder
    words = f"{about + ': ' if about else ''}{readout.name} decoder, {counted(readout.compartments, 'compartment')}. "
    if model.calibration is None or model.calibration.decoder != readout:
        return words + "Not calibrated for this decoder, so there are no sets of classes: see gemsnn calibrate."
    guarantee = model.calibration.guarantee
    return (
        f"{words}At any moment, the set contains the true class with a probability of at least "
        f"{100 * (1 - guarantee.alpha):g} %, for recordings like the {guarantee.n_recordings} used for calibration."
    )


def _script(data: dict[str, Any]) -> str:
    """JSON in a script element; escaped, so that no text in it can end the element."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c").replace("&", "\\u0026")
    return f'<script type="application/json" id="data">{text}</script>'


def _part(name: str) -> str:
    return files("gemsnn.watching").joinpath(name).read_text(encoding="utf-8")


_LIGHT = '<span><i class="live-light" id="light"></i><span id="light-words">waiting</span></span>'

_STAGE = """<noscript><p class="notice">This page needs JavaScript to play.</p></noscript>
<div class="watch" id="watch">
<div class="card eye"><h2><b id="eye-title">Events</b><span id="eye-key">
<span class="key"><i style="background:#f0761b"></i>brighter</span>
<span class="key"><i style="background:#3b82f6"></i>darker</span></span></h2>
<canvas id="eye" role="img" aria-label="events"></canvas></div>
<div class="card"><h2><span id="name">{name}</span><span id="truth"></span>{light}</h2>
<div class="said"><span class="answer" id="answer">…</span><span class="sure" id="sure"></span></div>
<div class="set" id="set"></div>
<div class="stop not" id="stop"></div>
<div class="lists"><canvas id="curves" role="img" aria-label="probability of each class over time"></canvas>
<div class="bars" id="bars"></div></div></div>
<div class="card wide"><h2><b id="hidden-title">Hidden spikes</b><span id="spent"></span></h2>
<canvas id="hidden" role="img" aria-label="hidden spikes over time"></canvas>
<p class="note" id="notes"></p></div>
</div>
"""

_TRANSPORT = """<div class="transport"><button class="play" id="play" type="button" aria-label="play">▶</button>
<input id="scrub" type="range" min="0" max="1" step="any" value="0" aria-label="position in time">
<output><span id="clock"></span><span id="whole"></span></output>
<button class="to-stop" id="to-stop" type="button" disabled>go to stop</button>
<select id="speed" aria-label="speed"><option value="0.1">0.1×</option><option value="0.25">0.25×</option>
<option value="0.5">0.5×</option><option value="1" selected>1×</option><option value="2">2×</option>
<option value="4">4×</option></select></div>
"""

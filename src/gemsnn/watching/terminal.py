"""Answers as they come, as bars in a terminal."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.bar import Bar
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from gemsnn.common.words import printable
from gemsnn.events.spikelist import SpikeList
from gemsnn.training import DecoderSettings, Model
from gemsnn.watching.scene import MOST_CLASSES, STEP_MS, Picture

PER_SECOND = 20  # pictures


def bars(
    classes: tuple[Any, ...],
    probabilities: NDArray[np.float64],
    members: NDArray[np.bool_] | None,
    line: str,
    stopped: str = "",
) -> Group:
    """One bar for each class; those that left the set are dim. What is known of the time stands below."""
    table = Table(box=None, show_header=False, padding=(0, 1), pad_edge=False)
    table.add_column(justify="right", max_width=24, no_wrap=True)
    table.add_column(width=42)
    table.add_column(justify="right")
    shown = np.sort(np.argsort(-probabilities, kind="stable")[:MOST_CLASSES])
    for c in shown:
        gone = members is not None and not members[c]
        best = c == probabilities.argmax()
        style = "bright_black" if gone else "green" if best else "blue"
        label = Text(printable(classes[c]), style="strike dim" if gone else "bold" if best else "")
        table.add_row(label, Bar(1.0, 0.0, float(probabilities[c]), width=40, color=style), f"{probabilities[c]:.2f}")
    lines: list[Table | Text] = [table, Text(line)]
    if len(shown) < len(classes):
        lines.append(Text(f"{len(shown)} of {len(classes)} classes are shown: the most probable", style="dim"))
    if members is not None:
        inside = ", ".join(printable(classes[c]) for c in np.flatnonzero(members)[:MOST_CLASSES])
        more = ", ..." if members.sum() > MOST_CLASSES else ""
        lines.append(Text(f"set: {{{inside}{more}}}"))
    if stopped:
        lines.append(Text(stopped, style="bold green"))
    return Group(*lines)


def play(
    model: Model,
    spikes: SpikeList,
    picture: Picture,
    console: Console,
    *,
    decoder: DecoderSettings | None = None,
    size: int = 1,
    speed: float = 1.0,
    wait: Callable[[float], None] = time.sleep,
) -> None:
    """Play a recording at the speed of its camera, or faster; where there is no terminal, only its end is printed."""
    how = model.decoder if decoder is None else decoder
    answers = model.predict_anytime([spikes.to_array(picture.n_inputs)], how)[0]
    sets, stopped = None, None
    if model.calibration is not None and model.calibration.decoder == how:
        sets = model.calibration.guarantee.sets(answers)
        stopped = model.calibration.guarantee.stop(answers, size)
    T, step_ms = len(answers.classes), picture.step_ms

    def told(steps: int) -> str:
        return f"{steps} steps" if step_ms is None else f"{steps * step_ms / 1000:.2f} s"

    def after(t: int) -> Group:
        verdict = ""
        if sets is not None and stopped is not None and t + 1 >= stopped.steps and stopped.sizes <= size:
            inside = ", ".join(printable(model.classes[c]) for c in np.flatnonzero(stopped.members))
            verdict = f"would have stopped after {told(int(stopped.steps))} with {{{inside}}}"
        line = f"after {told(t + 1)} of {told(T)}: {printable(model.classes[answers.classes[t]])}"
        return bars(model.classes, answers.probabilities[t], None if sets is None else sets[t], line, verdict)

    if not console.is_terminal:
        console.print(after(T - 1))
        return
    seconds = (step_ms or STEP_MS) / 1000 / speed
    stride = max(1, round(1 / PER_SECOND / seconds))
    with Live(after(0), console=console, auto_refresh=False) as live:
        for t in [*range(0, T - 1, stride), T - 1]:
            live.update(after(t), refresh=True)
            wait(seconds * stride)

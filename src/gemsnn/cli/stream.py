"""`gemsnn stream`: answers while a recording goes on."""

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from gemsnn.cli.evaluate import Compartments, DecoderOption, Run, SetSize, Which, load, stopping_rule
from gemsnn.cli.output import say, warnings_as_lines
from gemsnn.common.words import counted
from gemsnn.errors import ConfigError

IDLE = 0.25  # seconds without datagrams after which it is asked whether anything is in sight


def stream(
    run: Run,
    source: Annotated[
        str,
        typer.Argument(
            metavar="[SOURCE]",
            help="A recording to play back; udp:PORT or udp:HOST:PORT to listen on; - for standard input.",
        ),
    ] = "-",
    compartments: Compartments = None,
    decoder: DecoderOption = None,
    model: Which = None,
    stop: Annotated[
        float | None, typer.Option(min=0, max=1, help="Be content with an answer of this confidence, and go on.")
    ] = None,
    set_size: SetSize = 1,
    speed: Annotated[
        float, typer.Option(min=0, help="Of playing back: 1 is real time, 2 twice as fast; 0 as fast as possible.")
    ] = 1.0,
    binary: Annotated[
        bool, typer.Option("--binary", help="Standard input holds events of 13 bytes, not lines t,x,y,p.")
    ] = False,
    patience_ms: Annotated[
        float, typer.Option(min=0, help="How much later than a step's end an event may come, if not in order of time.")
    ] = 0.0,
    endless: Annotated[
        bool, typer.Option("--endless", help="Do not end a recording after the steps that the model was trained on.")
    ] = False,
    brief: Annotated[
        bool, typer.Option("--brief", help="Print an answer only when the class changes, and the last one.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON line per answer.")] = False,
) -> None:
    """Answers while a recording goes on: one after each time step, as events come.

    Events from standard input are lines t,x,y,p (time in microseconds), or with columns that can be recognised; an
    empty line ends a recording, and so does time that jumps back. Of a camera, or one recording after the other, what
    is left of a recording after a stop is passed over, and nothing is answered while nothing is in sight. A recording
    that is played back gives, at its end, the answer of gemsnn predict. Ctrl-C ends the stream.

    Example: gemsnn stream runs/first recordings/recording.aedat --speed 0 --stop 0.9
    """
    from gemsnn.cli.inputs import check_recordings_fit

    trained, how = load(run, model, decoder, compartments)
    check_recordings_fit(trained, run)
    with ExitStack() as open_things, warnings_as_lines():
        coming, key, live_source = open_source(trained, source, speed, binary, open_things)
        enough = stopping_rule(trained, how, set_size) if stop is None else stop
        live = trained.stream(
            how.kind, how.compartments, stop=enough, key=key, patience_us=round(patience_ms * 1000), endless=endless
        )  # fmt: skip
        say(
            f"{run}: {how.name} decoder, {counted(how.compartments, 'compartment')}; {_told(source, coming)}",
            error=True,
        )
        open_things.enter_context(_without_garbage_collection())
        try:
            _print_answers(live, coming, live_source, brief, as_json)
        except KeyboardInterrupt:
            say("interrupted", error=True)
            raise typer.Exit(130) from None
        finally:
            _complain(live, coming)


def open_source(
    model: Any, source: str, speed: float, binary: bool, open_things: ExitStack
) -> tuple[Iterable[Any], int, bool]:
    """What yields events, the key of the first recording's draws, and whether recordings follow one another."""
    from gemsnn.events import read_recording
    from gemsnn.events.container import is_prepared
    from gemsnn.events.sources import UdpSource, from_bytes, from_text, play
    from gemsnn.inference import recording_key

    if source == "-":
        return (from_bytes if binary else from_text)(sys.stdin.buffer), 0, True
    if source.startswith("udp:"):
        host, _, port = source.removeprefix("udp:").rpartition(":")
        if not port.isdecimal():
            raise ConfigError(f"{source}: give the port to listen on, as in udp:7777 or udp:127.0.0.1:7777")
        where = {"host": host.strip("[]")} if host else {}
        size = model.preprocessing.sensor_size
        return open_things.enter_context(UdpSource(int(port), **where, sensor_size=size, idle=IDLE)), 0, True
    if is_prepared(Path(source)):
        raise ConfigError(f"{source}: a prepared file holds time steps, not events; gemsnn predict takes it")
    events = read_recording(source)
    key = recording_key(model.bin(events, source))  # that of gemsnn predict
    return play(events, speed or None), key, False


def _told(source: str, coming: Any) -> str:
    if source == "-":
        waiting = " (one line t,x,y,p per event)" if sys.stdin.isatty() else ""
        return f"events from standard input{waiting}"
    return f"listening on UDP port {coming.port}" if source.startswith("udp:") else f"playing {source}"


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """The stream makes no reference cycles; looking for some would only interrupt it."""
    import gc

    was_enabled = gc.isenabled()
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.unfreeze()
        if was_enabled:
            gc.enable()


def _print_answers(live: Any, coming: Iterable[Any], again: bool, brief: bool, as_json: bool) -> None:
    first, before = live.key, None
    for answer in live.follow(coming, again=again):
        last, recording = answer.ended or answer.stop, live.key - first
        if not brief or last or answer.nothing or answer.label != before:
            line = _as_json(live, recording, answer) if as_json else _as_text(recording, answer)
            typer.echo(line)
            sys.stdout.flush()
        if answer.stop and not again:
            return
        before = None if last else answer.label


def _as_text(recording: int, answer: Any) -> str:
    from gemsnn.inference import UNLIKE

    if answer.nothing:
        return f"{'-':>4} {'-':>6} {answer.time_us / 1e6:>10.3f} s  nothing in sight"
    line = f"{recording:>4} {answer.step:>6} {answer.time_us / 1e6:>10.3f} s  {answer.label}  {answer.confidence:.3f}"
    if answer.labels is not None:
        line += f"  {{{', '.join(map(str, answer.labels))}}}"
    if answer.unusual:
        line += f"  {UNLIKE}{'; no guarantee' if answer.labels is not None else ''}"
    return line + ("  stop" if answer.stop else "") + ("  end" if answer.ended else "")


def _as_json(live: Any, recording: int, answer: Any) -> str:
    if answer.nothing:
        return json.dumps({"recording": None, "time_us": answer.time_us, "class": None, "nothing": True})
    told: dict[str, Any] = {
        "recording": recording,
        "step": answer.step,
        "time_us": answer.time_us,
        "class": answer.label,
        "confidence": answer.confidence,
        "probabilities": dict(zip(map(str, live.classes), answer.probabilities.tolist(), strict=True)),
        "hidden_spikes": answer.hidden_spikes,
        "stop": answer.stop,
        "ended": answer.ended,
        "usual": answer.usual,
    }
    if answer.usual is not None:
        told["unusual"] = answer.unusual
    if answer.labels is not None:
        told["set"] = list(answer.labels)
    return json.dumps(told)


def _complain(live: Any, coming: Any) -> None:
    """What got lost on the way."""
    if live.late:
        say(f"warning: {live.late} events came too late, and were left out: see --patience-ms", error=True)
    if getattr(coming, "lost", 0):
        say(f"warning: {coming.lost} datagrams were lost", error=True)
    if getattr(coming, "refused", 0):
        say(f"warning: {coming.refused} datagrams were malformed, and left out", error=True)

"""`gemsnn stream`: answers while events arrive."""

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from gemsnn.cli.evaluate import Compartments, DecoderOption, Run, SetSize, Which, load, stopping_rule
from gemsnn.cli.output import Json, say, warnings_as_lines
from gemsnn.common.words import counted
from gemsnn.errors import ConfigError

IDLE = 0.25  # seconds without datagrams after which a recording may be over


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
        float | None, typer.Option(min=0, max=1, help="Stop at the first answer with at least this confidence.")
    ] = None,
    set_size: SetSize = 1,
    speed: Annotated[float, typer.Option(min=0, help="Playback speed: 1 is real time, 0 as fast as possible.")] = 1.0,
    binary: Annotated[bool, typer.Option("--binary", help="Standard input has events of 13 bytes, not lines.")] = False,
    patience_ms: Annotated[float, typer.Option(min=0, help="How late events may arrive, in ms.")] = 0.0,
    endless: Annotated[
        bool, typer.Option("--endless", help="Do not end a recording after the number of steps of the training data.")
    ] = False,
    brief: Annotated[bool, typer.Option("--brief", help="Print only new answers, and the last one.")] = False,
    as_json: Json = False,
) -> None:
    """Answer after every time step while events arrive, or while a recording is played back.

    Standard input has one event per line, t,x,y,p with time in microseconds, or with columns named in the first line.
    An empty line ends a recording, as does time that goes backwards. After a stop, the rest of that recording is
    skipped; while nothing moves, there are no answers. A recording that is played back ends with the answer of
    `gemsnn predict`. Ctrl-C ends the stream.

    Example: gemsnn stream runs/first recordings/recording.aedat --speed 0 --stop 0.9
    """
    from gemsnn.cli.inputs import check_classes, check_recordings_fit

    trained, readout = load(run, model, decoder, compartments)
    check_classes(trained, run)
    check_recordings_fit(trained, run)
    with ExitStack() as opened, warnings_as_lines():
        events, key, several = open_source(trained, source, speed, binary, opened)
        rule = stopping_rule(trained, readout, set_size) if stop is None else stop
        live = trained.stream(
            readout.kind,
            readout.compartments,
            stop=rule,
            key=key,
            patience_us=round(patience_ms * 1000),
            endless=endless,
        )
        compartments_used = counted(readout.compartments, "compartment")
        say(f"{run}: {readout.name} decoder, {compartments_used}; {_described(source, events)}", error=True)
        if not as_json:
            say(f"{'':>4} {'step':>6} {'time':>10}    class and confidence", error=True)
        opened.enter_context(_without_garbage_collection())
        try:
            _print_answers(live, events, several, brief, as_json)
        except KeyboardInterrupt:
            say("interrupted", error=True)
            raise typer.Exit(130) from None
        finally:
            _report_losses(live, events)


def open_source(
    model: Any, source: str, speed: float, binary: bool, opened: ExitStack
) -> tuple[Iterable[Any], int, bool]:
    """An iterable of events, the key of the first recording's draws, and whether there are several recordings."""
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
        address = {"host": host.strip("[]")} if host else {}
        size = model.preprocessing.sensor_size
        return opened.enter_context(UdpSource(int(port), **address, sensor_size=size, idle=IDLE)), 0, True
    if is_prepared(Path(source)):
        raise ConfigError(f"{source}: a prepared file contains time steps, not events; use gemsnn predict")
    events = read_recording(source)
    key = recording_key(model.bin(events, source))  # that of gemsnn predict
    return play(events, speed or None), key, False


def _described(source: str, events: Any) -> str:
    if source == "-":
        hint = " (one line t,x,y,p per event)" if sys.stdin.isatty() else ""
        return f"events from standard input{hint}"
    return f"listening on UDP port {events.port}" if source.startswith("udp:") else f"playing {source}"


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """The loop creates no reference cycles, and a collection would delay answers by milliseconds."""
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


def _print_answers(live: Any, events: Iterable[Any], several: bool, brief: bool, as_json: bool) -> None:
    first, previous = live.key, None
    for answer in live.follow(events, again=several):
        last, recording = answer.ended or answer.stop, live.key - first
        if not brief or last or answer.nothing or answer.label != previous:
            line = _as_json(live, recording, answer) if as_json else _as_text(recording, answer)
            typer.echo(line)
            sys.stdout.flush()
        if answer.stop and not several:
            return
        previous = None if last else answer.label


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
    line: dict[str, Any] = {
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
        line["unusual"] = answer.unusual
    if answer.labels is not None:
        line["set"] = list(answer.labels)
    return json.dumps(line)


def _report_losses(live: Any, events: Any) -> None:
    if live.late:
        say(f"warning: {counted(live.late, 'event')} came too late: see --patience-ms", error=True)
    if getattr(events, "lost", 0):
        say(f"warning: {counted(events.lost, 'datagram')} lost", error=True)
    if getattr(events, "refused", 0):
        say(f"warning: {counted(events.refused, 'malformed datagram')} skipped", error=True)

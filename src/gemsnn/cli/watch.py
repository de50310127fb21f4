"""`gemsnn watch`: a page that plays recordings and the model's answers."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gemsnn.cli.evaluate import (
    Compartments,
    DecoderOption,
    Run,
    SetSize,
    SplitOption,
    Which,
    load,
    promises,
    stopping_rule,
)
from gemsnn.cli.output import ForcePage, refuse_existing, say, warnings_as_lines
from gemsnn.errors import DataError

if TYPE_CHECKING:
    from gemsnn.watching import Item, Picture


def watch(
    run: Run,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A recording, a folder of recordings, or a prepared file; with --live any source of gemsnn stream.",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", help="Page to write.", dir_okay=False)] = Path("watch.html"),
    force: ForcePage = False,
    most: Annotated[int, typer.Option("--most", min=1, help="Largest number of recordings on the page.")] = 24,
    split: SplitOption = "test",
    live: Annotated[bool, typer.Option("--live", help="Serve the page while a stream runs; Ctrl-C ends it.")] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="With --live: port; 0 is any free one.")] = 0,
    speed: Annotated[float, typer.Option(min=0.01, help="With --live: playback speed; 1 is real time.")] = 1.0,
    compartments: Compartments = None,
    decoder: DecoderOption = None,
    model: Which = None,
    set_size: SetSize = 1,
) -> None:
    """Write a page that plays a recording: events, hidden spikes, class probabilities, and when the model would stop.

    For a folder or a prepared file the page is a gallery, the least certain recordings first. It is one file that needs
    no network. With --live it is served on 127.0.0.1 while events arrive. Sets of classes are those of a model with a
    guarantee (`gemsnn calibrate`).

    Example: gemsnn watch runs/first digits.h5 --out watch.html
    """
    from gemsnn.cli.inputs import check_classes
    from gemsnn.watching import least_certain

    trained, readout = load(run, model, decoder, compartments)
    check_classes(trained, run)
    if live:
        _serve(trained, readout, run, str(file), set_size, port, speed)
        return
    refuse_existing("--out", out, force, but_pages=True)
    promises(trained, readout)
    options = {"decoder": readout, "size": set_size}
    with warnings_as_lines(), _items(trained, run, file, split) as (items, picture):
        ordered, errors = (items, []) if len(items) == 1 else least_certain(trained, items, picture, readout)
        for error in errors:
            say(f"error: {error}", error=True)
        if not ordered:
            raise DataError(f"{file}: contains no recordings to play")
        title = f"gemsnn watches {file.name}"
        gallery(trained, ordered[:most], picture, out, title=title, about=str(run), of=len(ordered), **options)
    if errors:
        say(f"{len(errors)} of {len(items)} recordings could not be read", error=True)
        raise typer.Exit(1)


@contextmanager
def _items(model: Any, run: Path, file: Path, split: str) -> "Iterator[tuple[list[Item], Picture]]":
    from gemsnn.cli.inputs import check_recordings_fit, evaluated_examples
    from gemsnn.events.container import is_prepared
    from gemsnn.events.recordings import recordings_in
    from gemsnn.watching import Picture, examples, recordings

    if not is_prepared(file):
        check_recordings_fit(model, run)
        yield recordings(model, recordings_in(file)), Picture.of(model)
        return
    with evaluated_examples(model, run, file, split) as (part, data):
        yield examples(data, part), Picture.of(model, data.grid)


def gallery(
    model: Any,
    items: "list[Item]",
    picture: "Picture",
    out: Path,
    *,
    decoder: Any = None,
    size: int = 1,
    of: int = 0,
    **words: Any,
) -> None:
    """Write the page; ``of`` is the number of recordings if not all are shown, ``words`` are texts of the page."""
    from gemsnn.common.files import write_whole
    from gemsnn.common.words import counted
    from gemsnn.watching import scenes_of, watch_page

    scenes = scenes_of(model, items, picture, decoder=decoder, size=size)
    left_out = max(of, len(items)) - len(scenes)
    page = watch_page(model, scenes, decoder=decoder, left_out=left_out, **words)
    write_whole(out, page.encode())
    say(f"{out}: {counted(len(scenes), 'recording')}, {len(page) / 1e6:.1f} MB; open it in a browser")


def _serve(model: Any, readout: Any, run: Path, source: str, size: int, port: int, speed: float) -> None:
    import time
    from contextlib import ExitStack

    from gemsnn.cli.inputs import check_recordings_fit
    from gemsnn.cli.stream import open_source
    from gemsnn.watching import LiveServer, show, watch_page

    check_recordings_fit(model, run)
    with ExitStack() as opened, warnings_as_lines():
        events, key, several = open_source(model, source, speed, False, opened)
        live = model.stream(readout.kind, readout.compartments, stop=stopping_rule(model, readout, size), key=key)
        about = f"{run}, {source}"
        page = watch_page(model, [], title="gemsnn watch, live", about=about, decoder=readout, live="/events")
        server = opened.enter_context(LiveServer(page, port))
        played = source != "-" and not source.startswith("udp:")
        say(f"open {server.address} in a browser{'; it plays once the page is open' if played else ''}")
        try:
            while played and not server.somebody_came.wait(0.2):
                pass
            show(server, model, live, events, source, several)
            say("the stream has ended; Ctrl-C closes the page")
            while True:
                time.sleep(0.5)
        except KeyboardInterrupt:
            raise typer.Exit(0) from None

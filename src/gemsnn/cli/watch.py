"""`gemsnn watch`: look at a model while recordings play."""

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
    SplitName,
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
    out: Annotated[Path, typer.Option("--out", help="The page to write.", dir_okay=False)] = Path("watch.html"),
    force: ForcePage = False,
    most: Annotated[int, typer.Option("--most", min=1, help="Recordings of a folder or prepared file to show.")] = 24,
    split: Annotated[SplitName, typer.Option(help="Which examples of a prepared file.")] = SplitName.TEST,
    live: Annotated[
        bool, typer.Option("--live", help="Serve the page on this machine while a stream runs; Ctrl-C ends it.")
    ] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Of --live; 0 takes any that is free.")] = 0,
    speed: Annotated[float, typer.Option(min=0.01, help="Of --live: 2 plays twice as fast as the camera.")] = 1.0,
    compartments: Compartments = None,
    decoder: DecoderOption = None,
    model: Which = None,
    set_size: SetSize = 1,
) -> None:
    """A page that plays a recording: events, hidden spikes, probabilities, the set, and when it would have stopped.

    Of a folder or a prepared file the page is a gallery, the least certain recordings first. It is one file that needs
    no network; with --live it is served on 127.0.0.1 instead, while events come. Sets are those of a model that
    `gemsnn calibrate` gave a guarantee.

    Example: gemsnn watch runs/first digits.h5 --out watch.html
    """
    from gemsnn.watching import least_certain

    trained, how = load(run, model, decoder, compartments)
    if live:
        _serve(trained, how, run, str(file), set_size, port, speed)
        return
    refuse_existing("--out", out, force, but_pages=True)
    promises(trained, how)
    options = {"decoder": how, "size": set_size}
    with warnings_as_lines(), _items(trained, run, file, split) as (items, picture):
        ordered, errors = (items, []) if len(items) == 1 else least_certain(trained, items, picture, how)
        for error in errors:
            say(f"error: {error}", error=True)
        if not ordered:
            raise DataError(f"{file}: there is nothing to watch")
        title = f"gemsnn watches {file.name}"
        gallery(trained, ordered[:most], picture, out, title=title, about=str(run), of=len(ordered), **options)
    if errors:
        say(f"{len(errors)} of {len(items)} recordings could not be read", error=True)
        raise typer.Exit(1)


@contextmanager
def _items(model: Any, run: Path, file: Path, split: SplitName) -> "Iterator[tuple[list[Item], Picture]]":
    from gemsnn.cli.inputs import check_recordings_fit, fitting
    from gemsnn.events import open_prepared
    from gemsnn.events.container import is_prepared
    from gemsnn.events.recordings import recordings_in
    from gemsnn.watching import Picture, examples, recordings

    if not is_prepared(file):
        check_recordings_fit(model, run)
        yield recordings(model, recordings_in(file)), Picture.of(model)
        return
    with open_prepared(file) as prepared:
        data = fitting(model, prepared)
        part = data.test if split is SplitName.TEST else data.train
        if not len(part):
            raise DataError(f"{file}: the {split.value} split is empty, so there is nothing to watch")
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
    """Write the page; ``of`` is how many recordings there are, if not all are shown, ``words`` are the page's."""
    from gemsnn.common.files import write_whole
    from gemsnn.common.words import counted
    from gemsnn.watching import scenes_of, watch_page

    scenes = scenes_of(model, items, picture, decoder=decoder, size=size)
    left_out = max(of, len(items)) - len(scenes)
    page = watch_page(model, scenes, decoder=decoder, left_out=left_out, **words)
    write_whole(out, page.encode())
    say(f"{out}: {counted(len(scenes), 'recording')}, {len(page) / 1e6:.1f} MB; open it in a browser")


def _serve(model: Any, how: Any, run: Path, source: str, size: int, port: int, speed: float) -> None:
    import time
    from contextlib import ExitStack

    from gemsnn.cli.inputs import check_recordings_fit
    from gemsnn.cli.stream import open_source
    from gemsnn.watching import LiveServer, show, watch_page

    check_recordings_fit(model, run)
    with ExitStack() as open_things, warnings_as_lines():
        coming, key, again = open_source(model, source, speed, False, open_things)
        live = model.stream(how.kind, how.compartments, stop=stopping_rule(model, how, size), key=key)
        page = watch_page(model, [], title="gemsnn watches", about=f"{run}, {source}", decoder=how, live="/events")
        server = open_things.enter_context(LiveServer(page, port))
        played = source != "-" and not source.startswith("udp:")
        say(f"open {server.address} in a browser{'; it plays once the page is open' if played else ''}")
        try:
            while played and not server.somebody_came.wait(0.2):
                pass
            show(server, model, live, coming, source, again)
            say("the stream has ended; Ctrl-C closes the page")
            while True:
                time.sleep(0.5)
        except KeyboardInterrupt:
            raise typer.Exit(0) from None

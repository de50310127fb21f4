"""The command line: `gemsnn`. One file a command group, thin: parse, call, print."""

import os
import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line. What is behind it is loaded here, so that Ctrl-C ends it without a word at any time."""
    _open_what_is_closed()
    try:
        from gemsnn.cli.app import main as run

        run()
    except BaseException as error:
        if _was_interrupted(error):
            sys.exit(130)
        raise


def _was_interrupted(error: BaseException | None) -> bool:
    """Whether it comes of Ctrl-C: Python wraps that in an error of its own where it happens inside a class's making."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__
    return error is not None


def _open_what_is_closed() -> None:
    """Input and outputs that were closed (`>&-`) lead nowhere; else the next file to be opened takes their place."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115 (until the process ends)

"""The command line: `gemsnn`. One file per command group: parse, call, print."""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line. Everything is imported in here, so that Ctrl-C never shows a traceback."""
    try:
        from gemsnn.cli.app import main as run

        run()
    except BaseException as error:
        if _was_interrupted(error):
            sys.exit(130)
        raise


def _was_interrupted(error: BaseException | None) -> bool:
    """Whether Ctrl-C caused it: inside a class definition, Python wraps KeyboardInterrupt in another error."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__
    return error is not None

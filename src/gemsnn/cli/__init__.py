"""The command line: `gemsnn`. One file a command group, thin: parse, call, print."""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line. What is behind it is loaded here, so that Ctrl-C ends it without a word at any time."""
    try:
        from gemsnn.cli.app import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(130)

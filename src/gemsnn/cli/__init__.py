"""The command line: `gemsnn`. One file a command group, thin: parse, call, print."""

from gemsnn.cli.app import main

__all__ = ["main"]

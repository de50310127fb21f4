"""Parts of the user's own on the command line: a module that registers them is imported before the command runs."""

import runpy
from importlib import import_module
from pathlib import Path

from gemsnn.errors import ConfigError


def import_parts(name: str) -> None:
    """Import a module by its name, or run a file that ends in .py."""
    try:
        if name.endswith(".py"):
            runpy.run_path(name, run_name=Path(name).stem)
        else:
            import_module(name)
    except ImportError as error:
        raise ConfigError(f"--import {name}: {error}; give a file that ends in .py, or a module's name") from error
    except OSError as error:
        raise ConfigError(f"--import {name}: cannot be read: {error.strerror or error}") from None

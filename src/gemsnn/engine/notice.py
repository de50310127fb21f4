"""Say so when the engine is being compiled: it takes some seconds, once; the result is kept on disk."""

from __future__ import annotations

import sys
from typing import Any

from numba.core import event


class _Announcer(event.Listener):
    """Speaks once a process, and only when Numba really compiles one of our kernels (not when its cache has it)."""

    announced = False

    def on_start(self, happening: Any) -> None:
        function = happening.data["dispatcher"].py_func
        if not self.announced and function.__module__.startswith("gemsnn."):
            self.announced = True
            print("gemsnn: compiling the engine for this machine (once; the result is kept on disk)", file=sys.stderr)

    def on_end(self, happening: Any) -> None:
        pass


def announce_compilation() -> None:
    """From now on, compiling a kernel is announced on standard error."""
    event.register("numba:compile", _Announcer())  # type: ignore[no-untyped-call]

"""Ctrl-C and SIGTERM as requests to stop: finish the current example, save, exit."""

from __future__ import annotations

import os
import signal
from types import FrameType, TracebackType
from typing import Any, Self

_SHOW_CURSOR = b"\x1b[?25h"


class StopSignals:
    """In its ``with`` block, the first SIGINT or SIGTERM is only recorded; the second ends the process immediately.

    Calling it returns whether a signal was received.
    """

    SIGNALS = (signal.SIGINT, signal.SIGTERM)

    def __init__(self) -> None:
        self.received: signal.Signals | None = None
        self._before: dict[signal.Signals, Any] = {}

    def __call__(self) -> bool:
        return self.received is not None

    @property
    def exit_code(self) -> int:
        """Exit code of a process that was ended by the signal: 130 or 143; 0 if there was none."""
        return 0 if self.received is None else 128 + self.received

    def __enter__(self) -> Self:
        for number in self.SIGNALS:
            self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.received = signal.Signals(number)
        for other in self.SIGNALS:
            # The default action is immediate; Python's KeyboardInterrupt would wait for the running kernel.
            # Files are safe, since writing can be interrupted at any time.
            signal.signal(other, signal.SIG_DFL)
        for terminal in (1, 2):
            if os.isatty(terminal):  # a live display may have hidden the cursor
                os.write(terminal, _SHOW_CURSOR)
                break

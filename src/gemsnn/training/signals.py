"""Ctrl-C and SIGTERM as a wish to stop: finish the example at hand, save, leave."""

from __future__ import annotations

import os
import signal
from types import FrameType, TracebackType
from typing import Any, Self

_SHOW_CURSOR = b"\x1b[?25h"


class StopSignals:
    """While in its ``with`` block, the first SIGINT or SIGTERM is only noted; the second ends the process at once.

    Calling it tells whether a signal came.
    """

    SIGNALS = (signal.SIGINT, signal.SIGTERM)

    def __init__(self) -> None:
        self.received: signal.Signals | None = None
        self._before: dict[signal.Signals, Any] = {}

    def __call__(self) -> bool:
        return self.received is not None

    @property
    def exit_code(self) -> int:
        """What a process ended by the signal returns to a shell: 130 or 143; 0 if none came."""
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
            # The system's own way, which waits for nobody: Python's KeyboardInterrupt would come only after the
            # kernel that is running. Whatever is written can be cut off at any instant.
            signal.signal(other, signal.SIG_DFL)
        for terminal in (1, 2):
            if os.isatty(terminal):  # a display may have hidden the cursor, and will not be asked to show it
                os.write(terminal, _SHOW_CURSOR)
                break

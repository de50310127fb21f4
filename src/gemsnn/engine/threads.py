"""Work that is shared out over threads. Compiled kernels run without the interpreter's lock, so threads really help.

Threads are started without the objects of ``threading``: when Python clears one of those away, a Ctrl-C is lost.
"""

from __future__ import annotations

import _thread
import time
from collections.abc import Callable


def share_out(work: Callable[[int], None], number: int, threads: int) -> None:
    """Call ``work(0)`` to ``work(number - 1)``, in this thread and ``threads - 1`` others; who is free takes the next.

    If one fails (Ctrl-C, no memory) nothing more is begun; the exception goes on when no thread is at work any more.
    """
    numbers = iter(range(number))
    begun: list[int] = []
    ended: list[int] = []
    problems: list[BaseException] = []
    at_work = [_thread.allocate_lock() for _ in range(min(threads, number) - 1)]  # locked until a helper has ended

    def take_part() -> None:
        for index in numbers:
            if problems:
                return
            work(index)

    def help_out(helper: int) -> None:
        begun.append(helper)
        try:
            take_part()
        except BaseException as problem:
            problems.append(problem)
        finally:
            ended.append(helper)
            at_work[helper].release()

    try:
        for helper, lock in enumerate(at_work):
            lock.acquire()
            _thread.start_new_thread(help_out, (helper,))
        take_part()
        for lock in at_work:
            lock.acquire()
    except BaseException as problem:
        problems.append(problem)
        those = set(begun)  # who begins only now, finds a problem and does nothing
        while not those.issubset(ended):
            time.sleep(0.001)
        raise
    if problems:
        raise problems[0]

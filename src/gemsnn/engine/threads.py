"""Work divided among threads. Compiled kernels release the interpreter's lock, so threads run in parallel.

Threads are started by ``_thread``: a Ctrl-C that arrives while Python deletes an object of ``threading`` is lost.
"""

from __future__ import annotations

import _thread
import time
from collections.abc import Callable


def share_out(work: Callable[[int], None], number: int, threads: int) -> None:
    """Call ``work(0)`` to ``work(number - 1)``, in this thread and ``threads - 1`` more; free threads take the next.

    If a call fails (Ctrl-C, out of memory) no further call begins; the exception is raised once all threads have ended.
    """
    numbers = iter(range(number))
    begun: list[int] = []
    ended: list[int] = []
    problems: list[BaseException] = []
    running = [_thread.allocate_lock() for _ in range(min(threads, number) - 1)]  # locked until a helper has ended

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
            running[helper].release()

    try:
        for helper, lock in enumerate(running):
            lock.acquire()
            _thread.start_new_thread(help_out, (helper,))
        take_part()
        for lock in running:
            lock.acquire()
    except BaseException as problem:
        problems.append(problem)
        to_end = set(begun)  # a thread that begins only now finds the problem and does nothing
        while not to_end.issubset(ended):
            time.sleep(0.001)
        raise
    if problems:
        raise problems[0]

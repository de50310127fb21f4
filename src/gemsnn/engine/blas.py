"""Matrix products on one thread: their result must not depend on how many threads the machine has."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


def single_threaded_blas() -> AbstractContextManager[Any]:
    """While it lasts, BLAS uses one thread."""
    limit: AbstractContextManager[Any] = _controller().limit(limits=1)
    return limit

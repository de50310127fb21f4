"""Matrix products on one thread: their result must not depend on how many threads the machine has."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import numpy as np
from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


def flags_ignored() -> np.errstate:
    """While it lasts, and in this thread only, the processor's floating-point flags are not turned into warnings.

    BLAS computes some vector lanes only to throw them away, and can thus raise "invalid value" or "overflow" in a
    product of finite numbers. Whether numbers are finite is asked of the numbers: ``learning.learn.check_finite``.
    """
    return np.errstate(over="ignore", invalid="ignore")


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """While it lasts, BLAS uses one thread, and this thread ignores its flags."""
    with _controller().limit(limits=1), flags_ignored():
        yield

"""Stratified and grouped splits, and stratified orders."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Draw = Callable[[int, int], NDArray[np.intp]]
"""A random permutation of n, given the class and n."""


def strata(labels: NDArray[Any] | None, n: int) -> NDArray[np.int64]:
    """(n,) stratum of each example, 0, 1, ...

    For (n,) labels, the class; for (n, C) 0/1 labels, the combination of labels; without labels, a single stratum.

    Examples
    --------
    >>> strata(np.array([[1, 0], [1, 1], [1, 0]]), 3)
    array([0, 1, 0])
    """
    if labels is None:
        return np.zeros(n, dtype=np.int64)
    return np.unique(labels, axis=0, return_inverse=True)[1].astype(np.int64).reshape(n)


def stratified_share(labels: NDArray[Any], count: Callable[[int], int], draw: Draw) -> NDArray[np.bool_]:
    """(n,) mask of `count(size)` random examples of each class."""
    taken = np.zeros(len(labels), dtype=np.bool_)
    for members in _drawn(labels, draw):
        taken[members[: count(len(members))]] = True
    return taken


def group_share(groups: NDArray[Any], fraction: float, draw: Draw) -> NDArray[np.bool_]:
    """(n,) mask of whole random groups with a fraction of all examples, as closely as possible.

    For a fraction between 0 and 1 and at least two groups, at least one group is taken and one is not.

    Examples
    --------
    >>> group_share(np.array(["anna", "bo", "anna", "cy"]), 0.5, lambda _, n: np.arange(n))
    array([ True, False,  True, False])
    """
    names, member_of, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    order = draw(0, len(names))
    so_far = np.concatenate([[0], sizes[order].cumsum()])
    count = int(np.abs(so_far - fraction * len(groups)).argmin())
    if 0 < fraction < 1 and len(names) > 1:
        count = min(max(count, 1), len(names) - 1)
    taken: NDArray[np.bool_] = np.isin(member_of, order[:count])
    return taken


def stratified_order(labels: NDArray[Any], draw: Draw) -> NDArray[np.intp]:
    """A random order in which every prefix has the classes in nearly the right proportion."""
    rank = np.empty(len(labels))
    for members in _drawn(labels, draw):
        rank[members] = (np.arange(len(members)) + 0.5) / len(members)
    return np.argsort(rank, kind="stable")


def _drawn(labels: NDArray[Any], draw: Draw) -> Iterator[NDArray[np.intp]]:
    """The members of each class, in random order."""
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        yield members[draw(int(label), len(members))]

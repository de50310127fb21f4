"""What a state holds: each form of the engine declares its arrays, and a state that comes back is held against them.

Kernels do not look where they read and write. So whatever became of a state on its way is noticed before they see it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from gemsnn.common.words import shown
from gemsnn.errors import ConfigError, ShapeError

AS_IT_CAME = "pass result.state of an earlier call as it is"


class Kept(NamedTuple):
    """One array. Real numbers must be finite, whole ones between ``least`` and ``most``, or ``besides``."""

    shape: tuple[int, ...]
    dtype: DTypeLike
    least: ArrayLike = 0
    most: ArrayLike | None = None
    besides: int | None = None


Declared = Mapping[str, Kept]


def length(kept: Mapping[str, Any], name: str, axis: int = 0) -> int:
    """Of an array whose length only the state knows; 0 if it is none, which its declaration will tell."""
    array = kept.get(name)
    return array.shape[axis] if isinstance(array, np.ndarray) and array.ndim > axis else 0


def check_arrays(kept: Mapping[str, Any], declared: Declared) -> None:
    """Refuse arrays that are not what was declared."""
    if set(kept) != set(declared):
        odd = ", ".join(shown(name) for name in {*kept} ^ {*declared})
        raise ConfigError(f"state lacks or has too much: {odd}: {AS_IT_CAME}")
    for name, want in declared.items():
        _check(name, kept[name], want)


def _check(name: str, array: Any, want: Kept) -> None:
    dtype = np.dtype(want.dtype)
    if not isinstance(array, np.ndarray) or array.dtype != dtype:
        found = getattr(array, "dtype", type(array).__name__)
        raise ConfigError(f"{name} of the state is {found}, but {dtype} is needed: {AS_IT_CAME}")
    if array.shape != want.shape:
        raise ShapeError(f"{name} of the state has shape {array.shape}, but {want.shape} is needed: {AS_IT_CAME}")
    if not _sensible(array, want):
        raise ConfigError(f"{name} of the state holds numbers that no step can have left there: {AS_IT_CAME}")


def _sensible(array: NDArray[Any], want: Kept) -> bool:
    if array.dtype.kind == "f":
        return bool(np.isfinite(array).all())
    fits = array >= want.least
    if want.most is not None:
        fits &= array <= want.most
    if want.besides is not None:
        fits |= array == want.besides
    return bool(fits.all())

"""One sequence, an array of sequences, or a list of sequences of different lengths, all handled alike."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gemsnn.errors import ShapeError
from gemsnn.model.checks import spike_array

AT_ONCE = 1 << 24  # sequences times steps, compartments and neurons; bounds the memory


def recording_key(inputs: ArrayLike) -> int:
    """The key of the random draws of a (T, n_inputs) sequence: a 63-bit hash of its spikes.

    It makes an answer depend on the recording and the seed only, not on other recordings. Pass it as ``example`` to
    :func:`gemsnn.learn` or as ``key`` to a stream to get the draws of :func:`gemsnn.predict`.
    """
    spikes = np.asarray(inputs)
    digest = hashlib.blake2b(repr(spikes.shape).encode(), digest_size=8)
    digest.update(np.packbits(spikes != 0).tobytes())
    return int.from_bytes(digest.digest(), "little") >> 1


class Piece(NamedTuple):
    """Some sequences of equal length."""

    places: NDArray[np.intp]  # (n,): their indices among all
    spikes: NDArray[np.uint8]  # (n, T, n_inputs)


class Sequences:
    """Validated inputs; an error names the invalid one of a list.

    Attributes
    ----------
    given
        The form of the inputs.
    each
        (T, n_inputs) spikes of each sequence.
    """

    def __init__(self, inputs: ArrayLike, n_inputs: int) -> None:
        self.given: Literal["one", "array", "list"]
        self.each: Sequence[NDArray[np.uint8]] | NDArray[np.uint8]
        shape = {"T": None, "n_inputs": n_inputs}
        if _is_list(inputs):
            self.given = "list"
            self.each = [spike_array(f"inputs[{n}]", one, shape) for n, one in enumerate(inputs)]  # type: ignore[arg-type]
        elif np.ndim(inputs) == 3:
            self.given, self.each = "array", spike_array("inputs", inputs, {"N": None, **shape})
        else:
            self.given, self.each = "one", spike_array("inputs", inputs, shape)[None]

    def __len__(self) -> int:
        return len(self.each)

    def match(self, name: str, value: Any, check: Callable[..., NDArray[Any]], **sizes: int) -> Sequence[NDArray[Any]]:
        """(T, ...) of each sequence, from a value of the same form as the inputs."""
        if self.given == "list":
            if not isinstance(value, list | tuple) or len(value) != len(self):
                raise ShapeError(f"{name} must be a list of {len(self)}, one for each sequence in the list of inputs")
            return [
                check(f"{name}[{n}]", one, {"T": len(self.each[n]), **sizes}) for n, one in enumerate(value)
            ]  # fmt: skip
        N, T = np.shape(self.each)[:2]
        if self.given == "array":
            return list(check(name, value, {"N": N, "T": T, **sizes}))
        return [check(name, value, {"T": T, **sizes})]

    def keys(self, places: NDArray[np.intp], example: int | None) -> list[int]:
        """Keys of the random draws of some sequences: ``example + n``; if that is None, their :func:`recording_key`."""
        return [recording_key(self.each[n]) if example is None else example + int(n) for n in places]

    def pieces(self, n_compartments: int, n_neurons: int) -> Iterator[Piece]:
        """All sequences, in groups of equal length and bounded size."""
        lengths = np.array([len(one) for one in self.each], dtype=np.intp)
        for length in np.unique(lengths):
            group = np.flatnonzero(lengths == length)
            size = max(1, AT_ONCE // max(1, length * n_compartments * n_neurons))
            for first in range(0, len(group), size):
                places = group[first : first + size]
                together = isinstance(self.each, np.ndarray)
                spikes = self.each[places[0] : places[-1] + 1] if together else [self.each[n] for n in places]
                yield Piece(places, np.asarray(spikes))


def _is_list(inputs: Any) -> bool:
    """Whether this is a list of sequences, and not one sequence as a nested list of rows."""
    return isinstance(inputs, list | tuple) and (not inputs or any(_depth(one) >= 2 for one in inputs))


def _depth(value: Any) -> int:
    if isinstance(value, list | tuple):
        return 1 + max(map(_depth, value), default=0)
    return int(np.ndim(value))

"""From a seed and what draws are for to what NumPy seeds its generators with, so that no two uses share draws."""

from __future__ import annotations

_WORD = 1 << 32


def words(seed: int, *key: int) -> list[int]:
    """Numbers for :class:`numpy.random.SeedSequence`, different ones for any two seeds and keys of one length.

    NumPy cuts every number into words of 32 bits and puts them in a row, so that ``[a + b * 2**32, c]`` and
    ``[a, b, c]`` are the same to it. A larger seed is therefore marked by a second word that no key begins with.

    Examples
    --------
    >>> words(3, 7, 1), words(3 + 7 * 2**32, 1)
    ([3, 7, 1], [3, 4294967295, 7, 1])
    """
    return [seed, *key] if seed < _WORD else [seed % _WORD, _WORD - 1, seed // _WORD, *key]

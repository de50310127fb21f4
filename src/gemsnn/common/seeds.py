"""Seeds for NumPy generators, such that no two uses of one seed share random numbers."""

from __future__ import annotations

_WORD = 1 << 32


def words(seed: int, *key: int) -> list[int]:
    """Entropy for :class:`numpy.random.SeedSequence`, unique for each seed and key of a given length.

    NumPy splits every number into 32-bit words and concatenates them, so that ``[a + b * 2**32, c]`` and ``[a, b, c]``
    are equivalent. Seeds of more than 32 bits are therefore marked by a second word with which no key begins.

    Examples
    --------
    >>> words(3, 7, 1), words(3 + 7 * 2**32, 1)
    ([3, 7, 1], [3, 4294967295, 7, 1])
    """
    return [seed, *key] if seed < _WORD else [seed % _WORD, _WORD - 1, seed // _WORD, *key]

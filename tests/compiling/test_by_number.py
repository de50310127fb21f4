"""Members of a tuple, picked by their numbers in a loop, are what they were."""

from typing import NamedTuple

import numpy as np
import pytest

from gemsnn.compiling.by_number import laid_out, member
from gemsnn.compiling.jit import kernel


class Member(NamedTuple):
    number: int
    chosen: bool
    values: np.ndarray
    factor: float


@kernel()
def scaled(all_members, n_members, result):
    """Write to the arrays of the chosen members, and what was read of all."""
    members = laid_out(all_members)
    for index in range(n_members):
        m = member(members, index)
        result[index] = m.number * m.factor + m.values.shape[1]
        if m.chosen:
            for i in range(m.values.shape[0]):
                m.values[i, -1] *= m.factor


@pytest.mark.parametrize("n_members", [1, 2, 3])
def test_each_member_is_read_and_its_arrays_are_written_to(n_members):
    members = tuple(Member(i, i != 1, np.full((3 + i, 2 + i), 10.0 + i), 0.5 + i) for i in range(3))
    result = np.zeros(3)
    scaled(members, n_members, result)
    for i, m in enumerate(members):
        expected = np.full((3 + i, 2 + i), 10.0 + i)
        if i < n_members:
            assert result[i] == i * (0.5 + i) + 2 + i
            expected[:, -1] *= 0.5 + i if i != 1 else 1
        np.testing.assert_array_equal(m.values, expected)

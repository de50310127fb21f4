"""The positions to evaluate at, against the list of them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemsnn.training.points import EvaluationPoints


def listed(every, at, steps, total):
    points = at or range(every, math.ceil(total * steps), every)
    return {math.ceil(point / steps) for point in points if point < total * steps} | {total}


@given(
    st.integers(1, 300),
    st.lists(st.integers(1, 2000), max_size=5),
    st.one_of(st.integers(1, 40).map(float), st.floats(1, 40)),
    st.integers(1, 60),
)
def test_they_are_those_of_the_list(every, at, steps, total):
    points, expected = EvaluationPoints(every, at, steps, total), listed(every, at, steps, total)
    assert {position for position in range(total + 5) if position in points} == expected
    assert len(points) == len(expected)
    for position in range(total + 2):
        assert points.after(position) == sum(point > position for point in expected)


@pytest.mark.parametrize(("every", "count"), [(1, 10**15), (100, 8 * 10**13)])
def test_a_run_of_any_length_takes_no_memory(every, count):
    assert EvaluationPoints(every, (), 8.0, 10**15).after(0) == pytest.approx(count)

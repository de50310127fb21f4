"""Where batches end and which of these positions are evaluated at, against lists of them."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gemsnn.training.evaluations import Batches, EvaluationPoints

sizes = st.one_of(st.just(1), st.integers(1, 12))


def ends(epoch, size, total):
    """Of all batches of a run, by walking through it."""
    position, found = 0, []
    while position < total:
        position += min(size, epoch - position % epoch, total - position)
        found.append(position)
    return found


@given(st.integers(1, 10), sizes, st.integers(1, 60))
def test_batches_begin_anew_in_each_epoch_and_the_last_may_be_short(epoch, size, total):
    batches, expected = Batches(epoch, size, total), ends(epoch, size, total)
    found = [0]
    while found[-1] < total:
        found.append(batches.end(found[-1]))
        assert batches.start(found[-1]) == found[-2]
    assert found == [0, *expected]
    assert [position for position in range(-1, total + 3) if position in batches] == found
    assert [batches.count(p) for p in range(total + 1)] == [sum(e <= p for e in expected) for p in range(total + 1)]


@given(
    st.integers(1, 300),
    st.lists(st.integers(1, 2000), max_size=5),
    st.fractions(1, 40, max_denominator=50),
    st.tuples(st.integers(1, 20), sizes, st.integers(1, 60)),
)
def test_a_run_is_evaluated_where_the_batch_ends_that_reaches_a_point(every, at, steps, shape):
    batches, expected = Batches(*shape), set()
    total = batches.total
    for point in at or range(every, math.ceil(total * steps), every):
        expected |= {min((end for end in ends(*shape) if end * steps >= point), default=total)}
    expected |= {total}
    points = EvaluationPoints(every, at, steps, batches)
    assert {position for position in range(total + 5) if position in points} == expected
    for position in [0, *ends(*shape)]:
        left = sum(point > position for point in expected)
        # A short batch at the end of an epoch may hold no point though every whole batch holds one.
        epochs_left = math.ceil(total / batches.epoch)
        assert left <= points.after(position) <= left + (epochs_left if batches.size > 1 and not at else 0)


@pytest.mark.parametrize(("every", "count"), [(1, 10**15), (100, 8 * 10**13)])
def test_a_run_of_any_length_takes_no_memory(every, count):
    points = EvaluationPoints(every, (), Fraction(8), Batches(100, 1, 10**15))
    assert points.after(0) == pytest.approx(count)

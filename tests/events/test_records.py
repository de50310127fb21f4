import numpy as np
import pytest

from gemsnn import DataError
from gemsnn.events import EVENT_DTYPE, as_events


def test_tonic_arrays_of_any_field_order_and_type_are_taken() -> None:
    tonic = np.array([(5, 1, 2, True), (9, 3, 4, False)], dtype=[("t", "<u8"), ("x", "<i4"), ("y", "u1"), ("p", "?")])
    events = as_events(tonic)
    assert events.dtype == EVENT_DTYPE
    assert events.tolist() == [(1, 2, 5, 1), (3, 4, 9, 0)]


def test_our_own_events_are_passed_through_without_a_copy(dvs_events: np.ndarray) -> None:
    assert as_events(dvs_events) is dvs_events


def test_polarity_minus_one_is_off() -> None:
    raw = np.array([(0, 0, 0, -1), (0, 0, 1, 1)], dtype=[("x", int), ("y", int), ("t", int), ("p", int)])
    assert as_events(raw)["p"].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("array", "complaint"),
    [
        ([(1, 2, 3, 0)], "list"),
        (np.zeros((3, 4)), r"float64 of shape \(3, 4\)"),
        (np.zeros(3, dtype=[("x", int), ("y", int), ("timestamp", int), ("p", int)]), "field t is missing"),
        (np.zeros((2, 2), dtype=EVENT_DTYPE), "one-dimensional"),
        (np.array([(0, 0, 0, 2)], dtype=EVENT_DTYPE), "event 0 has polarity p = 2"),
        (np.array([(70_000, 0, 0, 1)], dtype=[("x", int), ("y", int), ("t", int), ("p", int)]), "x = 70000"),
        (np.array([(0, 0, 0.5, 1)], dtype=[("x", int), ("y", int), ("t", float), ("p", int)]), r"t = 0\.5"),
        (np.array([(0, 0, np.nan, 1)], dtype=[("x", int), ("y", int), ("t", float), ("p", int)]), "t = nan"),
        (np.array([(0, 0, 2.0**63, 1)], dtype=[("x", int), ("y", int), ("t", float), ("p", int)]), "t = 9.2"),
        (np.array([(0, 0, "a", 1)], dtype=[("x", int), ("y", int), ("t", "U1"), ("p", int)]), "field t"),
    ],
)
def test_anything_else_is_refused_with_what_is_wrong(array: object, complaint: str) -> None:
    with pytest.raises(DataError, match=complaint):
        as_events(array)

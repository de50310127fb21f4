from typing import NamedTuple

import pytest

from gemsnn.common.words import duration, plus_minus, printable, with_interval


class Mean(NamedTuple):
    mean: float
    low: float | None
    high: float | None
    n: int


@pytest.mark.parametrize(("seconds", "text"), [(None, "?"), (59.6, "0:01:00"), (3661, "1:01:01")])
def test_durations_are_told_in_hours_minutes_and_seconds(seconds, text):
    assert duration(seconds) == text


def test_a_mean_is_told_with_half_the_width_of_its_interval():
    assert plus_minus(Mean(0.973, 0.969, 0.977, 5), 100) == "97.3 ± 0.4"
    assert plus_minus(Mean(0.0214, None, None, 1), digits=3) == "0.021"


def test_an_effect_is_told_with_its_sign_and_both_ends():
    assert with_interval(Mean(1.2, 0.8, 1.6, 5)) == "+1.2 [0.8, 1.6]"
    assert with_interval(Mean(-1.2, None, None, 1)) == "-1.2 (no interval from 1 seed)"


def test_a_name_cannot_command_a_terminal():
    assert printable("\x1b[31mred\nnext\x00") == "�[31mred�next�"
    assert printable("Zürich [/red] $x$ 数") == "Zürich [/red] $x$ 数"

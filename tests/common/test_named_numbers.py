"""Settings reach compiled functions as numbers, by their names."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from gemsnn.common.named_numbers import named_numbers
from gemsnn.errors import ConfigError


@dataclass
class Settings:
    gain: float = 2
    order: int = 3
    quiet: bool = True


def test_each_field_is_the_kind_of_number_that_its_annotation_says():
    numbers = named_numbers(Settings(gain=np.float32(0.5), quiet=np.bool_(False)))
    assert numbers._asdict() == {"gain": 0.5, "order": 3, "quiet": False}
    assert [type(value) for value in numbers] == [float, int, bool]
    assert type(named_numbers(Settings())) is type(numbers)


def test_a_value_that_is_no_number_is_refused_by_name():
    with pytest.raises(ConfigError, match="gain must be of type float, got 'high'"):
        named_numbers(Settings(gain="high"))


def test_a_field_that_cannot_be_a_number_asks_for_a_method():
    @dataclass
    class Fancy:
        baseline: float | None = None

    with pytest.raises(ConfigError, match=r"Fancy.baseline is declared as float \| None.*settings\(\)"):
        named_numbers(Fancy())

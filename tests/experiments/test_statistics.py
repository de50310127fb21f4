import numpy as np
import pytest
from scipy import stats

from gemsnn.experiments.statistics import estimate, slopes


def test_the_interval_is_students_t() -> None:
    values = np.random.default_rng(0).normal(3, 2, 7)
    found = estimate(values, 0.9)
    low, high = stats.t.interval(0.9, 6, loc=values.mean(), scale=stats.sem(values))
    assert (found.mean, found.low, found.high) == pytest.approx((values.mean(), low, high))


def test_one_seed_gives_no_interval_and_therefore_nothing_sure() -> None:
    found = estimate([1.0])
    assert found.low is None
    assert found.high is None
    assert (found.above, found.below) == (-np.inf, np.inf)


def test_the_interval_covers_the_truth_as_often_as_it_says() -> None:
    rng = np.random.default_rng(1)
    hits = sum(found.above < 5 < found.below for found in (estimate(rng.normal(5, 1, 4)) for _ in range(2000)))
    # 95 % of 2000 is 1900, with a standard deviation of 10
    assert 1860 < hits < 1940


def test_slopes_are_those_of_least_squares() -> None:
    rng = np.random.default_rng(2)
    x, values = np.log2([1, 2, 5, 10, 20]), rng.normal(size=(3, 5))
    assert slopes(x, values) == pytest.approx([np.polyfit(x, row, 1)[0] for row in values])

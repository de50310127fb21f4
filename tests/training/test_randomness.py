import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gemsnn.training.randomness import Purpose, derived_seed, epoch_order, hold_out, stratified_order, stream


@given(n=st.integers(0, 50), seed=st.integers(0, 2**63 - 1), epoch=st.integers(0, 1000))
def test_an_epoch_presents_every_example_once(n, seed, epoch):
    assert sorted(epoch_order(n, seed, epoch)) == list(range(n))


def test_orders_differ_between_epochs_and_seeds_and_depend_on_nothing_else():
    order = epoch_order(100, 3, 5)
    assert np.array_equal(order, epoch_order(100, 3, 5))
    assert not np.array_equal(order, epoch_order(100, 3, 6))
    assert not np.array_equal(order, epoch_order(100, 4, 5))


def test_no_seed_however_large_shares_the_draws_of_another():
    uses = [(seed + high * 2**32, purpose) for seed in (0, 3) for high in (0, 1, 7) for purpose in Purpose]
    draws = [tuple(stream(seed, purpose, *key).random(2)) for seed, purpose in uses for key in ((), (1,), (7, 1))]
    assert len(set(draws)) == len(draws)
    assert len({derived_seed(seed, purpose) for seed, purpose in uses}) == len(uses)


def test_every_order_is_equally_likely():
    """Chi-squared over the six orders of three things."""
    counts = np.zeros(6)
    for epoch in range(1200):
        order = epoch_order(3, 0, epoch)
        counts[2 * order[0] + (order[1] > order[2])] += 1
    statistic = ((counts - 200) ** 2 / 200).sum()
    assert statistic < 20.5  # 99.9 % of chi-squared with 5 degrees of freedom


@given(
    labels=st.lists(st.integers(0, 3), min_size=1, max_size=60),
    fraction=st.floats(0, 0.99),
    seed=st.integers(0, 1000),
)
def test_the_hold_out_takes_its_share_of_each_class_and_leaves_one_to_learn_from(labels, fraction, seed):
    labels = np.array(labels)
    training, validation = hold_out(labels, fraction, seed)
    assert sorted([*training, *validation]) == list(range(len(labels)))
    for label in np.unique(labels):
        count, held = (labels == label).sum(), (labels[validation] == label).sum()
        assert count - held >= 1
        if fraction == 0:
            assert held == 0
        elif count > 1:
            assert held == min(max(round(fraction * count), 1), count - 1)


def test_hold_outs_differ_between_seeds():
    labels = np.arange(100) % 2
    assert not np.array_equal(hold_out(labels, 0.2, 0)[1], hold_out(labels, 0.2, 1)[1])


@given(sizes=st.lists(st.integers(1, 40), min_size=1, max_size=4), seed=st.integers(0, 1000), data=st.data())
def test_every_beginning_of_a_stratified_order_has_the_classes_in_proportion(sizes, seed, data):
    labels = np.repeat(np.arange(len(sizes)), sizes)
    order = stratified_order(labels, seed)
    assert sorted(order) == list(range(len(labels)))
    taken = data.draw(st.integers(0, len(labels)))
    for label, size in enumerate(sizes):
        assert abs((labels[order[:taken]] == label).sum() - taken * size / len(labels)) < len(sizes)


def test_seeds_of_different_purposes_never_meet():
    seeds = {derived_seed(seed, purpose) for seed in range(200) for purpose in Purpose}
    assert len(seeds) == 200 * len(Purpose)
    assert all(0 <= seed < 2**63 for seed in seeds)

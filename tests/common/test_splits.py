import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gemsnn.common.splits import strata, stratified_order, stratified_share
from gemsnn.events.prepared import stratified_split
from gemsnn.training.randomness import hold_out

LABELS = np.array([0, 1, 2, 0, 1, 0, 0, 1, 2, 0, 3])


def test_a_seed_gives_the_split_that_it_always_gave():
    """Recorded numbers: whoever named a seed in a report must get the same examples again."""
    assert np.flatnonzero(stratified_split(LABELS, 0.3, seed=7) == "test").tolist() == [0, 1, 5, 8]
    assert hold_out(LABELS, 0.3, seed=7)[1].tolist() == [0, 4, 6, 8]


def test_examples_without_labels_are_one_class_and_combinations_of_labels_are_classes():
    assert strata(None, 3).tolist() == [0, 0, 0]
    assert strata(np.array([5, 2, 5]), 3).tolist() == [1, 0, 1]
    assert strata(np.array([[0, 1], [1, 1], [0, 1]]), 3).tolist() == [0, 1, 0]


@given(labels=st.lists(st.integers(0, 3), max_size=40), share=st.integers(0, 5))
def test_each_class_gives_its_count_and_no_example_is_taken_twice(labels, share):
    labels = np.array(labels, dtype=np.int64)
    rng = np.random.default_rng(0)
    taken = stratified_share(labels, lambda n: min(n, share), lambda label, n: rng.permutation(n))
    for label in np.unique(labels):
        assert taken[labels == label].sum() == min(share, (labels == label).sum())
    assert sorted(stratified_order(labels, lambda label, n: rng.permutation(n))) == list(range(len(labels)))

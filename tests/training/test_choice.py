"""Which evaluation is the best: by validation where that can tell, else the last."""

import pytest
import toy

from gemsnn.events import open_prepared
from gemsnn.training import TrainingConfig, trainer_of
from gemsnn.training.evaluations import FEWEST_TO_CHOOSE, better, is_the_last
from gemsnn.training.from_settings import evaluations_of


def figures(accuracy: float, nll: float, examples: int) -> dict[str, float]:
    return {"accuracy": accuracy, "nll": nll, "log_likelihood": -10 * nll, "examples": examples}


@pytest.mark.parametrize(
    ("by", "examples", "later_is_better"),
    [
        (None, FEWEST_TO_CHOOSE, False),
        (None, FEWEST_TO_CHOOSE - 1, True),
        ("accuracy", 10, False),
        ("nll", 10, True),
        ("log_likelihood", 10, True),
    ],
)
def test_a_later_model_with_less_accuracy_is_better_where_few_examples_were_asked_or_something_else(
    by, examples, later_is_better
):
    assert better(figures(0.8, 0.5, examples), figures(0.9, 0.6, examples), by) == later_is_better


def test_equal_accuracies_are_told_apart_by_nll():
    assert better(figures(0.9, 0.5, 100), figures(0.9, 0.6, 100), None)
    assert not better(figures(0.9, 0.6, 100), figures(0.9, 0.6, 100), None)


def test_spike_patterns_are_judged_by_their_log_likelihood_however_few():
    assert not better({"log_likelihood": -3.0, "examples": 2}, {"log_likelihood": -2.0, "examples": 2}, None)


def test_few_validation_examples_neither_stop_a_run_nor_choose_its_model(tmp_path):
    with open_prepared(toy.prepared(tmp_path / "toy.h5")) as data:
        trainer = trainer_of(toy.config(rule={"learning_rate": 0}, epochs=None, eval_every=200 * toy.N_STEPS), data)
        trainer.run()
    assert not trainer.stopped_early
    assert trainer.state.progress.best == trainer.state.progress.last


@pytest.mark.parametrize(("n_validation", "patience"), [(FEWEST_TO_CHOOSE, 7), (FEWEST_TO_CHOOSE - 1, None)])
def test_patience_that_is_not_given_follows_from_the_number_of_examples(n_validation, patience):
    for settings, expected in (({}, patience), ({"patience": 3}, 3), ({"epochs": 4}, None)):
        assert evaluations_of(TrainingConfig.make(**settings)).patience_for(20, n_validation) == expected


def test_what_was_not_evaluated_is_not_the_last():
    assert not is_the_last(None, None)
    assert is_the_last(figures(0.8, 0.5, 3), None)
    assert not is_the_last(figures(0.8, 0.5, 3), "accuracy")

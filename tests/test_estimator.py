import inspect
from inspect import signature

import numpy as np
import pytest
import toy
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import gemsnn
from gemsnn import ConfigError, DataError, GEMClassifier, ShapeError, SpikingClassifier
from gemsnn.estimator import GROUPS
from gemsnn.events import open_prepared
from gemsnn.training import RunDirectory, TrainingConfig, train
from gemsnn.training.config import rule_table
from gemsnn.training.randomness import epoch_order

QUICK = {"n_hidden": 6, "n_compartments": 2, "learning_rate": 1e-2, "epochs": 2, "validation_fraction": 0.0}


def spiking(**settings):
    return SpikingClassifier(**toy.arguments(**settings))


def paper(**settings):
    return GEMClassifier(**toy.arguments(**settings))


@pytest.fixture(scope="module")
def problem():
    return toy.examples(48)


@pytest.fixture(scope="module")
def fitted(problem):
    return spiking(**QUICK).fit(*problem)


# ---- the same as the trainer


def test_fitting_gives_what_training_gives_for_the_same_settings_and_seed(tmp_path):
    with open_prepared(toy.prepared(tmp_path / "toy.h5")) as data:
        X, y = data.train.read(np.arange(len(data.train))), np.array(data.classes)[data.train.labels]
        for changes in ({"validation_fraction": 0.2, "eval_every": 200}, {"seed": 4, "average_last": 0.5}):
            settings = {**QUICK, "validation_fraction": 0.0, **changes}
            settings["rule.learning_rate"] = settings.pop("learning_rate")
            config = TrainingConfig.make(**settings)
            train(config, data, tmp_path / str(config.seed))
            model = RunDirectory(tmp_path / str(config.seed)).load_model()
            seed = changes.pop("seed", 0)
            classifier = spiking(**{**QUICK, **changes}, random_state=seed).fit(X, y)
            assert classifier.parameters_ == model.parameters
            assert np.array_equal(classifier.predict_proba(X), model.predict(X).probabilities)
            assert classifier.classes_.tolist() == list(model.classes)


def test_the_best_model_has_the_means_of_its_own_evaluation_as_in_a_run(tmp_path):
    choice = {"validation_fraction": 0.2, "eval_every": 200, "select_by": "accuracy", "epochs": 4}
    settings = {**QUICK, **choice}
    with open_prepared(toy.prepared(tmp_path / "toy.h5")) as data:
        X, y = data.train.read(np.arange(len(data.train))), np.array(data.classes)[data.train.labels]
        classifier = spiking(**settings).fit(X, y)
        settings["rule.learning_rate"] = settings.pop("learning_rate")
        train(TrainingConfig.make(**settings), data, tmp_path / "run")
    means = RunDirectory(tmp_path / "run").load_model().means
    assert means.count == classifier.model_.means.count < classifier.n_examples_seen_
    assert np.array_equal(means.value, classifier.model_.means.value)


def test_the_defaults_in_the_signature_are_those_of_the_configuration_and_so_of_the_command_line():
    assert SpikingClassifier()._config(seed=0) == TrainingConfig()
    named = {name: p.default for name, p in signature(SpikingClassifier).parameters.items()}
    assert len(named) == 13
    config = TrainingConfig()
    for name in named.keys() & TrainingConfig.model_fields.keys() - {"rule"}:
        assert named[name] == getattr(config, name), name
    assert named["rule"] == rule_table(config.rule)["kind"]
    for name, group in GROUPS.items():
        assert all(getattr(named[name], field) == getattr(config, field) for field in group.model_fields)
        assert all(f"``{field}``" in inspect.getdoc(SpikingClassifier) for field in group.model_fields)
    assert all(f"\n{name}\n    " in inspect.getdoc(SpikingClassifier) for name in named)


def test_the_gem_classifier_has_the_paper_s_rule_and_settings(problem):
    # What X holds is the caller's choice, polarities included.
    assert GEMClassifier()._config(seed=0) == TrainingConfig.make("paper", merge_polarities=False)
    named = {name: p.default for name, p in signature(GEMClassifier).parameters.items()}
    assert (named["n_compartments"], named["rule"], named["decoder"]) == (20, "gem", "vote")
    by_name, by_preset = (
        paper(**QUICK).fit(*problem),
        spiking(**QUICK, rule=gemsnn.GEM()).fit(*problem),
    )
    assert by_name._config(seed=0).rule == by_preset._config(seed=0).rule == gemsnn.GEM(1e-2)
    assert by_name.network_.visible_memory
    assert by_name.parameters_ != by_preset.parameters_  # its filters are the paper's too


@pytest.mark.parametrize("rule", [gemsnn.MB(), "mb", {"kind": "mb"}, {"kind": "mb", "learning_rate": 5.0}], ids=str)
def test_a_rule_may_be_given_as_an_object_a_name_or_settings(rule, problem):
    classifier = spiking(**{**QUICK, "learning_rate": None}, rule=rule).set_params(rule__learning_rate=1e-3)
    expected = spiking(**{**QUICK, "learning_rate": None}, rule=gemsnn.MB(1e-3)).fit(*problem)
    assert classifier.get_params()["rule__learning_rate"] == 1e-3
    assert classifier.fit(*problem).parameters_ == expected.parameters_


def test_every_setting_of_learning_can_be_set():
    """What is left out concerns files, reports or the command line."""
    left_out = {"validation_limit", "test_limit", "likelihood_samples", "n_bins", "extra_decoders", "eval_at"}
    left_out |= {"background", "likelihood_mean", "merge_polarities"}
    left_out |= {"objective", "objective_rule", "likelihood_first"}  # classes are learned for their likelihood
    names = set(TrainingConfig.model_fields) - left_out - {"seed", "checkpoint_seconds"}
    ours = {"network", "schedule", "preprocessing", "random_state", "verbose", "warm_start"}
    gathered = {name for group in GROUPS.values() for name in group.model_fields}
    assert names | ours == set(SpikingClassifier().get_params(deep=False)) | gathered
    paths = {f"{name}__{field}" for name, group in GROUPS.items() for field in group.model_fields}
    assert paths <= SpikingClassifier().get_params().keys()


# ---- scikit-learn's conventions


def test_parameters_can_be_read_set_and_cloned(fitted):
    classifier = spiking(n_hidden=7, decoder="likelihood")
    assert classifier.get_params()["n_hidden"] == 7
    assert classifier.set_params(n_hidden=8) is classifier
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    assert not hasattr(copy, "classes_")
    assert repr(spiking(n_hidden=3)) == "SpikingClassifier(n_hidden=3)"


def test_settings_are_reached_by_their_paths_and_clones_keep_them():
    classifier = SpikingClassifier(schedule={"epochs": 3}, network=gemsnn.NetworkSettings(hidden_bias=-1.0))
    classifier.set_params(schedule__shift=0, network__synaptic_filter__duration=20, rule__kind="gem", rule__kappa=0.8)
    config = clone(classifier)._config(seed=0)
    assert (config.epochs, config.shift, config.hidden_bias) == (3, 0, -1.0)
    assert config.synaptic_filter == gemsnn.Exponential((2.0, 10.0, 80.0), 20)
    assert config.rule == gemsnn.GEM(kappa=0.8)
    params = classifier.get_params()
    assert (params["schedule__epochs"], params["network__hidden_bias"], params["rule__kappa"]) == (3, -1.0, 0.8)
    assert clone(classifier).get_params() == params
    usual = SpikingClassifier()
    assert usual.set_params(schedule__epochs=2).schedule == {"epochs": 2}
    assert SpikingClassifier().schedule == gemsnn.ScheduleSettings() == gemsnn.ScheduleSettings(epochs=2)(epochs=None)
    own = SpikingClassifier(rule=gemsnn.Feedback(gain=5.0)).set_params(rule__learning_rate=0.1)
    assert own.rule == gemsnn.Feedback(learning_rate=0.1, gain=5.0)


def test_of_the_paper_s_settings_only_those_that_are_named_change():
    config = GEMClassifier(schedule={"epochs": 1}, network={"hidden_bias": -1.0}, rule={"kappa": 0.5})._config(seed=0)
    changes = {"epochs": 1, "hidden_bias": -1.0, "rule.kappa": 0.5, "merge_polarities": False}
    assert config == TrainingConfig.make("paper", **changes)
    assert config.visible_memory


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"epochs": 3}, r"no argument epochs: give schedule=\{'epochs': ...\}; in a search it is schedule__epochs"),
        ({"grid": (3, 4)}, r"no argument grid: give network=\{'grid': ...\}; in a search it is network__grid"),
        ({"learning_rate": 0.1}, r"it is the rule's: give rule=\{'learning_rate': ...\}.*rule__learning_rate"),
        ({"seed": 3}, "it is random_state"),
        ({"n_hiden": 3}, "did you mean n_hidden"),
    ],
)
def test_an_argument_of_old_is_told_where_it_went(arguments, message):
    for make in (SpikingClassifier, GEMClassifier, SpikingClassifier().set_params):
        with pytest.raises(ConfigError, match=message):
            make(**arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"schedule": {"epoch": 3}}, "schedule.epoch: there is no such setting; did you mean epochs"),
        ({"schedule": {"n_hidden": 3}}, "schedule.n_hidden: there is no such setting"),
        ({"schedule": 3}, r"schedule = 3: must be gemsnn.ScheduleSettings\(...\), or a dictionary of its settings"),
        ({"network": {"hidden_bias": "low"}}, "hidden_bias = 'low': must be a number"),
        ({"schedule": {"epochs": 0}}, "epochs = 0: must be a whole number"),
    ],
)
def test_settings_that_cannot_be_are_for_fit_to_refuse(arguments, message, problem):
    classifier = SpikingClassifier(**arguments)
    classifier.get_params()
    with pytest.raises(ConfigError, match=message):
        classifier.fit(*problem)


def test_a_path_that_leads_nowhere_is_refused():
    with pytest.raises(ValueError, match="schedule__epoch: there is no such setting; did you mean epochs"):
        SpikingClassifier().set_params(schedule__epoch=3)


def test_constructing_checks_nothing_and_fitting_checks_everything(problem):
    classifier = spiking(n_hidden=-1, decoder="guess")
    with pytest.raises(ConfigError, match=r"n_hidden = -1.*decoder 'guess'"):
        classifier.fit(*problem)


@pytest.mark.parametrize("method", ["predict", "predict_proba"])
def test_predicting_before_fitting_is_an_error(problem, method):
    with pytest.raises(NotFittedError):
        getattr(spiking(), method)(problem[0])


def test_saving_before_fitting_is_an_error(tmp_path):
    with pytest.raises(NotFittedError):
        spiking().save(tmp_path / "model.safetensors")


def test_fitted_attributes(fitted, problem):
    assert fitted.classes_.tolist() == [2, 5, 7]
    assert fitted.n_inputs_ == 12
    assert fitted.n_examples_seen_ == 2 * 48
    assert fitted.network_.n_hidden == 6
    assert [record["epoch"] for record in fitted.history_] == [1, 2]
    assert fitted.fit(*problem) is fitted


def test_predictions_are_labels_and_probabilities_are_probabilities(fitted, problem):
    X, y = problem
    p = fitted.predict_proba(X)
    assert p.shape == (48, 3)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert set(fitted.predict(X)) <= {2, 5, 7}
    assert fitted.score(X, y) > 0.8
    assert fitted.score(X, y) == np.mean(fitted.predict(X) == y)


def test_prediction_is_pure(fitted, problem):
    before = fitted.parameters_.copy()
    assert np.array_equal(fitted.predict_proba(problem[0]), fitted.predict_proba(problem[0]))
    assert fitted.parameters_ == before


def test_fitting_leaves_its_arguments_alone(problem):
    X, y = problem[0].astype(float), problem[1].copy()
    copies = X.copy(), y.copy()
    spiking(**QUICK).fit(X, y)
    assert np.array_equal(X, copies[0])
    assert np.array_equal(y, copies[1])


def test_the_same_numbers_give_the_same_model_and_others_another(problem):
    models = [spiking(**{**QUICK, "epochs": 1}, random_state=seed).fit(*problem) for seed in (1, 1, 2)]
    assert models[0].parameters_ == models[1].parameters_
    assert models[0].parameters_ != models[2].parameters_
    free = [spiking(**{**QUICK, "epochs": 1}, random_state=None).fit(*problem) for _ in range(2)]
    assert free[0].parameters_ != free[1].parameters_
    state = np.random.RandomState(0)
    drawn = [spiking(**{**QUICK, "epochs": 1}, random_state=state).fit(*problem) for _ in range(2)]
    assert drawn[0].parameters_ != drawn[1].parameters_


@pytest.mark.parametrize(
    "labels",
    [["cat", "dog", "emu"], [-1.0, 0.0, 2.0], [10, 3, 7], np.array(["a", "b", "c"], dtype=object), [True, False, True]],
)
def test_labels_may_be_anything_that_can_be_sorted(problem, labels):
    y = np.array(labels)[np.arange(48) % 3]
    classifier = spiking(**QUICK).fit(problem[0], y)
    assert classifier.classes_.tolist() == sorted(set(labels))
    assert set(classifier.predict(problem[0]).tolist()) <= set(labels)
    assert classifier.score(problem[0], y) > 0.6


def test_several_labels_per_example_are_refused_with_a_pointer_to_what_takes_them(problem):
    with pytest.raises(gemsnn.ShapeError, match=r"one label per example; for several .*write_prepared"):
        spiking(**QUICK).fit(problem[0], np.zeros((len(problem[0]), 2), dtype=int))


def test_it_works_in_cross_validation(problem):
    scores = cross_val_score(spiking(**{**QUICK, "epochs": 4}), *problem, cv=StratifiedKFold(3))
    assert scores.mean() > 0.8


def test_it_works_at_the_end_of_a_pipeline(problem):
    pipeline = make_pipeline(FunctionTransformer(lambda X: X[:, ::2]), spiking(**{**QUICK, "epochs": 4}))
    assert pipeline.fit(*problem).score(*problem) > 0.7
    assert pipeline[-1].model_.n_steps == 10
    pipeline.set_params(spikingclassifier__n_hidden=3)
    assert pipeline[-1].n_hidden == 3


def test_it_works_in_a_grid_search(problem):
    search = GridSearchCV(
        spiking(**QUICK),
        {"n_hidden": [2, np.int64(3)], "decoder": ["vote", "likelihood"], "schedule__epochs": [1, 2]},
        cv=2,
    )
    search.fit(*problem)
    assert search.best_score_ > 0.5


@pytest.mark.parametrize("form", [list, lambda X: list(map(np.ndarray.tolist, X)), lambda X: X.astype(np.float32)])
def test_spikes_may_come_as_lists_or_numbers(fitted, problem, form):
    assert np.array_equal(fitted.predict_proba(form(problem[0])), fitted.predict_proba(problem[0]))


def test_a_column_of_arrays_will_do(fitted, problem):
    column = np.empty(48, dtype=object)
    column[:] = list(problem[0])
    assert np.array_equal(fitted.predict(column), fitted.predict(problem[0]))


@pytest.mark.parametrize(
    ("X", "y", "error", "message"),
    [
        (np.zeros((4, 3)), [0, 1, 0, 1], ShapeError, r"X has shape \(4, 3\), but \(n, T, n_inputs\)"),
        (np.zeros((4, 3, 2)), [0, 1, 0], ShapeError, "X has 4 examples, but y has 3 labels"),
        (np.full((4, 3, 2), 0.5), [0, 1, 0, 1], DataError, r"X must hold spikes, 0 or 1, but X\[0, 0, 0\] is 0.5"),
        (np.zeros((4, 3, 2)), [1, 1, 1, 1], DataError, "y has only one class, 1;"),
        (np.zeros((0, 3, 2)), [], ShapeError, "n of at least 1"),
        (np.zeros((4, 3, 2)), None, DataError, "y is needed"),
        (np.zeros((4, 3, 2)), [0.1, 0.2, 0.3, 0.4], ValueError, "Unknown label type"),
    ],
)
def test_what_cannot_be_learned_from_is_refused(X, y, error, message):
    with pytest.raises(error, match=message):
        spiking(**QUICK).fit(X, y)


def test_other_inputs_than_fitted_are_refused(fitted):
    with pytest.raises(ShapeError, match="X has 5 inputs per step, but this classifier was fitted with 12"):
        fitted.predict(np.zeros((2, 20, 5)))


def test_a_fitted_classifier_goes_to_other_processes(fitted, problem):
    import pickle

    copy = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(copy.predict_proba(problem[0]), fitted.predict_proba(problem[0]))


# ---- settings


def test_with_a_hold_out_the_model_is_the_best_one_on_it(problem):
    # At a constant step and without averaging, a run is the beginning of a longer one.
    settings = {**QUICK, "epochs": 6, "learning_rate_schedule": "constant", "average_last": 0.0, "nothing_share": 0}
    classifier = spiking(**{**settings, "validation_fraction": 0.3, "eval_every": 100}).fit(*problem)
    best = max((r["validation"] for r in classifier.history_), key=lambda v: (v["accuracy"], -v["nll"]))
    position = next(r["position"] for r in classifier.history_ if r["validation"] == best)
    shorter = spiking(**{**settings, "validation_fraction": 0.3, "max_time_samples": position * toy.N_STEPS}).fit(
        *problem
    )
    assert shorter.n_examples_seen_ == position
    assert classifier.parameters_ == shorter.parameters_


def test_patience_stops_early(problem):
    classifier = spiking(**{**QUICK, "learning_rate": 0.0, "epochs": 50, "validation_fraction": 0.3, "patience": 2})
    assert len(classifier.fit(*problem).history_) == 3


def test_filters_may_be_given_as_objects_or_settings(problem):
    by_object = spiking(**QUICK, synaptic_filter=gemsnn.Exponential((2.0,), 5)).fit(*problem)
    by_settings = spiking(**QUICK, synaptic_filter={"kind": "exponential", "time_constants": [2.0], "duration": 5}).fit(
        *problem
    )
    assert by_object.network_.synaptic_filter == gemsnn.Exponential((2.0,), 5)
    assert by_object.parameters_ == by_settings.parameters_


def test_how_to_read_out_may_be_changed_after_fitting(fitted, problem):
    classifier = clone(fitted).fit(*problem)
    votes = classifier.set_params(decoder="vote").predict_proba(problem[0])
    likelihood = classifier.set_params(decoder="likelihood", inference_compartments=10).predict_proba(problem[0])
    assert len(np.unique(votes)) <= 9
    assert len(np.unique(likelihood)) > 20
    assert (likelihood.argmax(axis=1) == np.arange(48) % 3).mean() > 0.9


def test_progress_is_shown_when_asked(problem, capsys):
    spiking(**QUICK).fit(*problem)
    assert capsys.readouterr().out == ""
    spiking(**QUICK, verbose=True).fit(*problem)
    assert "96 of 96 examples" in capsys.readouterr().out


# ---- learning on and on


def test_learning_in_pieces_equals_learning_in_one_go(problem):
    X, y = problem
    whole = spiking(**QUICK).partial_fit(X, y, classes=[2, 5, 7])
    pieces = spiking(**QUICK)
    for part in np.array_split(np.arange(48), 7):
        pieces.partial_fit(X[part], y[part], classes=[7, 5, 2])
    assert pieces.parameters_ == whole.parameters_
    assert pieces.n_examples_seen_ == 48


def test_an_epoch_of_fit_is_a_partial_fit_in_the_epoch_s_order(problem):
    X, y = problem
    order = epoch_order(48, 0, 0)
    plain = {"epochs": 1, "learning_rate_schedule": "constant", "average_last": 0.0}
    fitted = spiking(**{**QUICK, **plain}).fit(X, y)
    online = spiking(**QUICK).partial_fit(X[order], y[order], classes=[2, 5, 7])
    assert online.parameters_ == fitted.parameters_
    more = fitted.partial_fit(X, y)
    assert more.n_examples_seen_ == 96
    assert more.parameters_ != online.parameters_


def test_a_class_may_come_later(problem):
    X, y = problem
    early = y != 7
    classifier = spiking(**QUICK).partial_fit(X[early], y[early], classes=[2, 5, 7])
    for _ in range(6):
        classifier.partial_fit(X, y)
    assert classifier.score(X, y) > 0.8


def test_partial_fit_refuses_what_it_cannot_know(problem):
    X, y = problem
    with pytest.raises(ConfigError, match="must name all classes"):
        spiking(**QUICK).partial_fit(X, y)
    classifier = spiking(**QUICK).partial_fit(X[:3], y[:3], classes=[2, 5, 7])
    with pytest.raises(DataError, match=r"y holds .*9.*not among the classes \[2, 5, 7\]"):
        classifier.partial_fit(X[:1], [9])
    with pytest.raises(ConfigError, match="they cannot change"):
        classifier.partial_fit(X[:1], y[:1], classes=[2, 5])
    with pytest.raises(ShapeError, match="5 inputs"):
        classifier.partial_fit(np.zeros((1, 20, 5)), y[:1])


# ---- files


@pytest.mark.parametrize("labels", [[2, 5, 7], ["cat", "dog", "emu"], [0.0, 1.0, 2.0]])
def test_a_saved_model_predicts_and_learns_on_as_before(problem, tmp_path, labels):
    X, y = problem[0], np.array(labels)[np.arange(48) % 3]
    classifier = spiking(**QUICK, visible_memory=False, decoder="likelihood", random_state=3).fit(X, y)
    classifier.save(tmp_path / "model.safetensors")
    again = SpikingClassifier.load(tmp_path / "model.safetensors")
    assert np.array_equal(again.predict_proba(X), classifier.predict_proba(X))
    assert np.array_equal(again.predict(X), classifier.predict(X))
    assert again.classes_.dtype == classifier.classes_.dtype
    assert again.n_examples_seen_ == classifier.n_examples_seen_
    assert again.get_params()["rule"]["learning_rate"] == 1e-2
    assert clone(again).fit(X, y).parameters_ == classifier.parameters_
    assert again.partial_fit(X, y).parameters_ == classifier.partial_fit(X, y).parameters_


def test_the_model_of_a_training_run_can_be_loaded(tmp_path):
    with open_prepared(toy.prepared(tmp_path / "toy.h5")) as data:
        train(toy.config(), data, tmp_path / "run")
        X = data.test.read(np.arange(len(data.test)))
    classifier = SpikingClassifier.load(tmp_path / "run" / "best.safetensors")
    expected = RunDirectory(tmp_path / "run").load_model().predict(X)
    assert np.array_equal(classifier.predict_proba(X), expected.probabilities)


# ---- sets with a guarantee


def test_calibrated_sets_are_those_of_the_model_and_stay_with_it(tmp_path):
    X, y = toy.examples(90, seed=2)
    classifier = spiking(n_hidden=4, epochs=1).fit(X[:30], y[:30])
    assert classifier.calibrate(X[30:60], y[30:60], alpha=0.2, checkpoints=3) is classifier
    sets = classifier.predict_set(X[60:])
    assert sets.members.shape == (30, 3)
    expected = classifier.model_.calibration.guarantee.stop(classifier.model_.predict_anytime(X[60:]))
    assert all(np.array_equal(a, b) for a, b in zip(sets, expected, strict=True))
    assert classifier.predict_set(X[60:], size=2).steps.mean() <= sets.steps.mean()
    classifier.save(tmp_path / "calibrated.safetensors")
    again = gemsnn.SpikingClassifier.load(tmp_path / "calibrated.safetensors")
    assert all(np.array_equal(a, b) for a, b in zip(sets, again.predict_set(X[60:]), strict=True))


def test_examples_that_were_learned_from_are_no_use_for_calibration():
    X, y = toy.examples(60)
    classifier = spiking(n_hidden=4, epochs=1).fit(X[:30], y[:30])
    with pytest.raises(gemsnn.DataError, match="10 of the 40 examples in X were learned from"):
        classifier.calibrate(X[20:], y[20:], 0.2, 3)
    classifier.partial_fit(X[30:33], y[30:33])
    with pytest.raises(gemsnn.DataError, match="3 of the 30 examples in X were learned from"):
        classifier.calibrate(X[30:], y[30:], 0.2, 3)
    fresh = spiking(n_hidden=4).partial_fit(X[:9], y[:9], classes=[2, 5, 7])
    with pytest.raises(gemsnn.DataError, match="9 of the 60 examples in X were learned from"):
        fresh.calibrate(X, y)


def test_silence_is_nothing_that_was_seen_before():
    X, y = toy.examples(60)
    X[[0, 40]] = 0
    classifier = spiking(n_hidden=4, epochs=1).fit(X[:30], y[:30])
    assert classifier.calibrate(X[30:], y[30:], 0.2, 3).model_.calibration is not None


def test_learning_on_takes_the_guarantee_away():
    X, y = toy.examples(60)
    classifier = spiking(n_hidden=4, epochs=1).fit(X[:30], y[:30]).calibrate(X[30:], y[30:], 0.2, 3)
    classifier.partial_fit(X[:3], y[:3])
    with pytest.raises(gemsnn.CheckpointError, match="has no guarantee"):
        classifier.predict_set(X)

"""scikit-learn's conventions, held by its own checks and by its own meta-estimators."""

import numpy as np
import pytest
import toy
from flat import FlatClassifier
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import compute_sample_weight, estimator_checks

import gemsnn
from gemsnn import GEMClassifier, SpikingClassifier

QUICK = {"n_hidden": 6, "n_compartments": 2, "learning_rate": 1e-2, "epochs": 2, "validation_fraction": 0.0}


def spiking(**settings):
    return SpikingClassifier(**toy.arguments(**settings))


# ---- scikit-learn's own checks

# Nearly all of them make a table of numbers, which is not what spikes are. So they run on an adapter that turns a row
# of numbers into spikes and is else the classifier itself; and those that need no data run on the classifiers, too.
TABLE = FlatClassifier(
    n_hidden=8, rule={"learning_rate": 5e-3}, schedule={"epochs": 6, "validation_fraction": 0, "nothing_share": 0}
)
CANNOT_APPLY = {
    "check_sample_weight_equivalence_on_dense_data": "the examples are learned one by one at random draws, so an "
    "example that is shown twice moves the weights nearly, but not exactly, as one of weight 2 does; that a weight of "
    "0 is exactly as if the example was not there, and a weight of 1 as if there were no weights, is tested below"
}
NEED_NO_DATA = (
    "check_estimator_cloneable",
    "check_estimator_tags_renamed",
    "check_valid_tag_types",
    "check_estimator_repr",
    "check_no_attributes_set_in_init",
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_mixin_order",
    "check_parameters_default_constructible",
    "check_get_params_invariance",
    "check_set_params",
)


def test_the_checks_of_scikit_learn_pass_but_for_those_that_cannot_apply():
    done = estimator_checks.check_estimator(TABLE, on_fail=None, on_skip=None)
    failed = {result["check_name"]: result["exception"] for result in done if result["status"] == "failed"}
    assert failed.keys() == CANNOT_APPLY.keys(), failed
    assert sum(result["status"] == "passed" for result in done) > 50


@pytest.mark.parametrize("name", NEED_NO_DATA)
@pytest.mark.parametrize("classifier", [SpikingClassifier(), GEMClassifier()], ids=repr)
def test_checks_that_need_no_data_pass_on_the_classifiers_themselves(name, classifier):
    getattr(estimator_checks, name)(type(classifier).__name__, clone(classifier))


def test_the_classifier_says_that_it_takes_sequences():
    tags = spiking().__sklearn_tags__()
    assert tags.input_tags.three_d_array
    assert not tags.input_tags.two_d_array


# ---- inside scikit-learn's own estimators


@pytest.fixture(scope="module")
def problem():
    X, _ = toy.examples(48)
    return X, np.array(["cat", "dog", "emu"])[np.arange(48) % 3]


@pytest.fixture(scope="module")
def fitted(problem):
    return spiking(**QUICK).fit(*problem)


def test_labels_are_texts_and_score_knows_them(fitted, problem):
    X, y = problem
    assert fitted.score(X, y) == np.mean(fitted.predict(X) == y) > 0.8
    weights = np.arange(48.0)
    assert fitted.score(X, y, sample_weight=weights) == np.average(fitted.predict(X) == y, weights=weights)
    assert fitted.score(X, y.astype(object)) == fitted.score(X, list(y)) == fitted.score(X, y)


def test_log_probabilities_are_those_of_the_probabilities(fitted, problem):
    X = problem[0]
    np.testing.assert_allclose(np.exp(fitted.predict_log_proba(X)), fitted.predict_proba(X))
    certain = clone(fitted).set_params(decoder="likelihood").fit(*problem)
    assert not np.isnan(certain.predict_log_proba(X)).any()


def test_it_can_be_calibrated(problem):
    calibrated = CalibratedClassifierCV(spiking(**QUICK), cv=2).fit(*problem)
    p = calibrated.predict_proba(problem[0])
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert calibrated.score(*problem) > 0.6
    assert set(calibrated.predict(problem[0])) <= {"cat", "dog", "emu"}


def test_it_can_be_calibrated_after_fitting(fitted, problem):
    calibrated = CalibratedClassifierCV(FrozenEstimator(fitted), method="temperature").fit(*problem)
    assert calibrated.score(*problem) > 0.8


def test_it_can_vote(problem):
    members = [(str(seed), spiking(**QUICK, random_state=seed)) for seed in range(2)]
    ensemble = VotingClassifier(members, voting="soft").fit(*problem)
    expected = np.mean([member.predict_proba(problem[0]) for member in ensemble.estimators_], axis=0)
    np.testing.assert_allclose(ensemble.predict_proba(problem[0]), expected)
    assert ensemble.score(*problem) > 0.8


def test_weights_reach_it_through_a_pipeline_and_a_search(problem):
    X, y = problem
    weights = np.where(np.arange(48) < 40, 1.0, 0.0)
    pipeline = make_pipeline(FunctionTransformer(lambda X: X[:, ::2]), spiking(**QUICK))
    pipeline.fit(X, y, spikingclassifier__sample_weight=weights)
    plain = spiking(**QUICK).fit(X[:40, ::2], y[:40])
    assert pipeline[-1].parameters_ == plain.parameters_
    with config_context(enable_metadata_routing=True):
        classifier = spiking(**QUICK).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = GridSearchCV(classifier, {"n_hidden": [2, 3]}, cv=2).fit(X, y, sample_weight=weights)
    assert search.best_score_ > 0.4


def test_lists_of_different_lengths_go_through_a_search(problem):
    X, y = problem
    ragged = [example[: 12 + i % 3] for i, example in enumerate(X)]
    search = GridSearchCV(spiking(**QUICK), {"n_hidden": [2, 3]}, cv=2).fit(ragged, y)
    assert search.predict(ragged).shape == (48,)


# ---- weights


def parameters(problem, sample_weight=None, **settings):
    return spiking(**{**QUICK, **settings}).fit(*problem, sample_weight).parameters_


def test_weights_of_1_are_as_if_there_were_none_to_the_bit(problem):
    plain = parameters(problem)
    assert parameters(problem, np.ones(48)) == parameters(problem, 1.0) == plain
    assert parameters(problem, class_weight={"cat": 1.0, "dog": 1}) == plain
    assert parameters(problem, class_weight="balanced") == plain  # 16 of each


@pytest.mark.parametrize("validation_fraction", [0.0, 0.25])
def test_an_example_of_weight_0_is_as_if_it_was_not_there_to_the_bit(problem, validation_fraction):
    X, y = problem
    there = np.arange(48) % 5 != 3
    settings = {"validation_fraction": validation_fraction}
    assert parameters(problem, there, **settings) == parameters((X[there], y[there]), **settings)
    left_out = y != "cat"  # of a class that nobody counts, no example is left, but its neuron is
    classifier = spiking(**QUICK, class_weight={"cat": 0.0}).fit(X, y)
    assert classifier.classes_.tolist() == ["cat", "dog", "emu"]
    assert classifier.n_examples_seen_ == 2 * left_out.sum()
    assert "cat" not in classifier.predict(X)


def test_a_weight_is_a_factor_on_the_step_size(problem):
    assert parameters(problem, np.full(48, 0.5)) == parameters(problem, learning_rate=QUICK["learning_rate"] / 2)
    y = problem[1]
    by_class = parameters(problem, class_weight={"cat": 2.0, "emu": 0.5})
    assert by_class == parameters(problem, np.select([y == "cat", y == "emu"], [2.0, 0.5], 1.0))
    both = parameters(problem, np.full(48, 0.5), class_weight={"cat": 2.0, "emu": 0.5})
    assert both == parameters(problem, learning_rate=QUICK["learning_rate"] / 2, class_weight={"cat": 2.0, "emu": 0.5})


def test_balanced_classes_count_the_same_however_many_examples_they_have(problem):
    X, y = problem
    some = np.flatnonzero((y != "cat") | (np.arange(48) < 12))  # 4 cats, 16 dogs, 16 emus
    expected = compute_sample_weight("balanced", y[some])
    assert parameters((X[some], y[some]), class_weight="balanced") == parameters((X[some], y[some]), expected)


@pytest.mark.parametrize("labels", [[2, 5, 7], [0.0, 1.0, 2.0], [True, False, True], ["a b", 'c"d', "e.f"]], ids=str)
def test_class_weights_go_by_labels_of_any_kind_and_through_files(problem, labels, tmp_path):
    X, y = problem[0], np.array(labels)[np.arange(48) % 3]
    weights = {label: 0.5 + i for i, label in enumerate(dict.fromkeys(labels))}
    classifier = spiking(**QUICK, class_weight=weights).fit(X, y)
    expected = spiking(**QUICK).fit(X, y, [weights[label] for label in y.tolist()])
    assert classifier.parameters_ == expected.parameters_
    classifier.save(tmp_path / "model.safetensors")
    again = SpikingClassifier.load(tmp_path / "model.safetensors")
    assert again.class_weight == weights
    assert clone(again).fit(X, y).parameters_ == classifier.parameters_


def test_learning_on_heeds_weights_too(problem):
    X, y = problem
    classes = ["cat", "dog", "emu"]
    there = np.arange(48) % 5 != 3
    weighted = spiking(**QUICK).partial_fit(X, y, classes, sample_weight=there)
    assert weighted.parameters_ == spiking(**QUICK).partial_fit(X[there], y[there], classes).parameters_
    assert weighted.n_examples_seen_ == there.sum()
    plain = spiking(**QUICK).partial_fit(X, y, classes)
    assert plain.parameters_ == spiking(**QUICK).partial_fit(X, y, classes, np.ones(48)).parameters_
    half = spiking(**QUICK, class_weight={"cat": 0.5}).partial_fit(X, y, classes)
    expected = spiking(**QUICK).partial_fit(X, y, classes, np.where(y == "cat", 0.5, 1))
    assert half.parameters_ == expected.parameters_ != plain.parameters_


@pytest.mark.parametrize(
    ("settings", "weights", "message"),
    [
        ({}, np.zeros(48), "sample_weight: every weight is zero"),
        ({}, np.full(48, -1.0), "sample_weight must be finite numbers of at least 0"),
        ({}, np.full(48, np.nan), "sample_weight must be finite"),
        ({}, np.ones(47), r"sample_weight has shape \(47,\), but there are 48 examples"),
        ({}, ["heavy"] * 48, "sample_weight must be numbers"),
        ({"class_weight": {"cow": 1.0}}, None, "class_weight: 'cow' is not among the classes"),
        ({"class_weight": {"cat": -1.0}}, None, "class_weight.cat = -1.0: must be a number, >= 0"),
        ({"class_weight": "fair"}, None, "class_weight = 'fair'.*balanced"),
        ({"class_weight": dict.fromkeys(["cat", "dog", "emu"], 0.0)}, None, "class_weight: every weight is zero"),
    ],
)
def test_weights_that_mean_nothing_are_refused(problem, settings, weights, message):
    with pytest.raises(ValueError, match=message):
        spiking(**QUICK, **settings).fit(*problem, sample_weight=weights)


def test_balanced_weights_cannot_be_known_before_all_examples_are(problem):
    with pytest.raises(gemsnn.ConfigError, match="needs all examples at once"):
        spiking(**QUICK, class_weight="balanced").partial_fit(*problem, classes=["cat", "dog", "emu"])


# ---- recordings


def recordings():
    return list(gemsnn.events.simulate_digits((0, 1), per_class=(6, 2), seed=0))


def test_recordings_are_binned_as_the_preprocessing_says(tmp_path):
    choices = gemsnn.events.mnist_dvs_preprocessing()
    some = recordings()
    y = ["zero" if recording.digit == 0 else "one" for recording in some]
    settings = {**QUICK, "epochs": 1}
    spikes = [choices.bin(recording.events) for recording in some]
    expected = spiking(**settings, grid=(26, 26)).fit(spikes, y)
    classifier = spiking(**settings, preprocessing=choices)
    for X in (some, [recording.events for recording in some], spikes):
        assert classifier.fit(X, y).parameters_ == expected.parameters_
        assert np.array_equal(classifier.predict_proba(X), expected.predict_proba(spikes))
    online = spiking(**settings, grid=(26, 26)).partial_fit(spikes, y, classes=["zero", "one"])
    assert clone(classifier).partial_fit(some, y, classes=["zero", "one"]).parameters_ == online.parameters_
    classifier.save(tmp_path / "model.safetensors")
    again = SpikingClassifier.load(tmp_path / "model.safetensors")
    assert again.preprocessing == choices
    assert np.array_equal(again.predict(some), classifier.predict(some))


def test_what_was_found_in_folders_can_be_fitted(tmp_path):
    for recording in recordings():
        folder = tmp_path / f"digit {recording.digit}"
        folder.mkdir(exist_ok=True)
        gemsnn.events.write_aedat(folder / f"{len(list(folder.iterdir()))}.aedat", recording.events)
    found = gemsnn.events.find_folder(tmp_path, sensor_size=(128, 128))
    short = found.preprocessing.model_copy(update={"downsample": 8, "bin_us": 25_000, "n_steps": 20})
    classifier = spiking(**{**QUICK, "epochs": 1}, preprocessing=short)
    classifier.fit(list(found.recordings), [recording.label for recording in found.recordings])
    assert classifier.n_inputs_ == short.n_inputs == 512
    assert classifier.classes_.tolist() == ["digit 0", "digit 1"]


def test_recordings_without_preprocessing_are_refused():
    some = recordings()
    with pytest.raises(gemsnn.DataError, match=r"X\[0\] is a recording of events; set preprocessing"):
        spiking(**QUICK).fit(some, [recording.digit for recording in some])


# ---- answers before the end


def test_the_last_of_the_answers_before_the_end_is_the_answer(fitted, problem):
    X = problem[0]
    answers = fitted.predict_anytime(X)
    assert answers.probabilities.shape == (48, toy.N_STEPS, 3)
    np.testing.assert_allclose(answers.probabilities[:, -1], fitted.predict_proba(X))
    assert (fitted.classes_[answers.classes[:, -1]] == fitted.predict(X)).all()
    early = answers.stop(confidence=0.6)
    assert early.steps.mean() < toy.N_STEPS
    ragged = [example[: 12 + i % 3] for i, example in enumerate(X)]
    for one, p in zip(fitted.predict_anytime(ragged), fitted.predict_proba(ragged), strict=True):
        np.testing.assert_allclose(one.probabilities[-1], p)
    with pytest.raises(NotFittedError):
        spiking().predict_anytime(X)

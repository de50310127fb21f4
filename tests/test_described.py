"""Objects say in a line what they are: no addresses, no arrays; and in a table in a notebook."""

import importlib
import inspect
from contextlib import ExitStack
from enum import Enum
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
import toy
from made_up_results import made_up

import gemsnn
from gemsnn import experiments, inference, training
from gemsnn.common.described import brief, described
from gemsnn.events import OnlineBinner, mnist_dvs_preprocessing, open_prepared, write_prepared
from gemsnn.events.calibration import MNIST_DVS_SCALE_4
from gemsnn.experiments import judge

ROOMS = ("model", "rules", "learning", "inference", "metrics", "events", "training", "experiments", "plot")
MODULES = [gemsnn, *(importlib.import_module(f"gemsnn.{room}") for room in ROOMS)]
PUBLIC = {
    thing
    for module in MODULES
    for thing in map(module.__dict__.get, module.__all__)
    if inspect.isclass(thing) and not issubclass(thing, Exception | Enum) and not getattr(thing, "_is_protocol", False)
} | {gemsnn.SpikingClassifier, gemsnn.GEMClassifier}
ABSTRACT = {gemsnn.rules.Rule}
LONGEST = 400


@pytest.fixture(scope="module")
def instances(tmp_path_factory):
    with ExitStack() as opened:
        yield made(tmp_path_factory, opened)


def made(tmp_path_factory, opened):
    """One or more of every public class, of the paper's size where size matters."""
    folder = tmp_path_factory.mktemp("described")
    rng = np.random.default_rng(0)
    network = gemsnn.Network.fully_connected(676, 200, 3)
    parameters = network.init()
    small = gemsnn.Network.fully_connected(12, 6, 3, readout="winner-take-all")
    X, y = toy.examples(24)
    stream = gemsnn.Stream(small, small.init(), gemsnn.MB(), n_compartments=2)
    answers = gemsnn.predict_anytime(small, small.init(), X, 2)
    guarantee = inference.calibrate(answers, np.arange(24) % 3, alpha=0.5, checkpoints=2)
    config = toy.config(class_weight={"2": 2.0})
    arrays = training.ArrayData(training.ArrayExamples(X.astype(np.uint8), np.arange(24) % 3), ["<a>", "b" * 99, "c"])
    write_prepared(folder / "toy.h5", X, y)
    data = opened.enter_context(open_prepared(folder / "toy.h5"))
    outcome = training.train(config, data, folder / "run")
    model = training.RunDirectory(folder / "run").load_model()
    results = made_up()
    claims = judge(results)
    evaluated = training.Evaluated(outcome.trainer.state.progress.last, True, False, 0.5)
    run = experiments.Run("small-0", config, folder / "toy.h5", {"hidden": 20, "seed": 0}, folder)
    plan = experiments.Plan(results.protocol, folder, [run] * 20, {"n_train": 900}, ["gemsnn reproduce"] * 9)
    measurement = experiments.Measurement("a", judge, {"split": 3}, {"seed": 3}, folder)
    completed = training.Completed(*(np.zeros((80, 338), bool),) * 2, np.zeros((20, 80, 338), bool))
    calibration = training.Calibration(guarantee, model.decoder, np.arange(24, dtype=np.uint64), {"of": 24})
    return [
        gemsnn.GEM(), gemsnn.MB(), gemsnn.IW(), gemsnn.Feedback(), gemsnn.Circuit((0, 1)), gemsnn.Exponential(),
        gemsnn.RaisedCosine(), gemsnn.Filter(rng.random((3, 80))), gemsnn.SpikingClassifier(n_hidden=3),
        gemsnn.GEMClassifier().fit(X, y), network, parameters, network.topology,
        gemsnn.learn(small, small.init(), gemsnn.GEM(), X[0], np.tile([1, 0, 0], (20, 1)), 2),
        gemsnn.predict(small, small.init(), X, 2), stream, stream.step(X[0, 0]), gemsnn.GEM().communication(network, 2),
        gemsnn.learning.Lessons(small, 2, longest=20),
        inference.as_decoder("vote").answer(np.zeros((2, 5, 3))), answers, answers.stop(0.9), inference.Confident(0.9),
        guarantee, guarantee.stop(answers), inference.predict_labels(gemsnn.Network.fully_connected(12, 6, 3),
        gemsnn.Network.fully_connected(12, 6, 3).init(), X, 2), inference.PatternReader(small, small.init(), 3),
        inference.Verdict(False, (0, 1)),
        gemsnn.metrics.reliability([0, 1], [[1.0, 0.0], [0.6, 0.4]]),
        gemsnn.metrics.label_scores([[0, 1]], [[0.2, 0.7]]), MNIST_DVS_SCALE_4, OnlineBinner(mnist_dvs_preprocessing()),
        mnist_dvs_preprocessing(), data, data.train, arrays, arrays.train, calibration, outcome, outcome.trainer,
        training.DecoderSettings(), training.TrainingConfig(), config, model, training.RunDirectory(folder / "run"),
        evaluated, training.Learned(1, -3.0, 2.0, 0.1), model.stream(), model.stream().step(X[0, 0]),
        results, results.protocol, claims[0], claims[0].evidence[0], experiments.Ended("a", "done"), run,
        plan, measurement,
        experiments.Finished(results, claims, folder / "report.html"), experiments.Note(0.5),
        experiments.Found("accuracy", "97 %"), completed,
        gemsnn.plot.Curve(np.arange(100), np.arange(100)), *inference.DECODERS.values(),
    ]  # fmt: skip


class Table(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.texts = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.texts.append(data)


@pytest.mark.parametrize("cls", sorted(PUBLIC, key=lambda cls: cls.__name__), ids=lambda cls: cls.__name__)
def test_no_public_class_leaves_its_repr_to_chance(cls):
    """A class without one says its address; a tuple or dataclass that holds arrays says all their numbers."""
    assert cls.__repr__ is not object.__repr__
    generated = issubclass(cls, tuple) or "__dataclass_fields__" in vars(cls)
    ours = cls.__repr__.__module__ == described.__module__
    assert ours or not generated or "NDArray" not in str(cls.__annotations__), "decorate it: gemsnn.common.described"


def test_no_object_says_its_address_or_all_its_numbers(instances):
    for thing in instances:
        line = repr(thing)
        assert " at 0x" not in line, line
        assert "array(" not in line, line
        assert len(line) <= LONGEST, line
        assert "\n" not in line or isinstance(thing, gemsnn.SpikingClassifier), line
        assert line.startswith(type(thing).__name__), line


def test_in_a_notebook_they_are_tables_of_what_the_line_says(instances):
    told = [thing for thing in instances if type(thing).__repr__.__module__ == described.__module__]
    assert len(told) > 30
    for thing in told:
        table = Table()
        table.feed(thing._repr_html_())
        assert set(table.tags) <= {"table", "caption", "b", "tbody", "tr", "th", "td"}
        assert type(thing).__name__ in table.texts


def test_what_a_model_says_of_itself(instances):
    model = next(thing for thing in instances if isinstance(thing, training.Model))
    line = repr(model)
    assert line.startswith("Model(n_inputs=12, n_hidden=6, classes=(2, 5, 7), decoder='per-step', compartments=2")
    assert "validation_accuracy=" in line


def test_settings_say_what_is_not_as_by_default():
    assert repr(training.TrainingConfig.make(n_hidden=7)) == "TrainingConfig(n_hidden=7)"


def test_names_from_outside_cannot_become_html():
    data = training.ArrayData(
        training.ArrayExamples(np.zeros((2, 3, 4), np.uint8), np.arange(2)), ["<script>", "\x1b[2J"]
    )
    page = data._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "\x1b" not in page + repr(data)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.zeros((3, 4), np.float32), "<float32 (3, 4)>"),
        (np.array([0.25, 1 / 3]), "[0.25, 0.3333]"),
        (np.int64(3), "3"),
        ((1,), "(1,)"),
        (list(range(9)), "[0, 1, 2, 3, 4, 5, ...]"),
        ({"a": 1.0}, "{a: 1}"),
        ("x" * 99, "'" + "x" * 67 + "...'"),
        (None, "None"),
        (Path("a"), "'a'"),
        (brief, "brief"),
    ],
)
def test_values_in_a_few_letters(value, text):
    assert brief(value) == text

"""The model card of a run says what is in its summary."""

import numpy as np
import toy

import gemsnn
from gemsnn.events import open_prepared
from gemsnn.training import ArrayData, ArrayExamples, RunDirectory, train
from gemsnn.training.card import model_card


def test_a_finished_run_has_a_card_with_its_figures_data_and_limits(finished_run):
    run = RunDirectory(finished_run)
    text, summary = run.card.read_text(), run.read_summary()
    test = summary["best"]["test"]
    assert f"| accuracy | {summary['best']['validation']['accuracy']:.1%} | {test['accuracy']:.1%} |" in text
    assert summary["data"] in text
    assert f"{summary['examples']['train']} train" in text
    assert "- Classes: 2, 5, 7" in text
    assert "even a recording of none of them" in text
    assert text == model_card(run.load_model(), summary)


def test_an_unfinished_run_has_none(tmp_path, data_file):
    with open_prepared(data_file) as data:
        train(toy.config(), data, tmp_path, stop=lambda: True)
    assert not RunDirectory(tmp_path).card.exists()


def test_names_of_classes_cannot_break_the_page_and_what_is_not_known_is_said(tmp_path):
    rng = np.random.default_rng(0)
    examples = ArrayExamples((rng.random((6, 10, 4)) < 0.5).astype(np.uint8), np.arange(6) % 2)
    data = ArrayData(examples, classes=("a|b\n# c", "<b>"))
    train(toy.config(validation_fraction=0.0), data, tmp_path / "classes")
    text = RunDirectory(tmp_path / "classes").card.read_text()
    assert "a\\|b \\# c, \\<b\\>" in text
    assert "its performance on others is unknown" in text
    patterns = ArrayExamples(
        (rng.random((6, 10, 4)) < 0.5).astype(np.uint8), targets=(rng.random((6, 10, 2)) < 0.5).astype(np.uint8)
    )
    network = gemsnn.Network.fully_connected(4, 3, 2)
    train(toy.config(decoder="vote"), ArrayData(patterns, classes=()), tmp_path / "patterns", network=network)
    text = RunDirectory(tmp_path / "patterns").card.read_text()
    assert "spike patterns" in text
    assert "van Rossum distance" in text

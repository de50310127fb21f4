"""Every drawing: on given axes or new ones, with its legend beside the data, whole, in light and in dark."""

import io
from functools import partial

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

import gemsnn
from gemsnn import ConfigError, DataError, ShapeError, plot
from gemsnn.events import mnist_dvs_preprocessing
from gemsnn.plot.axes import BLUE, ORANGE, two_colours
from gemsnn.plot.panels import Panel, svg
from gemsnn.training import Model
from gemsnn.training.config import DecoderSettings

pytestmark = pytest.mark.filterwarnings("ignore:Glyph .* missing from")
HOSTILE = ["$x^", "_hidden", "<b>", "a" * 60, "数"]


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def records(values, split="validation"):
    return [
        {"epoch": i + 1, "position": 10 * (i + 1), "time_samples": 800 * (i + 1), "train": {"log_likelihood": -9.0 + i},
         "validation": None, "test": None, split: {"accuracy": value, "ece": 0.1 * value, "log_likelihood": -3 * value}}
        for i, value in enumerate(values)
    ]  # fmt: skip


def answers(N=6, T=20, C=3):
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(C), (N, T))
    return gemsnn.inference.AnytimePrediction(p.argmax(-1), p, rng.random((N, T)))


def model(preprocessing=None, n_inputs=676):
    network = gemsnn.Network.fully_connected(n_inputs, 30, 3)
    return Model(network, network.init(seed=0), (0, 1, 2), DecoderSettings(), 80, preprocessing=preprocessing)


RNG = np.random.default_rng(0)
TABLE = gemsnn.metrics.reliability([0, 1, 1, 0], [[1.0, 0.0], [0.4, 0.6], [0.7, 0.3], [0.95, 0.05]])
DRAWINGS = {
    "raster": lambda **more: plot.raster(RNG.random((80, 5)) < 0.2, HOSTILE, step_ms=25, **more),
    "raster of compartments": lambda **more: plot.raster(RNG.random((80, 4, 3)) < 0.2, **more),
    "encoding": lambda **more: plot.encoding(
        RNG.normal(size=(60, 5)), RNG.random((60, 10)) < 0.2, np.zeros((60, 5)), HOSTILE, step_ms=2.5, **more
    ),
    "receptive fields": lambda **more: plot.receptive_fields([0.0, 1.0, 3.0], 0.5, **more),
    "picture": lambda **more: plot.picture(RNG.poisson(1.0, (2, 26, 26)), **more),
    "weights": lambda **more: plot.weights(model(mnist_dvs_preprocessing()), **more),
    "filters": lambda **more: plot.filters(gemsnn.RaisedCosine(), **more),
    "reliability": lambda **more: plot.reliability(TABLE, **more),
    "probabilities": lambda **more: plot.probabilities(np.full(5, 0.2), HOSTILE, truth="_hidden", **more),
    "confusion": lambda **more: plot.confusion(HOSTILE * 3, HOSTILE * 2 + HOSTILE[::-1], **more),
    "learning curves": lambda **more: plot.learning_curves(
        {label: records([0.5, 0.9, 1.0]) for label in HOSTILE}, **more
    ),
    "anytime": lambda **more: plot.anytime(answers(), [0, 1, 2, 0, 1, 2], **more),
    "anytime of one": lambda **more: plot.anytime(
        gemsnn.inference.AnytimePrediction(*(part[0] for part in answers(C=5)[:3])), classes=HOSTILE, **more
    ),
    "curves": lambda **more: plot.curves({"a": plot.Curve([1, 2], [0.0, 1.0], [-0.2, 0.8], [0.3, 1.4])}, **more),
}


@pytest.fixture(params=DRAWINGS)
def drawing(request):
    return DRAWINGS[request.param]


def test_every_public_drawing_is_tested_here():
    assert {name.split(" of ")[0].replace(" ", "_") for name in DRAWINGS} == set(plot.__all__) - {"Curve"}


def test_it_draws_on_the_axes_it_is_given_and_opens_no_other_figure(drawing):
    axes = Figure(layout="constrained").add_subplot()
    assert drawing(axes=axes, title="a title") is axes
    assert axes.get_title() == "a title"
    assert not plt.get_fignums()
    assert axes.get_children()


def test_without_axes_it_makes_a_figure_that_a_notebook_shows(drawing):
    axes = drawing()
    assert plt.get_fignums() == [axes.figure.number]


@pytest.mark.parametrize("size", [(3.4, 3.1), (8, 5)], ids=str)
def test_no_legend_covers_the_axes_and_nothing_leaves_the_figure(drawing, size):
    figure = Figure(figsize=size, layout="constrained")
    axes = drawing(axes=figure.add_subplot(), title="a title")
    figure.draw_without_rendering()
    legend, frame = axes.get_legend(), axes.get_window_extent()
    ticks = [
        tick.label1
        for axis, (low, high) in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim()))
        for tick in axis.get_major_ticks()
        if min(low, high) <= tick.get_loc() <= max(low, high)  # others are there, but not drawn
    ]
    parts = [axes.title, *ticks, axes.xaxis.label, axes.yaxis.label, *axes.texts]
    if legend is not None:
        # A point of overlap is the line that the frame is drawn with.
        assert legend.get_window_extent().y0 > frame.y1 - 1
        assert axes.title.get_window_extent().y0 > legend.get_window_extent().y1 - 3
        parts.append(legend)
    whole = figure.bbox
    for part in parts:
        box = part.get_window_extent()
        if box.width and part.get_visible():
            assert box.x0 >= whole.x0 - 2, part
            assert box.y0 >= whole.y0 - 2, part
            assert box.x1 <= whole.x1 + 2, part
            assert box.y1 <= whole.y1 + 2, part


def test_names_are_drawn_as_they_are_written_and_long_ones_cut(drawing):
    axes = drawing()
    axes.figure.savefig(io.BytesIO(), format="svg")
    legend = axes.get_legend()
    texts = [text.get_text() for text in [*axes.get_yticklabels(), *(legend.get_texts() if legend else [])]]
    if any("<b>" in text for text in texts):
        assert {"$x^", "<b>", "数"} < set(texts)
        assert {"a" * 19 + "…", "a" * 15 + "…"} & set(texts)
        assert "_hidden" in texts or "_hidden (true)" in texts


def test_in_a_page_its_ink_is_the_page_s(drawing):
    text = svg(Panel(partial(drawing, title="a title"), "what it shows"), "name")
    assert "currentColor" in text
    assert 'aria-label="what it shows"' in text


def test_on_dark_axes_it_writes_in_light(drawing):
    with matplotlib.style.context("dark_background"):
        axes = drawing(title="a title")
        legend = axes.get_legend()
        texts = [*axes.texts, axes.title, axes.xaxis.label, *(legend.get_texts() if legend else [])]
    assert {matplotlib.colors.to_hex(text.get_color()) for text in texts} == {"#ffffff"}


# ---- what is drawn


def test_a_raster_shows_each_spike_where_it_was():
    spikes = np.zeros((4, 3))
    spikes[1, 2] = 1
    axes = plot.raster(spikes)
    (image,) = axes.images
    assert np.argwhere(image.get_array()[..., 3] > 0).tolist() == [[2, 1]]
    assert tuple(image.get_extent()) == (-0.5, 3.5, 2.5, -0.5)


def test_a_raster_loses_no_spike_however_many_neurons_and_steps():
    spikes = np.zeros((5000, 3000), bool)
    spikes[[0, 2501, 4999], [0, 1501, 2999]] = True
    image = plot.raster(spikes).images[0].get_array()
    assert (image[..., 3] > 0).sum() == 3
    assert image.shape[0] * image.shape[1] <= 1_000_000


def test_compartments_are_lines_in_their_neuron_s_band():
    spikes = np.zeros((5, 4, 2))
    spikes[3, 2, 1] = 1  # compartment 2 of neuron 1
    axes = plot.raster(spikes, ["a", "b"])
    assert np.argwhere(axes.images[0].get_array()[..., 3] > 0).tolist() == [[6, 3]]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["a", "b"]


def test_off_is_blue_on_is_orange_and_silence_is_see_through():
    image = plot.picture([[[1, 0, 0]], [[0, 1, 0]]]).images[0].get_array()
    colours = [matplotlib.colors.to_hex(pixel) for pixel in image[0, :2]]
    assert colours == [BLUE, ORANGE]
    assert image[0, :, 3].tolist() == [1, 1, 0]
    assert plot.picture([[0, 1]]).images[0].get_array()[0, :, 3].tolist() == [0, 1]
    assert not plot.picture(np.zeros((4, 4))).images[0].get_array()[..., 3].any()


def test_two_colours_mix_where_both_are():
    mixed = two_colours(np.array([0.5]), np.array([0.5]))[0]
    expected = (np.array(matplotlib.colors.to_rgb(BLUE)) + matplotlib.colors.to_rgb(ORANGE)) / 2
    np.testing.assert_allclose(mixed, [*expected, 0.5])


def test_weights_are_pictures_of_the_grid_turned_as_its_recordings_are():
    choices = mnist_dvs_preprocessing()
    trained = model(choices)
    trained.parameters.synaptic[:] = 0
    trained.parameters.synaptic[1, 3 * 26 + 5, :] = [0.5, -0.2, 0.7]  # row 3, column 5 of the second neuron
    axes = plot.weights(trained, neurons=[0, 1])
    image = axes.images[0].get_array()
    upright = np.argwhere(choices.upright(np.arange(676).reshape(26, 26)) == 3 * 26 + 5)[0]
    tile = image[1:27, 28:54]
    assert np.argwhere(tile[..., 3] > 0).tolist() == [upright.tolist()]
    assert matplotlib.colors.to_hex(tile[tuple(upright)]) == ORANGE
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["+1", "-1"]
    assert matplotlib.colors.to_hex(plot.weights(trained, basis=1).images[0].get_array()[1:27, 28:54][tuple(upright)])
    assert [text.get_text() for text in axes.get_yticklabels()] == ["0, 1"]


def test_weights_of_both_polarities_say_which_is_which():
    separate = mnist_dvs_preprocessing().model_copy(update={"polarity": "separate"})
    assert plot.weights(model(separate, 1352)).get_xlabel() == "each neuron: OFF on the left, ON on the right"
    assert not plot.weights(model(mnist_dvs_preprocessing())).get_xlabel()


def test_weights_of_parameters_lie_on_the_grid_that_is_named_planes_side_by_side():
    parameters = gemsnn.Network.fully_connected(2 * 12, 8, 2).init()
    axes = plot.weights(parameters, (3, 4), neurons=range(8))
    assert axes.images[0].get_array().shape[:2] == (2 * (3 + 1) + 1, 6 * (8 + 1) + 1)
    assert [text.get_text() for text in axes.get_yticklabels()] == ["0 … 5", "6, 7"]


def test_reliability_takes_a_table_of_an_evaluation_and_draws_dots_whole():
    table = {"counts": [0, 4], "confidence": [None, 1.0], "accuracy": [None, 1.0]}
    axes = plot.reliability(table)
    dots = axes.lines[-1]
    assert (dots.get_xdata().tolist(), dots.get_ydata().tolist()) == ([1.0], [1.0])
    assert not dots.get_clip_on()


def test_confusion_counts_truth_by_row_and_answer_by_column():
    axes = plot.confusion([0, 0, 1], [0, 1, 1], classes=["cat", "dog"])
    assert {(text.get_position(), text.get_text()) for text in axes.texts} == {
        ((0, 0), "1"),
        ((1, 0), "1"),
        ((1, 1), "1"),
    }
    image = axes.images[0].get_array()
    np.testing.assert_allclose(image[..., 3], [[0.375, 0.375], [0, 0.75]])
    many = np.arange(100)
    assert not plot.confusion(many, many).texts


def test_learning_curves_take_the_figure_that_there_is():
    axes = plot.learning_curves(records([0.5, 1.0]), against="position")
    assert axes.get_ylabel() == "validation accuracy"
    assert axes.lines[0].get_xdata().tolist() == [10, 20]
    assert axes.get_legend() is None
    low, high = axes.get_ylim()
    assert low < 0.5
    assert high > 1  # so that a dot at 1 is whole
    assert max(axes.get_yticks()) <= 1
    only_learned = [{**record, "validation": None} for record in records([0.5, 1.0])]
    assert plot.learning_curves(only_learned).get_ylabel() == "train log-likelihood (nats)"
    assert plot.learning_curves(records([0.1], "test"), "ece").get_ylabel() == "test ECE"


def test_anytime_keeps_the_last_answer_of_a_sequence_that_is_over():
    short, long = (gemsnn.inference.AnytimePrediction(*(part[0] for part in answers(1, T)[:3])) for T in (3, 5))
    axes = plot.anytime([short, long], [int(short.classes[-1]), int(long.classes[-1])], step_ms=10)
    accuracy, confidence = (line.get_ydata() for line in axes.lines)
    assert accuracy[-1] == 1
    assert confidence[-1] == pytest.approx((short.confidence[-1] + long.confidence[-1]) / 2)
    assert axes.lines[0].get_xdata().tolist() == [10, 20, 30, 40, 50]


def test_anytime_takes_labels_by_name():
    found = answers()
    names = np.array(["cat", "dog", "emu"])
    by_name = plot.anytime(found, names[[0, 1, 2, 0, 1, 2]], names)
    by_index = plot.anytime(found, [0, 1, 2, 0, 1, 2])
    assert by_name.lines[0].get_ydata().tolist() == by_index.lines[0].get_ydata().tolist()


@pytest.mark.parametrize(
    ("draw", "error", "message"),
    [
        (lambda: plot.raster(np.zeros(4)), ShapeError, r"spikes have shape \(4,\)"),
        (lambda: plot.raster(np.zeros((4, 2)), ["a"]), ShapeError, "1 names for 2 neurons"),
        (lambda: plot.picture(np.zeros((3, 4, 4))), ShapeError, r"planes have shape \(3, 4, 4\)"),
        (lambda: plot.weights(model()), ConfigError, r"grid=\(rows, columns\)"),
        (lambda: plot.weights(model(), (5, 5)), ShapeError, "676 inputs do not form a grid of 5 x 5"),
        (lambda: plot.weights(model(), (26, 26), [33]), ConfigError, "from 0 to 32"),
        (lambda: plot.weights(model(), (26, 26), basis=3), ConfigError, "basis = 3: there are only 0 to 2"),
        (lambda: plot.probabilities([0.5, 0.5], ["a"]), ShapeError, "1 classes"),
        (lambda: plot.confusion([0], [0, 1]), ShapeError, r"both must be \(N,\)"),
        (lambda: plot.confusion([0], [5], ["a", "b"]), DataError, "predicted must be indices from 0 to 1"),
        (lambda: plot.learning_curves([]), DataError, "available: nothing"),
        (lambda: plot.learning_curves(records([1]), "speed"), DataError, "has speed of.*validation: accuracy"),
        (lambda: plot.learning_curves(records([1]), against="time"), ConfigError, "against = 'time'"),
        (lambda: plot.anytime(answers(), [0]), ShapeError, "there are 6 sequences"),
        (lambda: plot.anytime(answers(), ["a"] * 6, ["b", "c", "d"]), DataError, "labels contain 'a'"),
        (lambda: plot.anytime([]), DataError, "no answers"),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_is_said(draw, error, message):
    with pytest.raises(error, match=message):
        draw()

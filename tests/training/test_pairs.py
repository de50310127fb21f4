"""Data sets as PyTorch has them: nothing of PyTorch is needed, and tensors of PyTorch are understood."""

import numpy as np
import pytest
import toy

from gemsnn import DataError, GemsnnError, ShapeError, SpikingClassifier
from gemsnn.events import Preprocessing, open_prepared, write_prepared
from gemsnn.training import ArrayData, ArrayExamples, PairData, load_model, train, trainer_of

EVENT = np.dtype([("t", "i8"), ("x", "i2"), ("y", "i2"), ("p", "?")])  # as tonic gives them


class Pairs:
    """A data set with a length and items."""

    def __init__(self, items):
        self.items, self.reads = items, 0

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        self.reads += 1
        return self.items[index]


class Tensor:
    """What a tensor on a graphics card offers: nothing without being asked in the right order."""

    def __init__(self, array, where="cuda", gradient=True):
        self.array, self.where, self.gradient = array, where, gradient

    def detach(self):
        return Tensor(self.array, self.where, False)

    def cpu(self):
        return Tensor(self.array, "cpu", self.gradient)

    def numpy(self):
        if self.where != "cpu" or self.gradient:
            raise TypeError("can't convert")
        return np.asarray(self.array)


def toys(as_item=lambda spikes, label: (spikes, int(label)), n=48):
    return Pairs([as_item(spikes, label) for spikes, label in zip(*toy.examples(n), strict=True)])


def events(n=12):
    rng, items = np.random.default_rng(0), []
    for i in range(n):
        one = np.zeros(30 + 20 * (i % 2), EVENT)
        one["x"], one["y"], one["p"] = [*rng.integers(4, size=(2, len(one))).tolist(), rng.random(len(one)) < 0.5]
        one["t"] = np.sort(rng.integers(1000, size=len(one)))
        items.append((one, ("few", "many")[i % 2]))
    return Pairs(items)


CHOICES = Preprocessing(sensor_size=(4, 4), bin_us=100, n_steps=10)
SMALL = {"n_hidden": 4, "schedule": {"epochs": 2, "validation_fraction": 0}}


def test_a_run_on_a_data_set_is_the_run_on_its_arrays(tmp_path):
    spikes, labels = toy.examples()
    arrays = ArrayData(ArrayExamples(spikes.astype(np.uint8), np.searchsorted(toy.CLASSES, labels)), toy.CLASSES)
    pairs = toys()
    train(toy.config(), pairs, tmp_path / "pairs")
    train(toy.config(), arrays, tmp_path / "arrays")
    one, other = (load_model(tmp_path / name) for name in ("pairs", "arrays"))
    np.testing.assert_array_equal(one.parameters.synaptic, other.parameters.synaptic)
    assert one.classes == other.classes == toy.CLASSES
    assert pairs.reads == len(pairs)  # each once, however many epochs


def test_the_classifier_learns_from_pairs_what_it_learns_from_arrays():
    X, y = toy.examples()
    one, other = SpikingClassifier(**SMALL).fit(toys()), SpikingClassifier(**SMALL).fit(X, y)
    np.testing.assert_array_equal(one.predict_proba(toys()), other.predict_proba(X))
    assert one.score(toys()) == other.score(X, y)


@pytest.mark.parametrize(
    "as_item",
    [
        lambda spikes, label: (Tensor(spikes), Tensor(np.int64(label))),
        lambda spikes, label: [spikes.astype(np.float32), np.int16(label)],
        lambda spikes, label: (spikes.reshape(20, 1, 3, 4), int(label)),
        lambda spikes, label: (spikes.reshape(20, 3, 4), int(label)),
        lambda spikes, label: (spikes.tolist(), label),
    ],
    ids=["tensors", "floats", "planes", "frames", "lists"],
)
def test_tensors_frames_and_arrays_of_any_type_are_the_same_data(as_item):
    data, usual = PairData(toys(as_item)), PairData(toys())
    assert data.fingerprint == usual.fingerprint
    assert data.classes == toy.CLASSES
    assert data.grid == ((3, 4) if np.ndim(as_item(np.zeros((20, 12)), 0)[0]) > 2 else None)


def test_real_tensors_and_data_sets_of_pytorch(tmp_path):
    torch = pytest.importorskip("torch")
    X, y = toy.examples()
    dataset = torch.utils.data.TensorDataset(torch.tensor(X), torch.tensor(y))
    assert PairData(dataset).fingerprint == PairData(toys()).fingerprint
    half = torch.utils.data.Subset(dataset, range(24))
    assert len(PairData(half).train) == 24
    write_prepared(tmp_path / "torch.h5", half)


def test_events_as_tonic_gives_them_are_binned(tmp_path):
    pairs = events()
    data = PairData(pairs, preprocessing=CHOICES)
    np.testing.assert_array_equal(data.train.load(3)[0].to_array(16), CHOICES.bin(pairs[3][0]))
    assert (data.classes, data.grid) == (("few", "many"), (4, 4))
    SpikingClassifier(**SMALL, preprocessing=CHOICES).fit(pairs).predict(pairs)
    with pytest.warns(UserWarning, match="give bin_us for another width"):
        assert PairData(pairs, preprocessing=Preprocessing(sensor_size=(4, 4))).preprocessing.bin_us


def test_a_prepared_file_of_pairs_is_that_of_the_arrays(tmp_path):
    X, y = toy.examples()
    write_prepared(tmp_path / "pairs.h5", toys())
    write_prepared(tmp_path / "arrays.h5", X, y.tolist())
    write_prepared(tmp_path / "events.h5", events(), preprocessing=CHOICES)
    with open_prepared(tmp_path / "pairs.h5") as one, open_prepared(tmp_path / "arrays.h5") as other:
        assert one.fingerprint == other.fingerprint
    with open_prepared(tmp_path / "events.h5") as data:
        assert (data.classes, data.grid) == (("few", "many"), (4, 4))
    write_prepared(tmp_path / "frames.h5", toys(lambda spikes, label: (spikes.reshape(20, 3, 4), label)))
    with open_prepared(tmp_path / "frames.h5") as data:
        assert data.grid == (3, 4)


def test_a_test_set_is_evaluated_on():
    data = PairData(toys(), toys(n=9))
    trainer = trainer_of(toy.config(epochs=1), data)
    trainer.run()
    assert trainer.state.progress.last["test"]["examples"] == 9


X, Y = toy.examples(4)


@pytest.mark.parametrize(
    ("items", "error", "message"),
    [
        ([], DataError, "is empty: its length is 0"),
        ([X[0], X[1]], DataError, "item 0 of the data set: must be a pair .* got ndarray"),
        ([(X[0], 1), (X[1], 0, 3)], DataError, "item 1 of the data set: must be a pair .* got 3 values"),
        ([(X[0], 1), (X[1], 0.5)], DataError, "item 1 of the data set: its label must be an integer or a string"),
        ([(X[0], [1, 0])], DataError, "use gemsnn.events.write_prepared with targets or y"),
        ([(X[0], 1), (2 * X[1].astype(int), 0)], DataError, "item 1 .* counts of events, .* return frames > 0"),
        ([(X[0], 1), (X[1][0], 0)], ShapeError, r"item 1 of the data set: has shape \(12,\)"),
        (
            [(X[0], 1), (X[1][:, :5], 0)],
            ShapeError,
            "item 1 of the data set: has 5 inputs per step, but others have 12",
        ),
        ([(X[0], 1), (X[1], "one")], DataError, "mix strings and integers"),
        ([(X[0], 1), (X[1], 1)], DataError, "only one class, 1"),
        ([(np.zeros(3, EVENT), 1)], DataError, "is a recording of events: give preprocessing="),
        ([(object(), 1)], DataError, "item 0 of the data set"),
    ],
)
def test_items_that_are_no_pairs_of_spikes_and_a_label_are_refused_by_number(items, error, message):
    with pytest.raises(GemsnnError, match=message) as raised:
        PairData(Pairs(items))
    assert isinstance(raised.value, error | ShapeError)


def test_labels_are_given_once(tmp_path):
    for attempt in (
        lambda: SpikingClassifier(**SMALL).fit(toys(), toy.examples()[1]),
        lambda: write_prepared(tmp_path / "x.h5", toys(), toy.examples()[1]),
    ):
        with pytest.raises(DataError, match="the data set brings its own labels"):
            attempt()
    with pytest.raises(DataError, match="label 7 is not among the classes"):
        PairData(toys(), classes=(2, 5))
    with pytest.raises(DataError, match="y is needed"):
        SpikingClassifier(**SMALL).fit(toy.examples()[0])

import pytest
import toy

from gemsnn import ConfigError
from gemsnn.training import RunDirectory, train
from gemsnn.training import tensorboard as module
from gemsnn.training.tensorboard import TensorBoard, scalars


def read_back(folder):
    """tag -> [(step, value)], by TensorBoard's own reader."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder))
    events.Reload()
    return {tag: [(e.step, e.value) for e in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_scalars_are_those_of_the_metrics_file_also_after_an_interruption(data, tmp_path):
    pytest.importorskip("tensorboard")
    config, directory = toy.config(extra_decoders=[{"kind": "likelihood"}]), tmp_path / "run"
    boards, trainers = [], []

    def observers(run, trainer):
        trainers[:] = [trainer]
        boards.append(TensorBoard(run))
        return boards[-1:]

    train(config, data, directory, observers=observers, stop=lambda: bool(trainers) and trainers[0].position >= 25)
    boards[-1].close()
    train(config, data, directory, observers=observers, resume=True)
    boards[-1].close()
    expected = {}
    for record in RunDirectory(directory).read_metrics():
        for tag, value in scalars(record):
            expected.setdefault(tag, []).append((record["time_samples"], pytest.approx(value, rel=1e-6)))
    found = read_back(directory / "tensorboard")
    assert found == expected
    assert {"train/log_likelihood", "validation/accuracy", "test/ece"} <= found.keys()
    assert "test (likelihood, 1 compartment)/nll" in found


def test_without_the_extra_asking_for_it_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install 'gemsnn\[tensorboard\]'"):
        TensorBoard(RunDirectory(tmp_path))


def closing(boards):
    """Observers that are closed later, as the command line does."""

    def make(run, trainer):
        boards.append(TensorBoard(run))
        return boards[-1:]

    return make


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_nothing_is_removed_that_gemsnn_did_not_write(data, tmp_path):
    folder = tmp_path / "run" / "tensorboard"
    folder.mkdir(parents=True)
    (folder / "thesis.txt").write_text("precious")
    (folder / "events.out.tfevents.1.host").write_text("of another program")
    boards = []
    for resume in (False, True):
        train(toy.config(), data, tmp_path / "run", resume=resume, observers=closing(boards))
        boards[-1].close()
    kept = {path.name for path in folder.iterdir()}
    assert {"thesis.txt", "events.out.tfevents.1.host"} < kept
    assert len(kept) == 3  # and one file of our own, written anew


def test_a_file_where_the_folder_should_be_is_told_and_stays(data, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "tensorboard").write_text("precious")
    with pytest.raises(ConfigError, match="tensorboard: is a file"):
        train(toy.config(), data, tmp_path / "run", observers=lambda run, _: [TensorBoard(run)])
    assert (tmp_path / "run" / "tensorboard").read_text() == "precious"

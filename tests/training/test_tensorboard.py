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
    assert "test (likelihood, 1 compartments)/nll" in found


def test_without_the_extra_asking_for_it_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install 'gemsnn\[tensorboard\]'"):
        TensorBoard(RunDirectory(tmp_path))

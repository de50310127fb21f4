"""The learning rate that follows from the data."""

import numpy as np
import pytest

import gemsnn
from gemsnn.model.spike_list import SpikeList
from gemsnn.training import ArrayData, ArrayExamples, RunDirectory, TrainingConfig, step_size, train, trainer_of

RNG = np.random.default_rng(26)
NETWORK = gemsnn.Network.fully_connected(5, 3, 2, synaptic_filter=gemsnn.Exponential((2.0, 10.0), 12))


def traces(spikes):
    """(T, n_inputs, n_basis), straight from the definition."""
    taps = NETWORK.synaptic_filter.taps
    found = np.zeros((*spikes.shape, len(taps)))
    for t in range(len(spikes)):
        for lag in range(min(t, taps.shape[1])):
            found[t] += spikes[t - 1 - lag][:, None] * taps[:, lag]
    return found


def data(n=12, T=30, density=0.3):
    return ArrayData(ArrayExamples(RNG.random((n, T, 5)) < density, np.arange(n) % 2), ("a", "b"))


def config(**changes):
    return TrainingConfig.make(**{"n_hidden": 4, "epochs": 2, "calibrate": False, **changes})


@pytest.mark.parametrize("cells", [1 << 22, 100])
def test_the_energy_of_traces_is_that_of_the_traces(cells, monkeypatch):
    monkeypatch.setattr(step_size, "CELLS", cells)  # few: the inputs are looked at one or two at a time
    for T, density in ((40, 0.5), (3, 1.0), (1, 1.0), (60, 0.02), (20, 0.0)):
        spikes = RNG.random((T, 5)) < density
        found = step_size.trace_energy(NETWORK, SpikeList.from_array(spikes, "spikes"))
        assert found == pytest.approx((traces(spikes) ** 2).sum())


def test_the_learning_rate_follows_from_the_variance_of_the_traces():
    spikes = [RNG.random((T, 5)) < 0.4 for T in (20, 35, 50)]
    together = np.concatenate([traces(one) for one in spikes])
    for mean_free, energy in (
        (True, together.var(axis=0).sum()),
        (False, (together**2).mean(axis=0).sum()),
    ):
        found = step_size.suited_learning_rate(NETWORK, ArrayExamples(spikes), np.arange(3), mean_free)
        assert found == pytest.approx(0.005 / np.sqrt(energy), rel=0.005)
        assert found == float(f"{found:.3g}")


def test_silence_does_not_ask_for_endless_steps():
    silent = ArrayExamples(np.zeros((3, 20, 5), dtype=bool))
    assert step_size.suited_learning_rate(NETWORK, silent, np.arange(3)) == step_size.LARGEST


def test_training_measures_it_and_keeps_a_number_that_is_given():
    assert 0 < trainer_of(config(), data()).rule.learning_rate <= step_size.LARGEST
    assert trainer_of(config(**{"rule.learning_rate": 0.5}), data()).rule.learning_rate == 0.5
    assert trainer_of(config(rule="gem"), data()).rule.learning_rate == 1e-3
    measured = trainer_of(config(rule={"kind": "gem", "learning_rate": None}), data()).rule
    assert measured.learning_rate not in (None, 1e-3)


def test_a_run_keeps_the_number_and_resumes_with_it(tmp_path):
    examples = data()
    outcome = train(config(), examples, tmp_path, stop=iter([False] * 7 + [True] * 9).__next__)
    rate = outcome.trainer.rule.learning_rate
    written, _ = gemsnn.training.read_config(tmp_path / "config.toml")
    assert outcome.status == "interrupted"
    assert written.rule.learning_rate == rate
    for settings in (config(), written):
        assert train(settings, examples, tmp_path, resume=True).trainer.rule.learning_rate == rate
    assert RunDirectory(tmp_path).read_summary()["config"]["rule"]["learning_rate"] == rate
    with pytest.raises(gemsnn.ConfigError, match=r"rule\.learning_rate was"):
        train(config(**{"rule.learning_rate": 0.5}), examples, tmp_path, resume=True)


def test_learning_without_data_to_measure_on_needs_a_number():
    spikes, targets = np.ones((4, 5)), np.eye(2)[[0, 1, 0, 1]]
    message = r"learning_rate of Feedback is None, .* Feedback\(learning_rate=1e-3\)"
    with pytest.raises(gemsnn.ConfigError, match=message):
        gemsnn.learn(NETWORK, NETWORK.init(), gemsnn.Feedback(), spikes, targets)
    with pytest.raises(gemsnn.ConfigError, match=message):
        gemsnn.Stream(NETWORK, NETWORK.init(), gemsnn.Feedback())
    with pytest.raises(gemsnn.ConfigError, match=message):
        gemsnn.training.Trainer(NETWORK, NETWORK.init(), gemsnn.Feedback(), data())


def test_the_classifier_measures_it_once_and_goes_on_with_it():
    X, y = RNG.random((40, 30, 5)) < 0.3, np.arange(40) % 2
    classifier = gemsnn.SpikingClassifier(4, schedule={"epochs": 1}).fit(X, y)
    rate = classifier.learning_rate_
    assert rate == classifier.model_.about["config"]["rule"]["learning_rate"] > 0
    assert classifier.rule == "feedback"  # arguments stay as they were given
    assert classifier.partial_fit(X[:3] * 0, y[:3]).learning_rate_ == rate
    first = gemsnn.SpikingClassifier(4).partial_fit(X, y, classes=[0, 1])
    assert first.learning_rate_ == pytest.approx(rate, rel=0.2)
    assert (
        gemsnn.SpikingClassifier(4, schedule={"epochs": 1}, rule={"learning_rate": 0.02}).fit(X, y).learning_rate_
        == 0.02
    )
    assert gemsnn.GEMClassifier(4, 2, schedule={"epochs": 1}).fit(X, y).learning_rate_ == 1e-3

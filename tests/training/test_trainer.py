import dataclasses
import tracemalloc

import numpy as np
import pytest
import toy

import gemsnn
from gemsnn import ConfigError, DataError, Parameters
from gemsnn.events import open_prepared, write_prepared
from gemsnn.inference import class_patterns
from gemsnn.training import ArrayData, ArrayExamples, trainer_of
from gemsnn.training.randomness import Purpose, derived_seed, epoch_order, hold_out
from gemsnn.training.trainer import DivergenceWarning, Progress, TrainingState


def plain_loop(config, data):
    """The weights after each example, by calling ``gemsnn.learn`` and nothing else of the trainer."""
    training, _ = hold_out(data.train.labels, config.validation_fraction, config.seed)
    network = config.network(data.n_inputs, len(data.classes))
    parameters, patterns = config.initial_parameters(network), class_patterns(len(data.classes), data.n_steps)
    total, weights = config.epochs * len(training), []
    means = gemsnn.TraceMeans.zero(network)
    for epoch in range(config.epochs):
        for index in training[epoch_order(len(training), config.seed, epoch)]:
            rule = config.schedule.rule_at(config.rule, len(weights), total)
            target = patterns[data.train.labels[index]]
            result = gemsnn.learn(
                network,
                parameters,
                rule,
                data.train[index],
                target,
                config.n_compartments,
                config.seed,
                example=len(weights),
                means=means if config.mean_free else None,
            )
            parameters, means = result.parameters, means.after(network, data.train[index])
            weights.append(parameters)
    return weights


class Noting:
    """An observer that keeps everything it is told."""

    def __init__(self):
        self.examples, self.evaluations, self.weights = [], [], []

    def learned(self, trainer, event, /):
        self.examples.append(event)
        self.weights.append(trainer.state.parameters.copy())

    def evaluated(self, trainer, event, /):
        self.evaluations.append(event)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"learning_rate_schedule": "linear"},
        {"validation_fraction": 0},
        {"dtype": "float64", "visible_memory": False, "seed": 9},
        {"rule": gemsnn.GEM(1e-2), "mean_free": False, "readout": "bernoulli"},
        {"rule": {"kind": "mb", "learning_rate": 1e-3}},
        {"rule": {"kind": "iw", "learning_rate": 1e-3, "baseline": 0.9}},
        {"readout": "winner-take-all", "topology": {"kind": "layers", "sizes": [4, 3]}},
    ],
)
def test_the_trainer_learns_what_a_plain_loop_learns_to_the_bit(data, changes):
    config, noting = toy.config(nothing_share=0, **changes), Noting()
    assert trainer_of(config, data).run(noting)
    expected = plain_loop(config, data)
    assert noting.weights[-1] == expected[-1]
    assert all(found == wanted for found, wanted in zip(noting.weights, expected, strict=True))


GRAPHS = {"event": {}, "sparse": {"topology": {"kind": "random", "density": 0.4}, "synaptic_filter": {"duration": 20}}}


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("rule", gemsnn.rules.RULES)
def test_another_number_of_threads_gives_the_same_bits(data, rule, graph):
    """With batches of 7, 7, 7, 7 and 2 examples, which an average and an evaluation come in between."""
    config = toy.config(batch_size=7, rule=rule, average_last=0.5, n_compartments=3, **GRAPHS[graph])
    trainers = [trainer_of(config.changed(threads=threads), data) for threads in (1, 2, 3, 8)]
    for trainer in trainers:
        trainer.run()
    one, *others = trainers
    for other in others:
        assert other.state.parameters == one.state.parameters
        assert other.parameters() == one.parameters()
        assert other.state.progress == one.state.progress


def test_the_reference_engine_trains_to_the_same_weights_and_figures(data):
    config = toy.config(dtype="float64", epochs=1, n_hidden=4)
    compiled, reference = (trainer_of(config, data, engine=name) for name in ("compiled", "reference"))
    for trainer in (compiled, reference):
        trainer.run()
    found, wanted = compiled.parameters(), reference.parameters()
    for name in ("synaptic", "somatic", "bias"):
        np.testing.assert_allclose(getattr(found, name), getattr(wanted, name), rtol=0, atol=1e-11)
    figures = [trainer.state.progress.last["validation"] for trainer in (compiled, reference)]
    assert figures[0]["accuracy"] == figures[1]["accuracy"]
    assert figures[0]["nll"] == pytest.approx(figures[1]["nll"], rel=1e-9)


def test_a_batch_is_learned_from_the_same_weights_and_its_changes_are_added(data):
    config, noting = toy.config(batch_size=8, dtype="float64", epochs=2, nothing_share=0), Noting()
    trainer = trainer_of(config, data)
    parameters, means = trainer.state.parameters.copy(), gemsnn.TraceMeans.zero(trainer.network)
    patterns, lengths = class_patterns(3, data.n_steps), []
    order = trainer.partition.training
    for epoch in range(2):
        shown = order[epoch_order(len(order), config.seed, epoch)]
        for start in range(0, len(shown), 8):
            batch, position = shown[start : start + 8], epoch * len(shown) + start
            rule = config.schedule.rule_at(config.rule, position, trainer.total)
            sums, seen = parameters.copy(), means
            for n, index in enumerate(batch):
                inputs, target = data.train[index], patterns[data.train.labels[index]]
                result = gemsnn.learn(
                    trainer.network, parameters, rule, inputs, target, 2, config.seed, example=position + n, means=means
                ).parameters
                for name in ("synaptic", "somatic", "bias"):
                    getattr(sums, name)[...] += getattr(result, name) - getattr(parameters, name)
                seen = seen.after(trainer.network, inputs)
            parameters, means = sums, seen
            lengths.append(len(batch))
    trainer.run(noting)
    assert [event.examples for event in noting.examples] == lengths == [8, 8, 8, 6] * 2
    assert trainer.state.means.count == 60
    np.testing.assert_array_equal(trainer.state.means.value, means.value)
    for name in ("synaptic", "somatic", "bias"):
        np.testing.assert_allclose(getattr(trainer.state.parameters, name), getattr(parameters, name), rtol=1e-9)


def test_evaluations_and_averages_come_at_the_ends_of_batches(data):
    config, noting = toy.config(batch_size=8, average_last=0.5), Noting()
    trainer = trainer_of(config, data)
    trainer.run(noting)
    ends = [event.position for event in noting.examples]
    assert ends == [8, 16, 24, 30, 38, 46, 54, 60]
    # every 10 examples, and at the end
    assert [event.record["position"] for event in noting.evaluations] == [16, 24, 30, 46, 54, 60]
    assert trainer.n_evaluations == 6
    assert trainer.state.progress.averaged == 4  # after 38, 46, 54 and 60
    mean = np.mean([weights.bias.astype(np.float64) for weights in noting.weights[-4:]], axis=0)
    np.testing.assert_allclose(trainer.parameters().bias, mean, rtol=1e-6)
    told = [event.record["train"]["examples"] for event in noting.evaluations]
    assert told == [16, 8, 6, 16, 8, 6]
    assert noting.evaluations[0].record["train"]["log_likelihood"] == pytest.approx(
        np.mean([event.log_likelihood for event in noting.examples[:2]])
    )


def test_a_batch_larger_than_the_data_is_an_epoch(data):
    noting = Noting()
    trainer = trainer_of(toy.config(batch_size=500, epochs=3, max_time_samples=70 * toy.N_STEPS), data)
    trainer.run(noting)
    assert [event.position for event in noting.examples] == [30, 60, 70]


def test_another_seed_gives_another_model(data):
    one, other = trainer_of(toy.config(epochs=1), data), trainer_of(toy.config(epochs=1, seed=1), data)
    one.run()
    other.run()
    assert one.state.parameters != other.state.parameters


@pytest.mark.parametrize("batch_size", [1, 4])
def test_a_stopped_run_goes_on_from_its_state_alone(data, batch_size):
    config = toy.config(average_last=0.5, batch_size=batch_size)
    whole = trainer_of(config, data)
    whole.run()
    for stop_at in (1, 13, 20, 21, 40):
        first = trainer_of(config, data)
        assert not first.run(stop=lambda first=first, stop_at=stop_at: first.position >= stop_at)
        progress = Progress(**dataclasses.asdict(first.state.progress))
        state = TrainingState(first.state.parameters, progress, first.state.weight_sum, first.state.means)
        second = trainer_of(config, data, state)
        assert second.run()
        assert second.parameters() == whole.parameters()
        assert second.state.progress == whole.state.progress


def test_stopping_in_the_middle_of_an_evaluation_repeats_all_of_it(data):
    config = toy.config()
    whole, noting = trainer_of(config, data), Noting()
    whole.run(noting)
    trainer, again = trainer_of(config, data), Noting()
    trainer.run(again, stop=lambda: trainer.position == 10)
    assert trainer.evaluation_due
    assert not again.evaluations
    asked = iter([False, False, True])  # before the evaluation, before the validation batch, before the test batch
    assert not trainer.run(again, stop=lambda: next(asked))
    assert not again.evaluations
    trainer.run(again)
    assert [event.record for event in again.evaluations] == [event.record for event in noting.evaluations]


def test_evaluations_come_when_enough_time_samples_have_passed_and_at_the_end(data):
    noting = Noting()
    trainer = trainer_of(toy.config(eval_every=7 * toy.N_STEPS + 1), data)
    trainer.run(noting)
    n = len(trainer.partition.training)
    due = [p for p in range(1, 2 * n + 1) if p * 20 // 141 > (p - 1) * 20 // 141]
    assert [event.record["position"] for event in noting.evaluations] == [*due, 2 * n]
    assert all(event.record["time_samples"] == 20 * event.record["position"] for event in noting.evaluations)


def test_evaluations_can_be_asked_for_at_chosen_points(data):
    noting = Noting()
    trainer = trainer_of(toy.config(eval_every=None, eval_at=(1, 100, 101, 140), epochs=1), data)
    left = []
    trainer.run(noting, stop=lambda: left.append(trainer.evaluations_left))
    assert [event.record["position"] for event in noting.evaluations] == [1, 5, 6, 7, 30]
    assert (left[0], left[-1]) == (5, 0)


def test_by_default_there_is_an_evaluation_an_epoch(data):
    noting = Noting()
    trainer_of(toy.config(eval_every=None, epochs=3), data).run(noting)
    assert [event.record["epoch"] for event in noting.evaluations] == [1, 2, 3]


def test_a_record_tells_how_learning_went_since_the_one_before(data):
    noting = Noting()
    trainer_of(toy.config(), data).run(noting)
    start = 0
    for event in noting.evaluations:
        since = noting.examples[start : event.record["position"]]
        start = event.record["position"]
        told = event.record["train"]
        assert told["examples"] == len(since)
        assert told["log_likelihood"] == pytest.approx(np.mean([e.log_likelihood for e in since]))
        assert told["hidden_spikes_per_step"] == pytest.approx(np.mean([e.hidden_spikes_per_step for e in since]))


def test_figures_are_those_of_inference_and_metrics(data):
    """The evaluation, put together by hand from the rooms below."""
    extra = [{"kind": "likelihood", "compartments": 4}, {"kind": "vote", "compartments": 2}]
    config = toy.config(extra_decoders=extra, inference_compartments=3)
    trainer = trainer_of(config, data)
    trainer.run(stop=lambda: trainer.position == 10)
    record = trainer.evaluate().record
    network, parameters = trainer.network, trainer.state.parameters
    splits = (
        ("validation", data.train.read(trainer.partition.validation), data.train.labels[trainer.partition.validation]),
        ("test", data.test.read(np.arange(len(data.test))), data.test.labels),
    )
    for split, X, y in splits:
        seed = derived_seed(config.seed, Purpose.PREDICT)
        targets = class_patterns(3, data.n_steps)[y]
        log_likelihood = gemsnn.log_likelihood(network, parameters, X, targets, n_samples=3, seed=seed, example=None)
        assert record[split]["log_likelihood"] == pytest.approx(log_likelihood.mean())
        assert record[split]["examples"] == len(y)
        for figures, decoder, K in (
            (record[split], "per-step", 3),
            (record[split]["extra_decoders"][0], "likelihood", 4),
            (record[split]["extra_decoders"][1], "vote", 2),
        ):
            found = gemsnn.predict(network, parameters, X, K, decoder=decoder, seed=seed)
            table = gemsnn.metrics.reliability(y, found.probabilities, 10, predicted=found.classes)
            assert (figures["decoder"], figures["compartments"], figures["n_bins"]) == (decoder, K, 10)
            assert figures["accuracy"] == (found.classes == y).mean()
            assert figures["ece"] == pytest.approx(table.ece)
            assert figures["reliability"]["counts"] == table.counts.tolist()
            assert figures["nll"] == pytest.approx(gemsnn.metrics.negative_log_likelihood(y, found.probabilities))
            assert figures["brier"] == pytest.approx(gemsnn.metrics.brier_score(y, found.probabilities))
            assert figures["hidden_spikes_per_step"] == pytest.approx(found.hidden_spikes_per_step.mean())


def test_the_likelihood_decoder_and_the_log_likelihood_may_come_from_one_run(data):
    """With as many compartments as realisations they share it; the figures are the same as from two."""
    shared, apart = ({"decoder": "likelihood", "compartments": K, "likelihood_samples": 4} for K in (4, 5))
    records = []
    for settings in (shared, apart):
        config = toy.config(inference_compartments=settings.pop("compartments"), **settings)
        trainer = trainer_of(config, data)
        trainer.run(stop=lambda trainer=trainer: trainer.position == 10)
        records.append(trainer.evaluate().record)
    assert records[0]["test"]["log_likelihood"] == pytest.approx(records[1]["test"]["log_likelihood"], rel=1e-6)
    seed = derived_seed(0, Purpose.PREDICT)
    X = data.test.read(np.arange(len(data.test)))
    found = gemsnn.predict(trainer.network, trainer.state.parameters, X, 4, decoder="likelihood", seed=seed)
    brier = gemsnn.metrics.brier_score(data.test.labels, found.probabilities)
    assert records[0]["test"]["brier"] == pytest.approx(brier, rel=1e-6)


@pytest.mark.parametrize("criterion", ["accuracy", "nll", "log_likelihood"])
def test_the_best_model_is_the_first_with_the_best_validation_and_the_test_set_has_its_own(data, criterion):
    noting = Noting()
    trainer = trainer_of(toy.config(select_by=criterion, eval_every=3 * toy.N_STEPS), data)
    trainer.run(noting)

    def worth(record, split):
        figures = record[split]
        if criterion == "accuracy":
            return figures["accuracy"], -figures["nll"]
        return (-figures["nll"] if criterion == "nll" else figures["log_likelihood"],)

    records = [event.record for event in noting.evaluations]
    progress = trainer.state.progress
    assert progress.best == max(records, key=lambda record: worth(record, "validation"))
    assert progress.best_on_test == max(records, key=lambda record: worth(record, "test"))
    assert [event.record for event in noting.evaluations if event.is_best][-1] == progress.best
    assert progress.last == records[-1]


def test_early_stopping_waits_as_long_as_patience_says(data):
    """Nothing changes at a learning rate of 0, so only the first evaluation is better than the one before."""
    noting = Noting()
    trainer = trainer_of(toy.config(rule={"learning_rate": 0}, patience=3, epochs=50), data)
    assert trainer.run(noting)
    assert trainer.stopped_early
    assert [event.is_best for event in noting.evaluations] == [True, False, False, False]


def test_without_patience_a_run_goes_to_its_end(data):
    trainer = trainer_of(toy.config(rule={"learning_rate": 0}), data)
    trainer.run()
    assert not trainer.stopped_early
    assert trainer.position == trainer.total == 2 * len(trainer.partition.training)


@pytest.mark.parametrize("share", [0.25, 1.0])
def test_the_average_is_that_of_the_weights_over_the_last_part(data, share):
    noting = Noting()
    trainer = trainer_of(toy.config(average_last=share), data)
    trainer.run(noting)
    last = noting.weights[-round(share * trainer.total) :]
    for name in ("synaptic", "somatic", "bias"):
        mean = np.mean([getattr(weights, name).astype(np.float64) for weights in last], axis=0)
        np.testing.assert_allclose(getattr(trainer.parameters(), name), mean, rtol=1e-6, atol=1e-7)
    assert trainer.parameters() != trainer.state.parameters
    assert trainer.parameters().dtype == np.float32


def test_averaging_leaves_learning_alone(data):
    plain, averaging = trainer_of(toy.config(), data), trainer_of(toy.config(average_last=0.5), data)
    plain.run()
    averaging.run()
    assert plain.state.parameters == averaging.state.parameters


def test_without_self_memory_the_read_out_has_none(data):
    trainer = trainer_of(toy.config(visible_memory=False), data)
    trainer.run()
    assert (trainer.state.parameters.somatic[6:] == 0).all()
    assert (trainer.state.parameters.somatic[:6] != 0).any()


def test_training_learns(data):
    """Chance is 1/3."""
    trainer = trainer_of(toy.config(epochs=20, eval_every=None, validation_fraction=0.1), data)
    trainer.run()
    assert trainer.state.progress.last["test"]["accuracy"] >= 0.9


def test_divergence_is_told_with_what_to_do(data):
    with pytest.raises(ConfigError, match=r"diverged at example \d+.*learning_rate below 1e\+38"):
        trainer_of(toy.config(rule={"learning_rate": 1e38}), data).run()


def test_limits_keep_the_classes_in_proportion(data):
    trainer = trainer_of(toy.config(validation_limit=3, test_limit=6), data)
    assert sorted(data.train.labels[trainer.partition.validation]) == [0, 1, 2]
    assert sorted(data.test.labels[trainer.partition.test]) == [0, 0, 1, 1, 2, 2]
    assert not set(trainer.partition.validation) & set(trainer.partition.training)


def test_what_there_is_no_data_for_is_not_evaluated(data):
    noting = Noting()
    trainer_of(toy.config(validation_fraction=0, test_limit=0), data).run(noting)
    assert all(event.record["validation"] is None and event.record["test"] is None for event in noting.evaluations)
    assert not any(event.is_best or event.is_best_on_test for event in noting.evaluations)


def test_too_few_examples_to_hold_any_out_are_refused():
    spikes = np.zeros((2, 5, 3), dtype=bool)
    data = ArrayData(ArrayExamples(spikes, np.array([0, 1])), ["a", "b"])
    with pytest.raises(ConfigError, match=r"validation_fraction = 0\.2: with 2 training examples none can be held out"):
        trainer_of(toy.config(), data)
    with pytest.raises(DataError, match="no training examples"):
        ArrayData(ArrayExamples(spikes[:0], np.zeros(0, dtype=np.int64)), ["a", "b"])


def test_a_prepared_file_without_training_examples_is_refused(tmp_path):
    write_prepared(tmp_path / "test.h5", *toy.examples(6), split=["test"] * 6)
    with open_prepared(tmp_path / "test.h5") as data, pytest.raises(DataError, match="no training examples"):
        trainer_of(toy.config(validation_fraction=0), data)


def test_arrays_and_a_prepared_file_give_the_same_model(data):
    arrays = ArrayData(
        ArrayExamples(data.train.read(np.arange(len(data.train))), data.train.labels),
        data.classes,
        ArrayExamples(data.test.read(np.arange(len(data.test))), data.test.labels),
    )
    from_file, from_arrays = trainer_of(toy.config(), data), trainer_of(toy.config(), arrays)
    from_file.run()
    from_arrays.run()
    assert from_file.state.parameters == from_arrays.state.parameters
    assert from_file.state.progress == from_arrays.state.progress


def test_arrays_are_told_apart_by_their_fingerprint():
    spikes, labels = np.zeros((2, 5, 3), dtype=bool), np.array([0, 1])
    changed = spikes.copy()
    changed[1, 2, 1] = True
    prints = {
        ArrayData(ArrayExamples(spikes, labels), ["a", "b"]).fingerprint,
        ArrayData(ArrayExamples(changed, labels), ["a", "b"]).fingerprint,
        ArrayData(ArrayExamples(spikes, labels[::-1]), ["a", "b"]).fingerprint,
        ArrayData(ArrayExamples(spikes, labels), ["a", "c"]).fingerprint,
        ArrayData(ArrayExamples(spikes, labels), ["a", "b"], ArrayExamples(spikes, labels)).fingerprint,
    }
    assert len(prints) == 5


def test_the_file_is_never_held_in_memory(tmp_path):
    n, T, n_inputs = 400, 20, 5000
    rng = np.random.default_rng(0)
    path = tmp_path / "large.h5"
    write_prepared(path, (rng.random((T, n_inputs)) < 0.1 for _ in range(n)), np.arange(n) % 2, split=0.5)
    config = toy.config(
        n_hidden=1,
        n_compartments=1,
        epochs=1,
        synaptic_filter={"kind": "raised-cosine", "n_basis": 1, "duration": 2},
        validation_fraction=0,
        test_limit=0,
    )
    with open_prepared(path) as data:
        trainer_of(config, data).run()  # compile first; older Numba also leaves types behind, less than a megabyte
        trainer = trainer_of(config, data)
        tracemalloc.start()
        trainer.run()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert trainer.position == 200
    assert peak < 200 * T * n_inputs / 8  # bytes: an eighth of the training examples, or all of them packed


def test_state_has_only_values_that_json_keeps(data):
    import json

    trainer = trainer_of(toy.config(), data)
    trainer.run(stop=lambda: trainer.position == 25)
    progress = dataclasses.asdict(trainer.state.progress)
    assert json.loads(json.dumps(progress, allow_nan=False)) == progress
    assert isinstance(trainer.state.parameters, Parameters)


def test_a_run_that_diverges_to_finite_numbers_says_so(data):
    trainer = trainer_of(toy.config(rule={"learning_rate": 1000.0}), data)
    with pytest.warns(DivergenceWarning, match=r"diverged by example \d+: .* start anew with rule.learning_rate below"):
        trainer.run(stop=lambda: trainer.state.progress.evaluated > 0)

"""A model that answers while the recording goes on."""

import gc
import subprocess
import sys

import numpy as np
import pytest
import toy
from memory import bytes_held, resident_bytes
from numba.core import event as numba_events

import gemsnn
from gemsnn import ConfigError, DataError, ShapeError
from gemsnn.events import EVENT_DTYPE, Preprocessing
from gemsnn.inference import DECODERS as DECODERS_BY_NAME
from gemsnn.inference import Confident, Verdict, recording_key
from gemsnn.model.network import readout_circuits
from gemsnn.training import DecoderSettings, Model, load_model, save_model

DECODERS = ("per-step", "vote", "likelihood")
CHOICE = Preprocessing(sensor_size=(6, 5), bin_us=1000, n_steps=15)
TOPOLOGIES = {
    "paper": gemsnn.Topology.fully_connected(30, 12, 3),
    "feedback": gemsnn.Topology.random(30, 12, 3, 0.7, seed=1),
}
RECORDINGS = [np.random.default_rng(n).random((T, 30)) < 0.2 for n, T in enumerate((15, 1, 40, 22))]


def make(graph="paper", readout="bernoulli", decoder="per-step", K=3, dtype=np.float32, memory=True, **options):
    topology = TOPOLOGIES[graph]
    network = gemsnn.Network(topology, visible_memory=memory, circuits=readout_circuits(topology, readout))
    parameters = network.init(seed=1, weight_scale=2.0, dtype=dtype)
    how = DecoderSettings(kind=decoder, compartments=K)
    return Model(network, parameters, ("left", "right", "up"), how, 15, 7, CHOICE, **options)


def some_events(n=300, seed=0):
    rng, events = np.random.default_rng(seed), np.zeros(n, dtype=EVENT_DTYPE)
    events["x"], events["y"] = rng.integers(0, 6, n), rng.integers(0, 5, n)
    events["t"], events["p"] = np.sort(rng.integers(0, 12_000, n)), rng.integers(0, 2, n)
    return events


def assert_equal_numbers(answers, anytime, classes):
    assert [answer.step for answer in answers] == list(range(1, len(anytime.classes) + 1))
    assert [answer.label for answer in answers] == [classes[c] for c in anytime.classes]
    np.testing.assert_array_equal([answer.probabilities for answer in answers], anytime.probabilities)
    np.testing.assert_array_equal([answer.confidence for answer in answers], anytime.confidence)
    np.testing.assert_array_equal([answer.hidden_spikes for answer in answers], anytime.hidden_spikes)


@pytest.mark.parametrize("graph", TOPOLOGIES)
@pytest.mark.parametrize("readout", ["bernoulli", "winner-take-all"])
@pytest.mark.parametrize("decoder", DECODERS)
def test_step_by_step_equals_in_bulk_to_the_bit(graph, readout, decoder):
    for K, dtype, memory in ((1, np.float32, False), (4, np.float64, True)):
        model = make(graph, readout, decoder, K, dtype, memory)
        in_bulk = model.predict_anytime(RECORDINGS, keys=[5, 6, 7, 8])
        live = model.stream(key=5)
        for recording, anytime in zip(RECORDINGS, in_bulk, strict=True):
            assert_equal_numbers([live.step(inputs) for inputs in recording], anytime, model.classes)
            live.reset()


@pytest.mark.parametrize("decoder", DECODERS)
def test_with_the_key_of_the_recording_the_last_answer_is_that_of_predict(decoder):
    model = make(decoder=decoder)
    live = model.stream()
    for recording in RECORDINGS:
        live.reset(recording_key(recording))
        for inputs in recording:
            answer = live.step(inputs)
        found = model.predict([recording])
        assert answer.label == found.label[0]
        np.testing.assert_array_equal(answer.probabilities, found.probabilities[0])


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_events_as_they_come_give_the_answers_of_the_whole_recording(size):
    model, events = make(), some_events()
    live = model.stream(key=3)
    answers = [answer for part in np.array_split(events, range(size, 300, size)) for answer in live.feed(part)]
    answers += live.finish()
    assert_equal_numbers(answers, model.predict_anytime(events, keys=[3]), model.classes)
    assert [answer.time_us for answer in answers] == [events["t"][0] + 1000 * t for t in range(1, 16)]
    assert [answer.ended for answer in answers] == [False] * 14 + [True]
    assert not live.finish()


def test_the_recordings_of_a_source_are_answered_one_after_the_other():
    model = make()
    recordings = [some_events(seed=seed) for seed in range(3)]
    source = [part for events in recordings for part in (events[:50], events[50:], None, None)]
    answers = list(model.stream(key=5).follow(source))
    assert [answer.step for answer in answers] == list(range(1, 16)) * 3
    expected = model.predict_anytime([model.bin(events) for events in recordings], keys=[5, 6, 7])
    for n, anytime in enumerate(expected):
        assert_equal_numbers(answers[15 * n : 15 * n + 15], anytime, model.classes)


def test_a_source_without_ends_is_cut_into_recordings_when_asked():
    model = make()
    events = np.concatenate([some_events(seed=seed) for seed in range(3)])
    events["t"] += np.repeat([0, 40_000, 80_000], 300)
    once = list(model.stream().follow([events]))
    assert [answer.step for answer in once] == list(range(1, 16))  # what comes after the last step is left out
    again = [one for one in model.stream().follow(np.array_split(events, 11), again=True) if not one.nothing]
    assert [answer.step for answer in again] == list(range(1, 16)) * 3
    parts = np.array_split(events, 3)
    expected = model.predict_anytime([model.bin(part) for part in parts], keys=[0, 1, 2])
    for n, anytime in enumerate(expected):
        assert_equal_numbers(again[15 * n : 15 * n + 15], anytime, model.classes)


def test_without_events_there_is_no_recording_in_a_source():
    live = make().stream()
    assert not list(live.follow([None, some_events()[:0], None]))
    answers = list(live.follow([some_events()], again=True))
    assert [answer.step for answer in answers] == list(range(1, 16))  # and no silence after the last step
    live.reset()
    assert [answer.ended for answer in live.finish()] == [False] * 14 + [True]  # here somebody says that there was one


def test_an_endless_stream_goes_on_after_the_last_step():
    model, events = make(), some_events()
    events["t"] *= 10
    live = model.stream(endless=True)
    answers = [*live.feed(events), *live.finish()]
    inputs = CHOICE.model_copy(update={"n_steps": None}).bin(events)
    assert len(inputs) > 100
    assert_equal_numbers(answers, model.predict_anytime(inputs, keys=[0]), model.classes)


def test_late_events_are_counted_over_all_recordings():
    live = make().stream()
    for _ in range(2):
        live.feed(some_events())
        live.feed(some_events()[:4])
        live.reset()
    assert live.late == 8
    patient = make().stream(patience_us=20_000)
    events = some_events()
    patient.feed(np.concatenate([events[:1], events[:0:-1]]))
    assert patient.late == 0


def test_steps_end_with_finish_as_well():
    live = make().stream(stop=Ending())
    for inputs in RECORDINGS[0]:
        live.step(inputs)
    assert live.answer.ended is False
    assert live.finish() == []
    assert (live.answer.ended, live.answer.labels, live.answer.stop) == (True, ("up",), True)
    live.reset()
    assert live.answer is None


class Ending:
    """Keeps all classes until the end, and the last one then."""

    def start(self, shape):
        return np.ones(shape, dtype=bool)

    def update(self, state, step, probabilities, ended=False):
        state = state & (np.arange(state.shape[-1]) == state.shape[-1] - 1) if ended else state
        return state, Verdict(ended, state)


# ---- when to stop


@pytest.mark.parametrize("confidence", [0.0, 0.4, 0.5, 0.6, 1.0])
@pytest.mark.parametrize("min_steps", [1, 6])
def test_it_stops_when_the_answers_in_bulk_do(confidence, min_steps):
    model = make(K=5)
    live = model.stream(stop=Confident(confidence, min_steps))
    sure = 0
    for n, recording in enumerate(RECORDINGS):
        if len(recording) < min_steps:
            continue
        live.reset(key=n)
        answers = [live.step(inputs) for inputs in recording]
        expected = model.predict_anytime(recording, keys=[n]).stop(confidence, min_steps)
        if live.decision is None:
            assert expected.steps == len(recording)
            assert not any(answer.stop for answer in answers)
            continue
        sure += 1
        assert (live.decision.step, live.decision.confidence) == (expected.steps, expected.confidence)
        assert live.decision.label == model.classes[expected.classes]
        assert [answer.stop for answer in answers] == [answer.step >= expected.steps for answer in answers]
    assert sure > 0 if confidence < 0.5 else True


def test_a_number_is_the_confidence_to_stop_at_and_nonsense_is_refused():
    assert make().stream(stop=0.7).stopping == Confident(0.7)
    assert make().stream().stopping is None
    for nonsense in (1.5, -0.1, float("nan"), "sure"):
        with pytest.raises(ConfigError, match="confidence must"):
            make().stream(stop=nonsense)


# ---- the same draws, the same bits


def test_the_key_decides_the_draws_and_counts_on():
    model, recording = make(), RECORDINGS[2]

    def run(live):
        return np.array([live.step(inputs).probabilities for inputs in recording])

    live = model.stream(key=4)
    first = run(live)
    assert live.key == 4
    live.reset()
    assert live.key == 5
    second = run(live)
    assert (first != second).any()
    live.reset(key=4)
    np.testing.assert_array_equal(run(live), first)
    np.testing.assert_array_equal(run(model.stream(key=5)), second)


def test_a_stream_changes_neither_the_model_nor_what_it_is_given():
    model = make()
    before, inputs = model.parameters.copy(), RECORDINGS[0].copy()
    live = model.stream(learning=True, rule=gemsnn.GEM())
    for x in inputs:
        live.step(x)
        live.teach("up")
    assert model.parameters == before
    np.testing.assert_array_equal(inputs, RECORDINGS[0])


def test_what_an_answer_holds_is_not_overwritten_by_later_steps():
    live = make().stream()
    answer = live.step(RECORDINGS[0][0])
    kept, spikes = answer.probabilities.copy(), live.spikes
    kept_spikes = spikes.copy()
    for inputs in RECORDINGS[0]:
        live.step(inputs)
    np.testing.assert_array_equal(answer.probabilities, kept)
    np.testing.assert_array_equal(spikes, kept_spikes)
    assert spikes.shape == (3, 15)


# ---- from a file, a run and a classifier


def test_a_model_from_a_file_streams_the_same_numbers(tmp_path):
    model = make()
    save_model(model, tmp_path / "model.safetensors")
    streams = model.stream(), load_model(tmp_path / "model.safetensors").stream()
    for inputs in RECORDINGS[0]:
        one, other = (live.step(inputs) for live in streams)
        np.testing.assert_array_equal(one.probabilities, other.probabilities)
        assert one.label == other.label


def test_a_fitted_classifier_streams_and_its_read_out_can_be_changed():
    X, y = toy.examples()
    y = np.array(["two", "five", "seven"] * 16)
    classifier = gemsnn.SpikingClassifier(n_hidden=6, schedule={"epochs": 2}, inference_compartments=3).fit(X, y)
    live = classifier.stream(key=recording_key(X[0]))
    for inputs in X[0]:
        answer = live.step(inputs)
    assert answer.label == classifier.predict(X[:1])[0]
    np.testing.assert_array_equal(answer.probabilities, classifier.predict_proba(X[:1])[0])
    assert live.n_compartments == 3
    classifier.set_params(decoder="vote", inference_compartments=7)
    live = classifier.stream()
    assert (live.decoder.name, live.n_compartments) == ("vote", 7)
    with pytest.raises(DataError, match="this model was trained on arrays, not on recordings"):
        live.feed(some_events())
    with pytest.raises(ValueError, match="not fitted"):
        gemsnn.SpikingClassifier().stream()


def test_decoder_and_compartments_can_be_chosen():
    model = make()
    for live in (model.stream("vote", 2), model.stream(decoder=DECODERS_BY_NAME["vote"], compartments=2)):
        assert (live.decoder.name, live.n_compartments) == ("vote", 2)
    with pytest.raises(ConfigError, match="unknown decoder"):
        model.stream("votes")
    with pytest.raises(ConfigError, match="compartments = 0: must be a whole number"):
        model.stream(compartments=0)
    with pytest.raises(ConfigError, match="key must be a whole number"):
        model.stream(key=-1)


def test_wrong_inputs_are_named():
    live = make().stream()
    with pytest.raises(ShapeError, match=r"inputs_t has shape \(29,\)"):
        live.step(np.zeros(29))
    with pytest.raises(DataError, match="inputs_t must hold spikes"):
        live.step(np.full(30, 2))


def test_a_model_of_spike_patterns_has_no_class_to_name():
    model = make()
    patterns = Model(model.network, model.parameters, (), model.decoder, 15)
    with pytest.raises(ConfigError, match="trained on spike patterns"):
        patterns.stream()


# ---- learning


def trained(**settings):
    X, y = toy.examples()
    classifier = gemsnn.SpikingClassifier(
        **toy.arguments(n_hidden=6, epochs=1, learning_rate=1e-2, random_state=3, **settings)
    )
    return classifier.fit(X[:24], y[:24]), X[24:30], y[24:30]


@pytest.mark.parametrize("rule", ["feedback", "gem", "mb"])
def test_teaching_step_by_step_is_learning_on(rule):
    """With the model's own rule, compartments and draws: what partial_fit does.

    Means of the traces move at other times in a stream, which does not know when a recording ends.
    """
    classifier, X, y = trained(rule=rule, n_compartments=2, mean_free=False, nothing_share=0)
    live = classifier.stream(learning=True)
    for recording, label in zip(X, y, strict=True):
        live.teach(label)
        for inputs in recording:
            live.step(inputs)
        live.reset()
    classifier.partial_fit(X, y)
    for mine, theirs in zip(vars(live.parameters).values(), vars(classifier.parameters_).values(), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("kind", ["once", "beside"])
def test_while_learning_answers_are_those_of_the_weights_before_each_step(decoder, kind):
    classifier, X, y = trained(visible_memory=kind == "beside")
    model = classifier.model_
    live = model.stream(decoder, learning=True, key=7)
    how = {"decoder": decoder, "seed": model.seed}
    for n, (recording, label) in enumerate(zip(X, y, strict=True)):
        before = live.parameters
        whole = gemsnn.predict_anytime(model.network, before, recording, 1, keys=[7 + n], **how)
        live.teach(label if n % 2 else None)
        answers = [live.step(inputs).probabilities for inputs in recording]
        same = slice(1) if n % 2 and kind == "once" else slice(None)  # nothing has been learned at the first step
        np.testing.assert_allclose(answers[same], whole.probabilities[0, same], rtol=1e-4, atol=1e-6)
        live.reset()
        assert (live.parameters != before) == bool(n % 2)


def test_with_a_learning_rate_of_0_the_answers_are_those_of_prediction():
    """So that targets never leak into answers, however visible neurons are clamped."""
    classifier, X, y = trained()
    model = classifier.model_
    for decoder in DECODERS:
        live = model.stream(decoder, 4, rule=gemsnn.Feedback(0.0), key=3)
        live.teach(y[0])
        answers = [live.step(inputs) for inputs in X[0]]
        whole = gemsnn.predict_anytime(
            model.network, model.parameters, X[0], 4, decoder=decoder, seed=model.seed, keys=[3]
        )
        np.testing.assert_allclose([a.probabilities for a in answers], whole.probabilities[0], rtol=1e-4, atol=1e-6)
        assert [a.hidden_spikes for a in answers] == whole.hidden_spikes[0].tolist()


def test_the_network_runs_once_while_it_learns_and_answers():
    classifier, _, _ = trained()
    live = classifier.stream(learning=True)
    assert live._stepwise._runners == []


@pytest.mark.parametrize("by", ["teach", "step"])
def test_it_learns_from_steps_with_a_target_and_runs_through_the_others(by):
    classifier, X, _ = trained()
    model = classifier.model_
    live = model.stream(learning=True)
    rule, position = gemsnn.Feedback(learning_rate=1e-2), classifier.n_examples_seen_
    by_hand = gemsnn.Stream(model.network, model.parameters, rule, 1, model.seed, example=position, means=model.means)
    target = np.array([0, 1, 0])
    for t, inputs in enumerate(X[0]):
        taught = (target if t % 2 else 5) if t % 3 == 1 else None
        if by == "teach":
            live.teach(taught)
            live.step(inputs)
        else:
            live.step(inputs, taught)
        by_hand.step(inputs, target if t % 3 == 1 else None)
    live.reset()
    assert live.parameters == by_hand.parameters


def test_what_cannot_be_learned_is_told():
    classifier, X, _ = trained()
    for teach in (lambda live: live.teach(2), lambda live: live.step(X[0][0], 2)):
        with pytest.raises(ConfigError, match=r"only predicts; make one that learns with stream\(learning=True\)"):
            teach(classifier.stream())
    live = classifier.stream(learning=True)
    with pytest.raises(DataError, match="9 is none of the classes 2, 5, 7"):
        live.teach(9)
    with pytest.raises(ShapeError, match="target_t has shape"):
        live.step(X[0][0], [0, 1])
    with pytest.raises(ConfigError, match=r"compartments = 1, rule\."):
        classifier.stream(rule=gemsnn.IW())


def test_a_model_that_does_not_say_its_rule_wants_one():
    model = make()
    with pytest.raises(ConfigError, match=r"does not say by which rule it learned .*: give rule="):
        model.stream(learning=True)
    live = model.stream(rule=gemsnn.MB(0.01))
    live.step(RECORDINGS[0][0], "left")


# ---- a stream may go on for ever


@pytest.mark.parametrize("learning", [False, True])
def test_a_long_stream_takes_constant_memory_collects_no_garbage_and_compiles_nothing(learning):
    model = make(readout="winner-take-all")
    live = model.stream(learning=learning, rule=gemsnn.Feedback(1e-4) if learning else None, stop=0.99, endless=True)
    events = some_events(100)
    compiled, collected = [], []

    class Listener(numba_events.Listener):
        def on_start(self, happening):
            compiled.append(happening)

        def on_end(self, happening):
            pass

    def some_more(n):
        for _ in range(n):
            yield events
            events["t"] += 12_000

    def run(n):
        for answer in live.follow(some_more(n)):
            if learning:
                live.teach("left" if answer.step % 3 else None)

    def note(phase, about):
        if phase == "stop":
            collected.append(about)

    listener = Listener()
    numba_events.register("numba:compile", listener)
    gc.collect()
    gc.callbacks.append(note)
    try:
        run(20)
        held = bytes_held(live)
        before = resident_bytes()
        run(40 if learning else 400)
        grown = resident_bytes() - before
    finally:
        gc.callbacks.remove(note)
        numba_events.unregister("numba:compile", listener)
    assert not compiled
    assert not any(about["collected"] or about["generation"] == 2 for about in collected)
    assert bytes_held(live) == held > 0
    assert grown < 1e6
    assert live.answer.step > 600


def test_all_that_a_step_needs_is_compiled_or_loaded_before_the_first():
    """In a process of its own, where nothing has been."""
    code = """
import gc
import numpy as np, gemsnn
from numba.core.dispatcher import Dispatcher
from gemsnn.events import EVENT_DTYPE, Preprocessing
from gemsnn.training import DecoderSettings, Model

def ready():
    kernels = [thing for thing in gc.get_objects() if isinstance(thing, Dispatcher)]
    ours = [(one.py_func, one.signatures) for one in kernels if "gemsnn" in (one.py_func.__module__ or "")]
    return {f"{kernel.__module__}.{kernel.__qualname__}": told for kernel, told in ours}

network = gemsnn.Network.fully_connected(6, 4, 2, readout="winner-take-all")
choice = Preprocessing(sensor_size=(3, 2), bin_us=100)
model = Model(network, network.init(), ("a", "b"), DecoderSettings(kind="per-step", compartments=2), 9, 0, choice)
live = model.stream(rule=gemsnn.GEM(), stop=0.9)
before = ready()
events = np.zeros(500, EVENT_DTYPE)
events["t"] = np.arange(500) * 70
for answer in live.follow([events[:200], events[200:]]):
    live.teach("a")
live.reset()
live.feed(events)
after = ready()
new = {name: told for name, told in after.items() if told != before.get(name)}
print(answer.step, "gemsnn.events.placing.place" in after, new)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.stdout == "350 True {}\n", done

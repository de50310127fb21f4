"""`gemsnn stream` on real files, pipes and sockets."""

import gc
import json
import os
import signal
import socket
import subprocess
import sys
import time

import numpy as np
import pytest

from gemsnn.events import (
    EVENT_DTYPE,
    Preprocessing,
    mnist_dvs_preprocessing,
    open_prepared,
    read_aedat,
    simulate_prepared,
)
from gemsnn.events.sources import UdpSender, to_bytes
from gemsnn.training import RunDirectory, TrainingConfig, train

COMMAND = [sys.executable, "-m", "gemsnn", "stream"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run on recordings of zeros and ones, and a recording."""
    folder = tmp_path_factory.mktemp("recordings")
    simulate_prepared(folder / "digits.h5", digits=(0, 1), per_class=(6, 2), aedat_folder=folder / "aedat")
    config = TrainingConfig.make(n_hidden=8, n_compartments=2, epochs=2)
    with open_prepared(folder / "digits.h5") as data:
        train(config, data, folder / "run")
    return folder / "run", sorted((folder / "aedat").rglob("*.aedat"))[0]


def answers_of(out):
    return [json.loads(line) for line in out.splitlines()]


def text_of(events):
    return "".join(f"{e['t']},{e['x']},{e['y']},{e['p']}\n" for e in events).encode()


def test_a_recording_played_back_ends_with_the_answer_of_predict(gemsnn, trained):
    run, file = trained
    code, out, err = gemsnn("stream", run, file, "--speed", 0, "--json")
    assert (code, err) == (0, f"{run}: per-step decoder, 2 compartments; playing {file}\n")
    assert (gc.isenabled(), gc.get_freeze_count()) == (True, 0)  # as before
    answers = answers_of(out)
    assert [answer["step"] for answer in answers] == list(range(1, 81))
    assert [answer["ended"] for answer in answers] == [False] * 79 + [True]
    predicted = json.loads(gemsnn("predict", run, file, "--json")[1])
    for name in ("class", "confidence", "probabilities"):
        assert answers[-1][name] == predicted[name]
    model, events = RunDirectory(run).load_model(), read_aedat(file)
    anytime = model.predict_anytime(mnist_dvs_preprocessing(4).bin(events)[None])
    assert [answer["confidence"] for answer in answers] == anytime.confidence[0].tolist()
    assert [answer["time_us"] for answer in answers] == [int(events["t"][0]) + 25_000 * t for t in range(1, 81)]


def test_lines_for_people_and_only_what_changes(gemsnn, trained):
    run, file = trained
    code, out, _ = gemsnn("stream", run, file, "--speed", 0)
    assert code == 0
    lines = out.splitlines()
    assert len(lines) == 80
    assert lines[-1].endswith("end")
    brief = gemsnn("stream", run, file, "--speed", 0, "--brief")[1].splitlines()
    assert brief[0] == lines[0]
    assert brief[-1] == lines[-1]
    assert len(brief) < 80


def test_it_stops_when_it_is_sure(gemsnn, trained):
    run, file = trained
    answers = answers_of(gemsnn("stream", run, file, "--speed", 0, "--json", "--stop", 0.55)[1])
    assert len(answers) < 80
    assert [answer["stop"] for answer in answers] == [False] * (len(answers) - 1) + [True]
    assert answers[-1]["confidence"] >= 0.55


def test_decoder_and_compartments_can_be_chosen(gemsnn, trained):
    run, file = trained
    flags = ["--speed", 0, "--json", "--decoder", "vote", "--compartments", 5]
    answer = answers_of(gemsnn("stream", run, file, *flags)[1])[-1]
    predicted = json.loads(gemsnn("predict", run, file, "--json", *flags[3:])[1])
    assert answer["probabilities"] == predicted["probabilities"]


@pytest.mark.parametrize("form", ["text", "binary"])
def test_events_come_through_a_pipe_and_answers_before_it_ends(trained, form):
    run, file = trained
    events = read_aedat(file)
    half = int(np.searchsorted(events["t"], events["t"][0] + 1_000_000))
    flags = ["--json", *(["--binary"] if form == "binary" else [])]
    encode = to_bytes if form == "binary" else text_of
    with subprocess.Popen(
        [*COMMAND, run, *flags], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdin.write(encode(events[:half]))
        process.stdin.flush()
        first = [json.loads(process.stdout.readline()) for _ in range(39)]  # the recording is not over yet
        process.stdin.write(encode(events[half:]))
        process.stdin.close()
        rest = answers_of(process.stdout.read())
        assert process.wait(60) == 0, process.stderr.read()
    model = RunDirectory(run).load_model()
    anytime = model.predict_anytime(model.bin(events)[None], keys=[0])
    assert [answer["confidence"] for answer in first + rest] == anytime.confidence[0].tolist()


def test_recordings_follow_one_another_over_udp_until_ctrl_c(trained):
    run, file = trained
    events = read_aedat(file)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with subprocess.Popen(
        [*COMMAND, run, f"udp:{port}", "--json", "--brief"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert f"listening on UDP port {port}" in process.stderr.readline().decode()
        with UdpSender(port) as sender:
            ends = []
            for _ in range(2):
                for part in np.array_split(events, 20):
                    sender.send(part)
                    time.sleep(0.001)
                sender.end()
                while not (answer := json.loads(process.stdout.readline()))["ended"]:
                    pass
                ends.append(answer)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert process.stderr.read().decode().splitlines() == ["interrupted"]
    assert [answer["recording"] for answer in ends] == [0, 1]
    model = RunDirectory(run).load_model()
    inputs = model.bin(events)
    expected = model.predict_anytime(np.stack([inputs, inputs]), keys=[0, 1]).confidence[:, -1]
    assert [answer["confidence"] for answer in ends] == expected.tolist()


def test_an_empty_line_ends_a_recording_and_late_events_are_told(trained):
    run, file = trained
    events = read_aedat(file)
    content = text_of(events) + b"\n" + text_of(events[:1000]) + text_of(events[:7])
    done = subprocess.run([*COMMAND, run, "-", "--json"], input=content, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert [answer["recording"] for answer in answers_of(done.stdout) if answer["ended"]] == [0, 1]
    assert b"warning: 7 events came too late" in done.stderr


@pytest.mark.parametrize("between", [b"", b"\n"], ids=["nothing between", "an empty line"])
def test_recordings_in_one_pipe_are_all_answered_also_after_a_stop(trained, tmp_path, between):
    """`cat three_recordings | gemsnn stream RUN --brief`, with a line that names the columns in each."""
    run, file = trained
    for name in "abc":
        (tmp_path / f"{name}.csv").write_bytes(b"t,x,y,p\n" + text_of(read_aedat(file)) + between)
    line = f"cat {tmp_path}/?.csv | {' '.join(map(str, COMMAND))} {run} --brief --json --stop 0.55"
    done = subprocess.run(["bash", "-c", line], capture_output=True, timeout=300)
    answers = answers_of(done.stdout)
    assert [answer["recording"] for answer in answers if answer["stop"]] == [0, 1, 2], done.stderr
    assert {answer["recording"] for answer in answers} == {0, 1, 2}


def listening(run, *flags):
    """A stream on a port of UDP; returns it once it listens."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [*COMMAND, run, f"udp:{port}", "--json", *flags], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert f"listening on UDP port {port}" in process.stderr.readline().decode()
    return process, port


def stopped(process):
    process.send_signal(signal.SIGINT)
    rest = answers_of(process.stdout.read())
    assert process.wait(60) == 130
    return rest


def test_over_udp_what_is_left_of_a_recording_after_a_stop_is_no_recording(trained):
    run, file = trained
    events = read_aedat(file)
    assert np.ptp(events["t"]) > 2_000_000  # and it is longer than what the model was trained on
    process, port = listening(run, "--brief", "--stop", "0.55")
    with process, UdpSender(port) as sender:
        found = []
        for n in range(3):  # the next is sent once this one was answered: on a busy machine, more could get lost
            for part in np.array_split(events, 40):
                sender.send(part)
                time.sleep(0.002)
            sender.end()
            while sum(answer["stop"] for answer in found) <= n:
                found.append(json.loads(process.stdout.readline()))
        found += stopped(process)
    assert [answer["recording"] for answer in found if answer["stop"]] == [0, 1, 2]
    assert {answer["recording"] for answer in found} == {0, 1, 2}


def test_over_udp_it_says_when_nothing_is_in_sight_and_answers_what_comes_next(trained):
    """The sender marks no ends: silence does."""
    run, file = trained
    events = read_aedat(file)
    process, port = listening(run)
    with process, UdpSender(port) as sender:
        for recording in range(2):
            for part in np.array_split(events[events["t"] < events["t"][0] + 1_000_000], 20):
                sender.send(part)  # at once: on a busy machine, a pause could be longer than the silence that ends it
            found = [json.loads(process.stdout.readline())]
            while not found[-1].get("nothing"):
                found.append(json.loads(process.stdout.readline()))
            assert [answer.get("step") for answer in found] == [*range(1, 81), None]
            assert {answer["recording"] for answer in found[:-1]} == {recording}
            assert (found[-1]["class"], found[-1]["recording"]) == (None, None)
            assert found[-2]["ended"]
        assert not stopped(process)


def test_events_of_damaged_lines_and_pixels_are_one_message(trained):
    run, _ = trained
    for content, words in (
        (b"0,1,1,1\nnonsense\n", "standard input: 'nonsense' in line 2 is not an event"),
        (b"0,1,1,1\n5,200,1,1\n", "event 1 at x = 200, y = 1 lies outside the 128 x 128 sensor"),
    ):
        done = subprocess.run([*COMMAND, run], input=content, capture_output=True, timeout=300)
        assert done.returncode == 2
        assert words in done.stderr.decode()
        assert "Traceback" not in done.stderr.decode()


@pytest.mark.parametrize("options", [[], ["--endless"]])
def test_a_time_at_the_edge_is_an_error_without_an_answer(trained, options):
    run, _ = trained
    for content in (b"9223372036854775807,60,60,1\n", b"0,60,60,1\n-9223372036854775808,60,60,1\n"):
        done = subprocess.run([*COMMAND, run, "-", *options], input=content, capture_output=True, timeout=300)
        assert (done.returncode, done.stdout) == (2, b"")
        assert "out of range for microseconds" in done.stderr.decode()


def test_what_cannot_be_a_source_is_told(gemsnn, trained, data_file, tmp_path):
    run, file = trained
    for source, words in (
        ("udp:camera", "give the port to listen on"),
        ("udp:99999", "cannot listen on UDP port 99999"),
        (run.parent / "digits.h5", "use gemsnn predict"),
        (tmp_path / "missing.aedat", "there is no such file"),
    ):
        code, _, err = gemsnn("stream", run, source)
        assert (code, words in err) == (2, True), err
    with open_prepared(data_file) as data:
        train(TrainingConfig.make(n_hidden=2, epochs=1), data, tmp_path / "run")
    code, _, err = gemsnn("stream", tmp_path / "run", file)
    assert (code, "trained on arrays, not on recordings" in err) == (2, True)


def test_a_reader_that_goes_away_ends_the_stream_quietly(trained):
    run, file = trained
    line = f"{' '.join(map(str, COMMAND))} {run} {file} --speed 0 | head -1"
    done = subprocess.run(["bash", "-c", line], capture_output=True, env=os.environ, timeout=300)
    assert len(done.stdout.splitlines()) == 1
    assert b"Traceback" not in done.stderr
    assert b"BrokenPipe" not in done.stderr


def test_the_same_seed_gives_the_same_numbers_on_the_command_line_and_in_python(gemsnn, tmp_path):
    """From training to the last digit of an answer."""
    from gemsnn import SpikingClassifier
    from gemsnn.events import write_prepared

    choice = Preprocessing(sensor_size=(4, 3), bin_us=1000)
    recordings, labels = [], ["left", "right"] * 8
    for n, label in enumerate(labels):
        rng = np.random.default_rng(n)
        events = np.zeros(80 + 5 * n, dtype=EVENT_DTYPE)
        events["x"] = rng.integers(0, 2, len(events)) + 2 * (label == "right")
        events["y"], events["p"] = rng.integers(0, 3, len(events)), rng.integers(0, 2, len(events))
        events["t"] = np.sort(rng.integers(0, 9_000 + 500 * n, len(events)))
        recordings.append(events)
        np.save(tmp_path / f"{n}.npy", events)
    split = ["train"] * 12 + ["test"] * 4
    write_prepared(tmp_path / "data.h5", recordings, labels, split=split, preprocessing=choice)
    settings = ["--hidden", 6, "--epochs", 2, "--seed", 5, "--set", "validation_fraction=0"]
    assert gemsnn("train", "--data", tmp_path / "data.h5", "--out", tmp_path / "run", *settings)[0] == 0
    files = [tmp_path / f"{n}.npy" for n in range(16)]
    told = answers_of(gemsnn("predict", tmp_path / "run", *files, "--json")[1])
    X = [choice.bin(events) for events in recordings]
    classifier = SpikingClassifier(
        n_hidden=6,
        random_state=5,
        network={"grid": choice.grid},
        schedule={"epochs": 2, "validation_fraction": 0},
    ).fit(X[:12], labels[:12])
    probabilities = classifier.predict_proba(X)
    assert [[answer["probabilities"][name] for name in ("left", "right")] for answer in told] == probabilities.tolist()
    order = np.random.default_rng(0).permutation(16)
    np.testing.assert_array_equal(classifier.predict_proba([X[n] for n in order]), probabilities[order])

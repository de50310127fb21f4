"""The page while a stream runs: a real server on this machine, a real browser, real events."""

import http.client
import json
import socket
import threading
from contextlib import closing, contextmanager

import numpy as np
import pytest
from browser import Browser, find_chromium
from watched import CHOICES, HOSTILE, calibrated, made_up_model, made_up_spikes

from gemsnn import WriteError
from gemsnn.events.sources import play
from gemsnn.inference import recording_key
from gemsnn.watching import LiveServer, show, watch_page


def events_of(spikes):
    """A recording that is binned to these spikes."""
    plane, cell = np.divmod(spikes.spikes["index"].astype(int), 48)
    made = np.zeros(len(cell), dtype=[("t", "i8"), ("x", "i2"), ("y", "i2"), ("p", "i1")])
    made["t"] = spikes.spikes["step"].astype(int) * CHOICES.bin_us
    made["x"], made["y"], made["p"] = cell % 8, cell // 8, plane
    made[0]["t"] = 0
    return made


@pytest.fixture(scope="module")
def served(model):
    """A server that was told of a whole recording, and what the model says of it in bulk."""
    events = events_of(made_up_spikes(3))
    inputs = model.bin(events)
    with LiveServer(watch_page(model, [], title="<i>live</i>", live="/events")) as server:
        live = model.stream(key=recording_key(inputs))
        show(server, model, live, play(events, None), "<b>camera</b>", again=False)
        yield server, model.predict_anytime([inputs])[0], inputs


@contextmanager
def asked(server, path, host=None):
    """The response to a request; the connection is closed in the end."""
    with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=300)) as connection:
        connection.request("GET", path, headers={} if host is None else {"Host": host})
        with connection.getresponse() as answer:
            yield answer


def ask(server, path, host=None):
    """Status and content of the response to a request."""
    with asked(server, path, host) as answer:
        return answer.status, answer.read()


def told(server, last="end"):
    """Everything that a listener hears until then."""
    heard = []
    with asked(server, "/events") as answer:
        while not heard or heard[-1][0] != last:
            line = answer.readline().decode()
            if line.startswith("event: "):
                heard.append((line[7:].strip(), json.loads(answer.readline().decode()[6:])))
    return heard


def test_who_comes_late_hears_everything_since_the_recording_began(served):
    server, answers, inputs = served
    heard = told(server)
    assert [event for event, _ in heard] == ["begin", *["step"] * 30, "end"]
    steps = [content for event, content in heard if event == "step"]
    assert [step["step"] for step in steps] == list(range(1, 31))
    assert [step["answer"] for step in steps] == answers.classes.tolist()
    np.testing.assert_array_equal([step["probabilities"] for step in steps], answers.probabilities)
    assert [step["hidden_spikes"] for step in steps] == answers.hidden_spikes.tolist()
    for step, row in zip(steps, inputs, strict=True):
        assert step["spikes"] == np.flatnonzero(row).tolist()


def test_it_is_there_for_this_machine_only(served):
    server = served[0]
    assert ask(server, "/")[0] == 200
    assert ask(server, "/", host=f"localhost:{server.port}")[0] == 200
    assert ask(server, "/", host="elsewhere.example")[0] == 403
    assert ask(server, "/etc/passwd")[0] == 404
    others = {entry[4][0] for entry in socket.getaddrinfo(socket.gethostname(), None)} - {"127.0.0.1", "::1"}
    for address in others:
        with pytest.raises((ConnectionRefusedError, TimeoutError)):
            socket.create_connection((address, server.port), timeout=2).close()


def test_a_port_that_is_taken_is_told(served):
    with pytest.raises(WriteError, match=f"port {served[0].port}: cannot listen on 127.0.0.1"):
        LiveServer("", served[0].port)


@pytest.mark.skipif(find_chromium() is None, reason="needs chromium")
def test_the_page_follows_the_stream(model):
    events = events_of(made_up_spikes(4))
    inputs = model.bin(events)
    answers = model.predict_anytime([inputs])[0]
    sets = model.calibration.guarantee.sets(answers)
    go_on = threading.Event()

    def camera():
        late = events["t"] >= 15 * CHOICES.bin_us
        yield events[~late]
        go_on.wait(60)
        yield events[late]

    server = LiveServer(watch_page(model, [], title="<i>live</i>", live="/events"))
    with server, Browser(find_chromium()) as browser:
        live = model.stream(key=recording_key(inputs))
        thread = threading.Thread(target=show, args=(server, model, live, camera(), "<b>camera</b>", False))
        thread.start()
        browser.open(server.address, 1100)

        def until(condition):
            browser.evaluate(
                f"new Promise(done => {{ const look = () => ({condition}) ? done() : setTimeout(look, 20); look(); }})"
            )

        until("player.scene && player.scene.steps >= 14 && player.position >= 14")
        assert browser.evaluate("document.getElementById('light-words').textContent") == "live"
        assert browser.evaluate("player.playing")
        go_on.set()
        until("document.getElementById('light-words').textContent === 'the stream has ended'")
        thread.join(60)
        assert browser.evaluate("player.scene.answers") == answers.classes.tolist()
        assert browser.evaluate("player.position") == 30
        gone = browser.evaluate("[...document.querySelectorAll('.chip')].map(e => e.classList.contains('gone'))")
        assert gone == (~sets[-1]).tolist()
        stopped = model.calibration.guarantee.stop(answers)
        assert browser.evaluate("player.scene.stopped") == (int(stopped.steps) if stopped.sizes <= 1 else None)
        browser.evaluate("player.seek(5)")
        gone = browser.evaluate("[...document.querySelectorAll('.chip')].map(e => e.classList.contains('gone'))")
        assert gone == (~sets[4]).tolist()
        assert browser.evaluate("document.getElementById('name').textContent") == "<b>camera</b>"
        assert browser.evaluate("window.harm === undefined")
        assert not browser.problems
        assert set(browser.requests) <= {server.address, f"{server.address}events", "data:,"}


def test_a_listener_that_went_away_and_one_that_comes_late_disturb_nobody(model):
    events = events_of(made_up_spikes(5))
    with LiveServer("page") as server:
        with asked(server, "/events"):
            pass  # goes away
        live = model.stream()
        show(server, model, live, [events, None, events], "two", again=False)
        heard = told(server)
    assert [event for event, _ in heard] == ["begin", *["step"] * 30, "end"]  # of the second recording


def test_of_an_endless_stream_the_latest_steps_are_kept(monkeypatch):
    import gemsnn.watching.live as parts

    monkeypatch.setattr(parts, "KEPT", 12)
    plain = made_up_model(CHOICES, HOSTILE)
    with LiveServer("page") as server:
        show(server, plain, plain.stream(), play(events_of(made_up_spikes(6)), None), "long", again=False)
        heard = told(server)
    assert [content["step"] for event, content in heard if event == "step"] == list(range(20, 31))
    assert "promise" not in heard[0][1]
    assert heard[1][1]["members"] is None


def test_a_sensor_whose_polarities_are_apart_has_two_colours():
    apart = calibrated(made_up_model(CHOICES.model_copy(update={"polarity": "separate"}), n_inputs=96), planes=1)
    events = events_of(made_up_spikes(7))
    with LiveServer("page") as server:
        show(server, apart, apart.stream(), play(events, None), "apart", again=False)
        heard = told(server)
    assert heard[0][1]["two_colours"]
    listed = made_up_spikes(7).spikes
    assert heard[2][1]["spikes"] == listed["index"][listed["step"] == 1].tolist()


def rude(server, content, read=False):
    """A client that sends this and hangs up without a word."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=300) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        client.sendall(content)
        if read:
            client.recv(1)


def test_rude_and_silent_clients_lock_nobody_out_and_leave_no_traces(capfd):
    page = "<html>" + "x" * 5_000_000
    others = set(threading.enumerate())  # of tests before this one
    with LiveServer(page) as server:
        host = f"Host: 127.0.0.1:{server.port}\r\n"
        for _ in range(20):
            rude(server, b"")
            rude(server, b"GET / HT")
            rude(server, f"GET / HTTP/1.1\r\n{host}\r\n".encode(), read=True)  # goes away in the middle of the page
            rude(server, f"GET /events HTTP/1.1\r\n{host}\r\n".encode())
            rude(server, b"GET /" + b"a" * 70_000)
        silent = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(200)]
        own = set(threading.enumerate()) - others
        assert ask(server, "/") == (200, page.encode())
        assert len(own) <= 64 + 10
        for client in silent:
            client.close()
        assert ask(server, "/") == (200, page.encode())
    told = capfd.readouterr()
    assert (told.out, told.err) == ("", "")


def test_who_reads_nothing_keeps_nobody_from_closing(monkeypatch):
    from gemsnn.watching import live

    monkeypatch.setattr(live, "KEPT", 1)
    monkeypatch.setattr(live, "WAITING", 3)
    server = LiveServer("page")
    with server, socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(f"GET /events HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode())
        server.somebody_came.wait(10)
        (listener,) = server._listeners
        while not listener.full():
            server.tell("step", {"much": "x" * 10_000_000})
        closing = threading.Thread(target=server.__exit__, daemon=True)
        closing.start()
        closing.join(20)
        assert not closing.is_alive()


@pytest.mark.skipif(find_chromium() is None, reason="there is no Chromium")
def test_the_page_says_when_nothing_is_in_sight_and_goes_on_when_something_comes(model):
    events = events_of(made_up_spikes(3))
    again, seen = threading.Event(), threading.Event()

    def source():
        later = events.copy()
        later["t"] += 100 * CHOICES.bin_us
        yield events
        yield later[:1]  # silence came before it
        seen.set()
        again.wait(300)
        yield later[1:]
        yield None

    with LiveServer(watch_page(model, [], title="live", live="/events")) as server, Browser(find_chromium()) as browser:
        following = model.stream(stop=1.0), source(), "camera", True
        showing = threading.Thread(target=show, args=(server, model, *following), daemon=True)
        showing.start()
        assert seen.wait(300)
        browser.open(server.address, 1000)
        browser.evaluate(
            "new Promise(done => { const look = () => document.getElementById('light-words').textContent.includes("
            "'nothing in sight') ? done(1) : setTimeout(look, 50); look(); })"
        )
        assert browser.evaluate("document.getElementById('answer').textContent") == "nothing in sight"
        assert browser.evaluate("document.getElementById('sure').textContent").startswith("before: ")
        again.set()
        showing.join(300)
        browser.evaluate(
            "new Promise(done => { const look = () => document.getElementById('light-words').textContent === "
            "'the stream has ended' ? done(1) : setTimeout(look, 50); look(); })"
        )
        assert browser.evaluate("document.getElementById('answer').textContent") != "nothing in sight"
        assert not browser.problems

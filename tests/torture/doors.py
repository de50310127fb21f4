"""Other doors: requests to the live page, streams of events, promises of calibrated models, a damaged demonstration."""

from __future__ import annotations

import contextlib
import io
import random
import shutil
import socket
import struct
import threading
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import watched

from gemsnn import GemsnnError
from gemsnn.cli import demo
from gemsnn.events.records import make_events
from gemsnn.events.sources import UdpSource, from_bytes, from_text, to_bytes
from gemsnn.training import load_model, save_model
from gemsnn.training import model as model_format
from gemsnn.watching import LiveServer
from torture.checkpoints import change
from torture.mutations import mutated
from torture.torture import Torture

SECRET = "nobody may read this"
PATHS = (
    "/", "/events", "/../secret.txt", "/..%2f..%2fetc/passwd", "//etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/\\..\\",
    "*", "file:///etc/passwd", "http://elsewhere/", "/?x=" + "y" * 3000, "/" + "a/" * 40_000, "/\x00", "/ü", "",
    "/events?", "/events/../secret.txt", "/secret.txt", "?", "#", "/;/", "/.", "/./",
)  # fmt: skip
METHODS = ("GET", "GET", "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "get", "", "X" * 100)
ANSWERS = {b"200", b"400", b"403", b"404", b"408", b"414", b"431", b"501", b"505"}
ENDLESS = {b"text/event-stream", b"event:", b"still"}  # events go on for ever, with a head or (HTTP/0.9) without one
SMALL = {
    "DIGITS": (0, 1),
    "SIMULATION": ("--per-class", "4", "2", "--polarity", "separate"),
    "SETTINGS": ("--hidden", "5", "--epochs", "1"),
    "STREAM": ("--brief", "--speed", "0"),
}


class Doors(Torture):
    name, share = "doors", 0.1

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        (folder / "secret.txt").write_text(SECRET)
        self.page = "<html>" + "page " * 40_000
        self.server = LiveServer(self.page)
        self.server.__enter__()
        self.threads = threading.active_count()
        self.model = watched.calibrated(watched.made_up_model())
        self.file = folder / "model.safetensors"
        save_model(self.model, self.file)
        self.bytes = self.file.read_bytes()
        self.inputs = np.stack([watched.made_up_spikes(i).to_array(48) for i in range(2)])
        self.live = [self.model.stream(), self.model.stream(endless=True, patience_us=20_000)]
        for name, value in SMALL.items():
            setattr(demo, name, value)
        self._demonstrate(folder / "demo")

    def close(self) -> None:
        self.server.__exit__()

    def trial(self, rng: random.Random, counts: Counter[str]) -> None:
        kinds = (self._requests, self._crowd, self._text, self._bytes, self._datagrams, self._promise, self._demo)
        kind = rng.choices(kinds, (8, 0.2, 8, 8, 2, 6, 1))[0]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kind(rng, counts)

    # ---- the live page

    def _requests(self, rng: random.Random, counts: Counter[str]) -> None:
        content = request(rng, self.server.port)
        counts["requests"] += 1
        if rng.random() < 0.2:
            self.server.tell(rng.choice(("begin", "step", "end")), {"x": "y" * rng.choice((1, 10_000))})
        answer = self._ask(content, rng)
        assert SECRET.encode() not in answer
        assert b"root:" not in answer
        if answer.startswith(b"HTTP/"):
            head, _, body = answer.partition(b"\r\n\r\n")
            code = head[9:12]
            assert code in ANSWERS, answer[:200]
            if code == b"200" and b"event-stream" not in head:
                assert self.page.encode().startswith(body)
        if rng.random() < 0.1:
            self._as_usual()

    def _ask(self, content: bytes, rng: random.Random) -> bytes:
        """Send it, whole or in pieces, and hang up politely, rudely, or in the middle; what was answered."""
        answer = b""
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=20) as client:
            try:
                if rng.random() < 0.3:
                    cut = rng.randrange(len(content) + 1)
                    client.sendall(content[:cut])
                    time.sleep(rng.choice((0, 0.001, 0.01)))
                    client.sendall(content[cut:])
                else:
                    client.sendall(content)
                if rng.random() < 0.2:
                    rude = struct.pack("ii", 1, 0)
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, rude)
                    return b""
                client.shutdown(socket.SHUT_WR)
                while (
                    len(answer) < 300_000 and not ENDLESS & {*answer[:200].split()} and (more := client.recv(1 << 16))
                ):
                    answer += more
            except TimeoutError:
                raise
            except OSError:
                pass  # refused in the middle
        return answer

    def _crowd(self, rng: random.Random, counts: Counter[str]) -> None:
        """More silent clients than the server takes; everybody who asks is served, and nothing stays behind."""
        crowd = [socket.create_connection(("127.0.0.1", self.server.port)) for _ in range(150)]
        counts["connections in crowds"] += len(crowd)
        self._as_usual()
        for client in crowd:
            client.close()
        self._as_usual()
        assert threading.active_count() - self.threads < 100

    def _as_usual(self) -> None:
        host = f"127.0.0.1:{self.server.port}"
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=60) as client:
            client.sendall(f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            answer = b""
            while more := client.recv(1 << 16):
                answer += more
        assert answer.endswith(self.page.encode())

    # ---- streams

    def _text(self, rng: random.Random, counts: Counter[str]) -> None:
        lines = [",".join(str(event[field]) for field in "txyp") for event in some_events(rng)]
        sign = rng.choice((",", ";", " ", "\t"))
        text = (
            rng.choice(("", "t,x,y,p\n", "x y p t\n", "# text\n")) + "\n".join(lines) + rng.choice(("", "\n", "\n\n"))
        )
        data = text.replace(",", sign).encode()
        data += data if rng.random() < 0.2 else b""
        counts["streams of text"] += 1
        self._follow(from_text(io.BytesIO(mutated(rng, data))), rng, counts)

    def _bytes(self, rng: random.Random, counts: Counter[str]) -> None:
        counts["streams of bytes"] += 1
        self._follow(from_bytes(io.BytesIO(mutated(rng, to_bytes(some_events(rng))))), rng, counts)

    def _datagrams(self, rng: random.Random, counts: Counter[str]) -> None:
        """Real datagrams, numbered or not, damaged, empty, too long or too short."""
        with UdpSource(0) as source, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            for number in range(rng.choice((1, 2, 5, 2000))):
                content = to_bytes(some_events(rng))
                head = struct.pack("<I", number) if rng.random() < 0.5 else b""
                sent = mutated(rng, head + content) if rng.random() < 0.7 else rng.randbytes(rng.choice((0, 4, 60_000)))
                sender.sendto(sent[:65_000], ("127.0.0.1", source.port))
                counts["datagrams"] += 1
            threading.Timer(0.02, source.close).start()
            self._follow(source, rng, counts)

    def _follow(self, source: object, rng: random.Random, counts: Counter[str]) -> None:
        live = rng.choice(self.live)
        live.reset(key=0)
        try:
            for answer in live.follow(source, again=rng.random() < 0.5):  # type: ignore[arg-type]
                assert abs(answer.probabilities.sum() - 1) < 1e-6
                assert answer.nothing or answer.label in self.model.classes
            counts["streams followed to their end"] += 1
        except GemsnnError as error:
            if len(str(error)) > 1000:
                raise AssertionError("the message is a novel") from error
            counts["refused"] += 1

    # ---- a promise

    def _promise(self, rng: random.Random, counts: Counter[str]) -> None:
        counts["calibrated models"] += 1
        counts["with valid checksums"] += change(rng, self.bytes, self.file, model_format)
        try:
            model = load_model(self.file)
            if model.calibration is None:
                return
            found = model.predict_set(self.inputs)
        except GemsnnError:
            counts["refused"] += 1
            return
        assert found.members.shape == (2, model.network.n_visible)
        counts["predicted with"] += 1

    # ---- the demonstration

    def _demo(self, rng: random.Random, counts: Counter[str]) -> None:
        place = self.folder / "damaged"
        shutil.copytree(self.folder / "demo", place)
        try:
            file = rng.choice(sorted(path for path in place.rglob("*") if path.is_file() and path.name != "lock"))
            match rng.randrange(5):
                case 0:
                    file.unlink()
                case 1:
                    file.unlink()
                    file.mkdir()
                case _:
                    file.write_bytes(mutated(rng, file.read_bytes()))
            counts["damaged demonstrations"] += 1
            self._demonstrate(place)
            counts["shown all the same"] += 1
        except GemsnnError:
            counts["refused"] += 1
        finally:
            shutil.rmtree(place)

    def _demonstrate(self, place: Path) -> None:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            demo.demo(place, paper=False)


def request(rng: random.Random, port: int) -> bytes:
    host = rng.choice((f"127.0.0.1:{port}", f"localhost:{port}", "elsewhere", "", "127.0.0.1", "x" * 70_000))
    lines = [
        f"{rng.choice(METHODS)} {rng.choice(PATHS)} {rng.choice(('HTTP/1.1', 'HTTP/1.0', 'HTTP/0.9', 'HTTP/9', ''))}"
    ]
    lines += [f"Host: {host}"] * rng.choice((0, 1, 1, 1, 1, 2))
    more = ("Range: bytes=0-5", "Content-Length: 99999999999", "Transfer-Encoding: chunked", "Expect: 100-continue")
    more += ("Connection: keep-alive", "X: " + "y" * 70_000, "no colon", ": empty", "A: b\r\n c", "Upgrade: websocket")
    lines += rng.sample(more, rng.choice((0, 0, 1, 2)))
    lines += ["X: y"] * rng.choice((0, 0, 0, 0, 150))
    content = ("\r\n".join(lines) + "\r\n\r\n").encode()
    return mutated(rng, content) if rng.random() < 0.5 else content


def some_events(rng: random.Random) -> np.ndarray:
    n = rng.choice((1, 2, 20))
    times = sorted(rng.randrange(300_000) for _ in range(n))
    return make_events(
        [rng.randrange(8) for _ in range(n)], [rng.randrange(6) for _ in range(n)], times, rng.choices((0, 1), k=n)
    )

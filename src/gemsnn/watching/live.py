"""The same page while a stream runs: served to browsers on this machine, which are told of every step.

The page comes from ``/``; ``/events`` is a stream of server-sent events: ``begin`` when a recording begins (what the
drawing needs to know), ``step`` after every step, ``nothing`` when nothing is in sight any more, ``end`` when there is
no more. Whoever comes late is told first what happened since the last ``begin``.
"""

from __future__ import annotations

import json
import queue
import socket
import threading
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

from gemsnn.common.words import printable
from gemsnn.errors import WriteError
from gemsnn.events.records import Events
from gemsnn.training import LiveModel, Model
from gemsnn.watching.scene import MOST_HIDDEN, MOST_SIDE, STEP_MS, Picture, drawing_of, places

HOST = "127.0.0.1"
KEPT = 1000  # messages for those who come late
WAITING = 10_000  # messages that a browser may lag behind before it is given up
MOST_CLASSES = 40
MOST_CONNECTIONS = 64
PATIENCE = 20  # seconds that somebody may be silent before asking, or not take what is sent


class _Server(ThreadingHTTPServer):
    """Bears any number of clients, slow, rude or silent: of too many, the one who came first is let go."""

    daemon_threads = True
    request_queue_size = 128  # who comes while the door is full would knock again after a second, and then ever later

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self._guests: dict[Any, None] = {}  # sockets, in the order in which they came
        self._door = threading.Lock()
        super().__init__(address, handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._door:
            self._guests[request] = None
            first = next(iter(self._guests)) if len(self._guests) > MOST_CONNECTIONS else None
            self._guests.pop(first, None)
        if first is not None:
            with suppress(OSError):
                first.shutdown(socket.SHUT_RDWR)  # whoever serves it notices
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._door:
            self._guests.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing: whoever goes away in the middle is no trouble of ours."""


class LiveServer:
    """Serves one page and what happens; bound to this machine only.

    Use as a context manager. Port 0 takes any free one; ``address`` says which.
    """

    def __init__(self, page: str, port: int = 0) -> None:
        self._page = page.encode()
        self._lock = threading.Lock()
        self._told: deque[bytes] = deque(maxlen=KEPT)
        self._begun = b""
        self._listeners: set[queue.Queue[bytes | None]] = set()
        self.somebody_came = threading.Event()
        try:
            self._server = _Server((HOST, port), self._handler())
        except (OSError, OverflowError) as error:
            raise WriteError(f"port {port}: cannot listen on {HOST}: {error}; give another --port") from None
        self.port: int = self._server.server_address[1]
        self.address = f"http://{HOST}:{self.port}/"

    def __enter__(self) -> LiveServer:
        threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            for listener in self._listeners:
                with suppress(queue.Full):  # who lags behind is not waited for
                    listener.put_nowait(None)
            self._listeners.clear()
        self._server.shutdown()
        self._server.server_close()

    def tell(self, event: str, content: dict[str, Any]) -> None:
        """Tell everybody who listens, now or later."""
        text = json.dumps(content, allow_nan=False, separators=(",", ":"))
        message = f"event: {event}\ndata: {text}\n\n".encode()
        with self._lock:
            if event == "begin":
                self._begun = message
                self._told.clear()
            else:
                self._told.append(message)
            for listener in list(self._listeners):
                try:
                    listener.put_nowait(message)
                except queue.Full:
                    self._listeners.discard(listener)

    def _listen(self) -> queue.Queue[bytes | None]:
        listener: queue.Queue[bytes | None] = queue.Queue(WAITING)
        with self._lock:
            for message in [self._begun, *self._told] if self._begun else []:
                listener.put(message)
            self._listeners.add(listener)
        self.somebody_came.set()
        return listener

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            timeout = PATIENCE

            def do_GET(self) -> None:
                # A page from elsewhere cannot reach us by giving this machine another name.
                if self.headers.get("Host") not in (f"{HOST}:{server.port}", f"localhost:{server.port}"):
                    self.send_error(403)
                elif self.path == "/":
                    self._head("text/html; charset=utf-8", len(server._page))
                    self.wfile.write(server._page)
                elif self.path == "/events":
                    self._head("text/event-stream")
                    self._follow(server._listen())
                else:
                    self.send_error(404)

            def _head(self, kind: str, length: int | None = None) -> None:
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Cache-Control", "no-store")
                if length is not None:
                    self.send_header("Content-Length", str(length))
                self.end_headers()

            def _follow(self, listener: queue.Queue[bytes | None]) -> None:
                try:
                    while listener in server._listeners or not listener.empty():
                        try:
                            message = listener.get(timeout=5)
                        except queue.Empty:
                            message = b": still here\n\n"
                        if message is None:
                            break
                        self.wfile.write(message)
                        self.wfile.flush()
                except OSError:
                    pass  # the browser went away
                finally:
                    with server._lock:
                        server._listeners.discard(listener)

            def log_message(self, *_: Any) -> None:
                pass

        return Handler


def show(
    server: LiveServer, model: Model, live: LiveModel, source: Iterable[Events | None], name: str, again: bool
) -> None:
    """Follow a source of events to its end, and tell the server of every step."""
    picture = Picture.of(model)
    longest = picture.n_inputs if picture.grid is None else max(picture.grid)
    layout = drawing_of(picture, max(1, -(-longest // MOST_SIDE)))
    n_hidden = model.network.n_hidden
    rows = np.unique(np.linspace(0, max(0, n_hidden - 1), min(n_hidden, MOST_HIDDEN)).astype(np.int64))
    apart = picture.grid is not None and picture.n_inputs == 2 * picture.grid[0] * picture.grid[1]
    begin: dict[str, Any] = {
        "name": printable(name),
        "truth": None,
        "step_ms": picture.step_ms,
        "play_ms": picture.step_ms or STEP_MS,
        "frames": 0,
        "width": layout.width,
        "height": layout.height,
        "on_grid": picture.grid is not None,
        "two_colours": apart,  # polarities that the network merges are merged here
        "merged": layout.merged,
        "hidden_rows": len(rows),
        "hidden_of": n_hidden,
        "compartments": live.n_compartments,
        "shown": list(range(min(len(model.classes), MOST_CLASSES))),
    }
    guarantee, size = getattr(live.stopping, "guarantee", None), getattr(live.stopping, "size", 1)
    if guarantee is not None:
        begin["promise"] = {
            "alpha": guarantee.alpha,
            "size": size,
            "checkpoints": list(guarantee.checkpoints),
            "thresholds": [float(np.exp(-threshold)) for threshold in guarantee.thresholds],
            "left": [0] * len(model.classes),
        }
    index_of = {label: index for index, label in enumerate(model.classes)}
    for answer in live.follow(source, again=again):
        if answer.nothing:
            server.tell("nothing", {})
            continue
        if answer.step == 1:
            server.tell("begin", begin)
        seen = np.unique(places(layout, np.flatnonzero(live.inputs)))
        members = None if answer.labels is None else [index_of[label] for label in answer.labels]
        server.tell(
            "step",
            {
                "step": answer.step,
                "spikes": seen.tolist(),
                "hidden": np.flatnonzero(live.spikes[0, rows]).tolist(),
                "answer": index_of[answer.label],
                "confidence": answer.confidence,
                "unusual": int(answer.unusual),
                "probabilities": answer.probabilities.tolist(),
                "members": members,
                "stop": answer.stop,
                "hidden_spikes": float(answer.hidden_spikes),
            },
        )
    server.tell("end", {})

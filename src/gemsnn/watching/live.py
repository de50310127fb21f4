"""A server for the page of a live stream, for browsers on this machine.

The page is at ``/``; ``/events`` is a stream of server-sent events: ``begin`` when a recording begins (the layout of
the drawing), ``step`` after every step, ``nothing`` when nothing is in sight, ``end`` at the end of the stream. A
browser that connects late first receives all events since the last ``begin``.
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
from gemsnn.watching.scene import MOST_HIDDEN, MOST_SIDE, Picture, drawing_of, head_of, places, promise_of

HOST = "127.0.0.1"
KEPT = 1000  # messages for browsers that connect late
WAITING = 10_000  # messages that a browser may lag behind before it is dropped
MOST_CLASSES = 40
MOST_CONNECTIONS = 64
PATIENCE = 20  # seconds until a client that sends no request, or reads nothing, is dropped


class _Server(ThreadingHTTPServer):
    """A server that drops its oldest connection when there are too many."""

    daemon_threads = True
    request_queue_size = 128  # a client that finds the queue full tries again only after a second, then ever later

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self._connections: dict[Any, None] = {}  # sockets, the oldest first
        self._lock = threading.Lock()
        super().__init__(address, handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._connections[request] = None
            oldest = next(iter(self._connections)) if len(self._connections) > MOST_CONNECTIONS else None
            self._connections.pop(oldest, None)
        if oldest is not None:
            with suppress(OSError):
                oldest.shutdown(socket.SHUT_RDWR)  # ends the thread that serves it
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._connections.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that disconnect during a request."""


class LiveServer:
    """Serves one page and its events to this machine only.

    Use as a context manager. Port 0 takes any free one; ``address`` says which.
    """

    def __init__(self, page: str, port: int = 0) -> None:
        self._page = page.encode()
        self._lock = threading.Lock()
        self._sent: deque[bytes] = deque(maxlen=KEPT)
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
                with suppress(queue.Full):  # do not wait for slow browsers
                    listener.put_nowait(None)
            self._listeners.clear()
        self._server.shutdown()
        self._server.server_close()

    def tell(self, event: str, content: dict[str, Any]) -> None:
        """Send an event to all browsers, connected now or later."""
        text = json.dumps(content, allow_nan=False, separators=(",", ":"))
        message = f"event: {event}\ndata: {text}\n\n".encode()
        with self._lock:
            if event == "begin":
                self._begun = message
                self._sent.clear()
            else:
                self._sent.append(message)
            for listener in list(self._listeners):
                try:
                    listener.put_nowait(message)
                except queue.Full:
                    self._listeners.discard(listener)

    def _listen(self) -> queue.Queue[bytes | None]:
        listener: queue.Queue[bytes | None] = queue.Queue(WAITING)
        with self._lock:
            for message in [self._begun, *self._sent] if self._begun else []:
                listener.put(message)
            self._listeners.add(listener)
        self.somebody_came.set()
        return listener

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            timeout = PATIENCE

            def do_GET(self) -> None:
                # Another site's page must not get here through a host name that resolves to this machine.
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
                    pass  # the browser disconnected
                finally:
                    with server._lock:
                        server._listeners.discard(listener)

            def log_message(self, *_: Any) -> None:
                pass

        return Handler


def show(
    server: LiveServer, model: Model, live: LiveModel, source: Iterable[Events | None], name: str, again: bool
) -> None:
    """Follow a source of events to its end, and send every step to the server."""
    picture = Picture.of(model)
    longest = picture.n_inputs if picture.grid is None else max(picture.grid)
    layout = drawing_of(picture, max(1, -(-longest // MOST_SIDE)))
    n_hidden = model.network.n_hidden
    rows = np.unique(np.linspace(0, max(0, n_hidden - 1), min(n_hidden, MOST_HIDDEN)).astype(np.int64))
    separate = picture.grid is not None and picture.n_inputs == 2 * picture.grid[0] * picture.grid[1]
    begin: dict[str, Any] = {
        **head_of(picture, layout, live.n_compartments),
        "name": printable(name),
        "truth": None,
        "frames": 0,
        "two_colours": separate,  # inputs of the network, which may merge polarities
        "hidden_rows": len(rows),
        "hidden_of": n_hidden,
        "shown": list(range(min(len(model.classes), MOST_CLASSES))),
    }
    guarantee, size = getattr(live.stopping, "guarantee", None), getattr(live.stopping, "size", 1)
    if guarantee is not None:
        begin["promise"] = promise_of(guarantee, size, [0] * len(model.classes))
    index_of = {label: index for index, label in enumerate(model.classes)}
    for answer in live.follow(source, again=again):
        if answer.nothing:
            server.tell("nothing", {})
            continue
        if answer.step == 1:
            server.tell("begin", begin)
        spikes = np.unique(places(layout, np.flatnonzero(live.inputs)))
        members = None if answer.labels is None else [index_of[label] for label in answer.labels]
        server.tell(
            "step",
            {
                "step": answer.step,
                "spikes": spikes.tolist(),
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

"""Events in UDP datagrams."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import suppress
from typing import Self

import numpy as np

from gemsnn.errors import ConfigError, DataError
from gemsnn.events.records import EVENT_DTYPE, FAR_US, LONGEST_GAP_US, RECORD_DTYPE, Events, events_of, to_bytes

HOST = "127.0.0.1"
NUMBER = 4  # bytes of a datagram's sequence number
MOST_EVENTS = 5000  # per datagram sent; a datagram holds at most 65,507 bytes
_BUFFER = 1 << 25  # requested receive buffer in bytes; the system may grant less
_AT_ONCE = 64  # waiting datagrams that are combined into one array


class UdpSource:
    """Receives datagrams of events; iterate over it.

    A datagram holds any number of events of 13 bytes each (`RECORD_DTYPE`), as ``faery`` sends them. A sequence number
    of 4 bytes (little-endian, from 0) may precede them; lost datagrams are then counted. A datagram without events ends
    a recording.

    No single datagram ends the stream: malformed ones are discarded and counted. So is one whose times are more than a
    minute away from those before it, unless the next datagram confirms the jump: then a new recording has begun.

    Parameters
    ----------
    port
        0 for any free one: see the attribute ``port``.
    host
        Address to bind to; by default only datagrams from this machine arrive.
    sensor_size
        Columns and rows; a datagram with an event outside is discarded.
    idle
        Yield an empty array whenever nothing has arrived for so many seconds; None waits silently.

    Attributes
    ----------
    port
        The port that is bound.
    lost
        Numbered datagrams that did not arrive.
    refused
        Datagrams that were discarded.
    """

    def __init__(
        self, port: int, host: str = HOST, sensor_size: tuple[int, int] | None = None, idle: float | None = None
    ) -> None:
        self.lost = self.refused = 0
        self._sensor_size, self._idle = sensor_size, idle
        self._expected: int | None = None
        self._newest: int | None = None  # time of the latest event
        self._astray: int | None = None  # time of a discarded datagram, too far from it
        self._socket = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER)
            self._socket.bind((host, port))
        except (OSError, OverflowError) as error:
            self._socket.close()
            raise ConfigError(
                f"cannot listen on UDP port {port} of {host}: {getattr(error, 'strerror', None) or error}; choose "
                "another port"
            ) from None
        self.port = int(self._socket.getsockname()[1])

    def __iter__(self) -> Iterator[Events | None]:
        while True:
            try:
                self._socket.settimeout(self._idle)
                waiting = [self._socket.recv(65536)]
                self._socket.setblocking(False)
                while len(waiting) < _AT_ONCE:
                    waiting.append(self._socket.recv(65536))
            except TimeoutError:
                yield np.zeros(0, dtype=EVENT_DTYPE)
                continue
            except BlockingIOError:
                pass
            except OSError:  # closed
                return
            yield from self._read(waiting)

    def close(self) -> None:
        """Stop receiving; an iteration that waits for events ends."""
        with suppress(OSError):  # raises, since UDP has no connection, but wakes up a waiting recv
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self, datagrams: list[bytes]) -> Iterator[Events | None]:
        """The events of some datagrams, combined up to the end of a recording."""
        together: list[Events] = []
        for datagram in datagrams:
            over = len(datagram) % RECORD_DTYPE.itemsize
            if over == NUMBER:
                self._count(int.from_bytes(datagram[:NUMBER], "little"))
                datagram = datagram[NUMBER:]
                over = 0
            events = None if over else self._usable(datagram)
            if events is None:
                self.refused += 1
                continue
            jumps = len(events) > 0 and self._jumps(events)
            if jumps and not self._agrees(events):
                self.refused += 1
                continue
            if together and (jumps or not len(events)):
                yield np.concatenate(together)
                together = []
            if jumps or not len(events):
                yield None
            if len(events):
                together.append(events)
            self._newest = int(events["t"][-1]) if len(events) else None
            self._astray = None
        if together:
            yield np.concatenate(together)

    def _usable(self, datagram: bytes) -> Events | None:
        """The events of a datagram, or None if it is malformed."""
        try:
            events = events_of(datagram)
        except DataError:
            return None
        t, x, y = events["t"], events["x"], events["y"]
        if self._sensor_size is not None and ((x >= self._sensor_size[0]) | (y >= self._sensor_size[1])).any():
            return None
        return None if len(t) and (t.max() >= FAR_US or np.ptp(t) > LONGEST_GAP_US) else events

    def _jumps(self, events: Events) -> bool:
        return self._newest is not None and abs(int(events["t"][0]) - self._newest) > LONGEST_GAP_US

    def _agrees(self, events: Events) -> bool:
        """Whether the datagram before also jumped, to about the same time."""
        before, self._astray = self._astray, int(events["t"][-1])
        return before is not None and abs(int(events["t"][0]) - before) <= LONGEST_GAP_US

    def _count(self, number: int) -> None:
        if self._expected is not None and number:  # 0: the sender was restarted
            missing = (number - self._expected) % (1 << 32)
            self.lost += missing if missing < 1 << 31 else 0  # otherwise it is a duplicate, or late
        self._expected = (number + 1) % (1 << 32)


class UdpSender:
    """Sends events to a :class:`UdpSource`, in numbered datagrams.

    Examples
    --------
    >>> import numpy as np
    >>> from gemsnn.events import EVENT_DTYPE
    >>> with UdpSource(port=0) as source, UdpSender(source.port) as sender:
    ...     sender.send(np.array([(3, 4, 0, 1)], dtype=EVENT_DTYPE))
    ...     sender.end()
    ...     arriving = iter(source)
    ...     print(next(arriving), next(arriving))
    [(3, 4, 0, 1)] None
    """

    def __init__(self, port: int, host: str = HOST) -> None:
        self._number = 0
        self._socket = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM)
        self._address = (host, port)

    def send(self, events: Events) -> None:
        """Send events in datagrams of up to `MOST_EVENTS`."""
        for first in range(0, len(events), MOST_EVENTS):
            self._send(to_bytes(events[first : first + MOST_EVENTS]))

    def end(self) -> None:
        """Mark the end of the recording."""
        self._send(b"")

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _send(self, content: bytes) -> None:
        self._socket.sendto(self._number.to_bytes(NUMBER, "little") + content, self._address)
        self._number = (self._number + 1) % (1 << 32)

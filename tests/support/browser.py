"""A real headless Chromium, spoken to over a pipe (the DevTools protocol), so that nothing needs a port or a driver."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--disable-dev-shm-usage",
    "--remote-debugging-pipe",
]


def find_chromium() -> str | None:
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return next((path for path in map(shutil.which, names) if path), None)


class Browser:
    """One page in a Chromium of its own; ``problems`` collects what the console complains of."""

    def __init__(self, executable: str) -> None:
        self.problems: list[str] = []
        self.requests: list[str] = []
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        from_us, self._to_browser = os.pipe()
        self._from_browser, to_us = os.pipe()
        # Chromium reads commands from descriptor 3 and writes answers to 4.
        command = f'exec 3<&{from_us} 4>&{to_us}; exec "$@"'
        self._process = subprocess.Popen(
            ["bash", "-c", command, "browser", executable, *FLAGS, f"--user-data-dir={self._profile.name}"],
            pass_fds=(from_us, to_us),
            stderr=subprocess.DEVNULL,
        )
        os.close(from_us)
        os.close(to_us)
        self._buffer, self._number, self._session = b"", 0, None
        self._events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._to_browser)
        os.close(self._from_browser)
        self._profile.cleanup()

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to_browser, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def open(self, page: Path | str, width: int, height: int = 900, dark: bool = False) -> None:
        """Load a page of the disk or at an address, in a window size and colour scheme, and wait until it is loaded."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self._events.clear()
        self.call("Page.navigate", url=page if isinstance(page, str) else page.absolute().as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self._events):
            self._read()

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def screenshot(self, out: Path, whole: bool = True) -> None:
        image = self.call("Page.captureScreenshot", captureBeyondViewport=whole)["data"]
        out.write_bytes(base64.b64decode(image))

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            part = os.read(self._from_browser, 1 << 16)
            if not part:
                raise RuntimeError("the browser ended")
            self._buffer += part
        line, self._buffer = self._buffer.split(b"\0", 1)
        message: dict[str, Any] = json.loads(line)
        method = message.get("method")
        if method:
            self._events.append(message)
        if method == "Runtime.exceptionThrown" or (
            method == "Runtime.consoleAPICalled" and message["params"]["type"] in ("error", "warning")
        ):
            self.problems.append(json.dumps(message["params"]))
        if method == "Log.entryAdded" and message["params"]["entry"]["level"] in ("error", "warning"):
            self.problems.append(json.dumps(message["params"]["entry"]))
        if method == "Network.requestWillBeSent":
            self.requests.append(message["params"]["request"]["url"])
        return message

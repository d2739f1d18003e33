"""A real headless browser for tests: Chromium over its DevTools pipe, by the standard library alone."""

from __future__ import annotations

import base64
import itertools
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync", "--mute-audio",
         "--hide-scrollbars", "--remote-debugging-pipe", "--disable-extensions")  # fmt: skip
PIPES = """import os, sys
high = [os.dup2(int(fd), to) for fd, to in zip(sys.argv[1:3], (63, 64))]
os.dup2(high[0], 3), os.dup2(high[1], 4)
os.execv(sys.argv[3], sys.argv[3:])"""
"""The browser reads from 3 and writes to 4."""
DEADLINE_S = 90


def find() -> str | None:
    """The browser of this machine, if it has one."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Page:
    """One tab: what it did is in ``events`` (DevTools events as they came)."""

    def __init__(self, to: int, out: int) -> None:
        self._to, self._out = to, out
        self._buffer = b""
        self._ids = itertools.count(1)
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """One DevTools call."""
        number = next(self._ids)
        message = {"id": number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            reply = self._read()
            if reply.get("id") == number:
                assert "error" not in reply, (method, reply)
                result: dict[str, Any] = reply["result"]
                return result
            self.events.append(reply)

    def _read(self) -> dict[str, Any]:
        end = time.monotonic() + DEADLINE_S
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._out], [], [], max(end - time.monotonic(), 0))
            assert ready, "the browser does not answer"
            part = os.read(self._out, 1 << 20)
            assert part, "the browser is gone"
            self._buffer += part
        line, _, self._buffer = self._buffer.partition(b"\0")
        reply: dict[str, Any] = json.loads(line)
        return reply

    def look(self, width: int = 1280, height: int = 800, *, dark: bool = False, scale: float = 1) -> None:
        """Size of the window, and which theme its user prefers."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media="screen", features=[scheme])

    def open(self, file: Path) -> None:
        """Show a file and wait until its layout has settled."""
        self.events.clear()
        self.call("Page.navigate", url=file.as_uri())
        self.until('document.documentElement.dataset.state === "settled"')

    def js(self, expression: str) -> Any:
        """The value of an expression; a promise is waited for."""
        done = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def until(self, expression: str) -> None:
        """Wait, frame by frame, until an expression is true."""
        end = time.monotonic() + DEADLINE_S
        frame = "new Promise(done => setTimeout(() => done(Boolean(document.body) && (%s)), 15))"
        while not self.js(frame % expression):
            assert time.monotonic() < end, f"never true: {expression}"

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        """A mouse event: mouseMoved, mousePressed, mouseReleased, mouseWheel."""
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x: float, y: float) -> None:
        """Move there and click."""
        self.mouse("mouseMoved", x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", clickCount=1)

    def drag(self, start: tuple[float, float], end: tuple[float, float], steps: int = 6) -> None:
        """Press, move, release."""
        self.mouse("mouseMoved", *start)
        self.mouse("mousePressed", *start, button="left", buttons=1, clickCount=1)
        for step in range(1, steps + 1):
            at = [a + (b - a) * step / steps for a, b in zip(start, end, strict=True)]
            self.mouse("mouseMoved", at[0], at[1], button="left", buttons=1)
        self.mouse("mouseReleased", *end, button="left", clickCount=1)

    def key(self, key: str) -> None:
        """Press and release a key; one letter types it."""
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        code = {"Enter": 13, "Escape": 27, "ArrowDown": 40}.get(key, ord(key[0].upper()))
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def type(self, text: str) -> None:
        """Insert text where the focus is."""
        self.call("Input.insertText", text=text)

    def screenshot(self, **how: Any) -> bytes:
        """The window as an image (PNG unless ``format`` says otherwise)."""
        return base64.b64decode(self.call("Page.captureScreenshot", **how)["data"])

    def complaints(self) -> list[str]:
        """Everything the page wrote to the console, exceptions and violations of its policy included."""
        self.js("0")  # what is on its way comes first
        kinds = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        return [json.dumps(event["params"]) for event in self.events if event.get("method") in kinds]

    def requests(self) -> list[str]:
        """What the page asked for, itself left out."""
        found = [e["params"]["request"]["url"] for e in self.events if e.get("method") == "Network.requestWillBeSent"]
        return [url for url in found if not url.startswith("file:")] + found[1:]


@contextmanager
def page() -> Iterator[Page]:
    """A tab of a fresh browser; the browser ends with it."""
    binary = find()
    assert binary is not None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        to_read, to_write = os.pipe()
        out_read, out_write = os.pipe()

        process = subprocess.Popen(
            [sys.executable, "-c", PIPES, str(to_read), str(out_write), binary, *FLAGS, f"--user-data-dir={profile}",
             "about:blank"],
            pass_fds=(to_read, out_write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        for fd in (to_read, out_write):
            os.close(fd)
        try:
            yield Page(to_write, out_read)
        finally:
            for fd in (to_write, out_read):
                os.close(fd)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, 15)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                process.wait(10)

"""A headless Chromium, driven over its DevTools protocol through a pipe."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")


def installed() -> str | None:
    """The path of a Chromium, None if this machine has none."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One page. ``errors`` has all that its console said in anger, or what it could not load."""

    def __init__(self, path: str) -> None:
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.errors: list[str] = []
        self._number = 0
        self._buffer = b""
        commands, self._send = os.pipe()
        self._receive, answers = os.pipe()
        arguments = [
            "--headless=new",
            "--remote-debugging-pipe",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--hide-scrollbars",
            f"--user-data-dir={self._profile.name}",
            "about:blank",
        ]
        # Chromium reads commands from 3 and writes answers to 4
        script = f'exec "$@" 3<&{commands} 4>&{answers} {commands}<&- {answers}>&-'
        self._process = subprocess.Popen(
            ["bash", "-c", script, "bash", path, *arguments],
            pass_fds=(commands, answers),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(commands)
        os.close(answers)
        targets = self._call("Target.getTargets")["targetInfos"]
        page = next(target for target in targets if target["type"] == "page")
        attached = self._call("Target.attachToTarget", targetId=page["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> Any:
        """Call a method of the protocol on the page."""
        return self._call(method, self._session, **params)

    def open(self, url: str) -> None:
        """Go to ``url``."""
        self.call("Page.navigate", url=url)

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def wait_for(self, expression: str, seconds: float = 30) -> None:
        """Return once it is true."""
        until = time.monotonic() + seconds
        # What it looks for may not be there yet
        attempt = f"(() => {{ try {{ return !!({expression}); }} catch {{ return false; }} }})()"
        while not self.evaluate(attempt):
            text = self.evaluate("document.body?.innerText || ''")
            assert time.monotonic() < until, f"{expression} is not true of:\n{text}"
            time.sleep(0.05)

    def text(self) -> str:
        """Return the text of the page."""
        return str(self.evaluate("document.body.innerText"))

    def click(self, selector: str, containing: str = "") -> None:
        """Click the element of ``selector`` that has a text in it."""
        self.wait_for(_found(selector, containing))
        self.evaluate(
            f"({_found(selector, containing)}).dispatchEvent(new MouseEvent('click', {{bubbles: true}})) && 1"
        )

    def press(self, key: str) -> None:
        """Press a key."""
        text = {"Enter": "\r", " ": " "}.get(key)
        code = {"Tab": 9, "Enter": 13, " ": 32, "Escape": 27, "ArrowRight": 39}[key]
        keys = {"key": key, "windowsVirtualKeyCode": code, **({"text": text} if text else {})}
        self.call("Input.dispatchKeyEvent", type="keyDown", **keys)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def resize(self, width: int, height: int, scale: float = 1) -> None:
        """Show the page on a screen of that size."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=width < 600,
        )

    def prefer(self, scheme: str) -> None:
        """Let the page know that its user prefers dark or light."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", features=features)

    def screenshot(self, file: Path, height: int | None = None) -> None:
        """Keep a picture of the whole page, or of its first ``height`` pixels."""
        file.parent.mkdir(parents=True, exist_ok=True)
        cut: dict[str, Any] = {}
        if height is not None:
            size = {"width": self.evaluate("innerWidth"), "height": height}
            cut["clip"] = {"x": 0, "y": 0, "scale": 1, **size}
        taken = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, **cut)
        file.write_bytes(base64.b64decode(taken["data"]))

    def close(self) -> None:
        """End the browser."""
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._send)
        os.close(self._receive)
        self._profile.cleanup()

    def _call(self, method: str, session: str | None = None, **params: Any) -> Any:
        self._number += 1
        number = self._number
        message: dict[str, Any] = {"id": number, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        os.write(self._send, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == number:
                assert "error" not in answer, answer["error"]
                return answer["result"]
            self._note(answer)

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            read = os.read(self._receive, 1 << 16)
            assert read, "Chromium has ended"
            self._buffer += read
        message, _, self._buffer = self._buffer.partition(b"\0")
        decoded: dict[str, Any] = json.loads(message)
        return decoded

    def _note(self, event: dict[str, Any]) -> None:
        params = event.get("params", {})
        match event.get("method"):
            case "Runtime.consoleAPICalled" if params["type"] in ("error", "warning", "assert"):
                self.errors.append(
                    str([a.get("value", a.get("description")) for a in params["args"]])
                )
            case "Runtime.exceptionThrown":
                self.errors.append(str(params["exceptionDetails"]))
            case "Log.entryAdded" if params["entry"]["level"] in ("error", "warning"):
                self.errors.append(f"{params['entry']['text']} {params['entry'].get('url', '')}")
            case "Network.loadingFailed" if not params.get("canceled"):
                self.errors.append(f"not loaded: {params['errorText']}")


def _found(selector: str, containing: str) -> str:
    return (
        f"[...document.querySelectorAll({json.dumps(selector)})]"
        f".find((e) => e.textContent.includes({json.dumps(containing)}))"
    )

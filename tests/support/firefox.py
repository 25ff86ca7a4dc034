"""Drive a real Firefox over WebDriver BiDi, which it speaks itself.

Playwright asks for commands that Debian's Firefox does not know yet; a dozen messages are enough.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

PATIENCE_SECONDS = 60
ENTER = "\ue007"
# Browsers look for updates and news of their own; a proxy that is not there lets none out.
PREFERENCES = {
    "network.proxy.type": 1,
    "network.proxy.http": "127.0.0.1",
    "network.proxy.http_port": 9,
    "network.proxy.ssl": "127.0.0.1",
    "network.proxy.ssl_port": 9,
    "datareporting.policy.dataSubmissionEnabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "intl.locale.requested": "en-US",
}
LISTENING = re.compile(r"WebDriver BiDi listening on (ws://\S+)")


def find_firefox() -> str | None:
    """Return the program, or what CODEKERNEL_FIREFOX names."""
    return os.environ.get("CODEKERNEL_FIREFOX") or shutil.which("firefox-esr")


class Firefox:
    """One tab of a Firefox."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._count = 0
        self.problems: list[str] = []
        self.version = self._send("session.new", capabilities={})["capabilities"]["browserVersion"]
        self._send("session.subscribe", events=["log.entryAdded"])
        tree = self._send("browsingContext.getTree")
        self._context = tree["contexts"][0]["context"]

    def open(self, address: str) -> None:
        """Go to an address and wait until it is loaded."""
        self._send("browsingContext.navigate", context=self._context, url=address, wait="complete")

    def wait_for(self, expression: str) -> Any:
        """Return what an expression of JavaScript is as soon as it is true."""
        looking = (
            "new Promise((resolve) => { const look = () => {"
            f" const found = ({expression}); if (found) resolve(found);"
            " else requestAnimationFrame(look); }; look(); })"
        )
        found = self._send(
            "script.evaluate",
            expression=looking,
            target={"context": self._context},
            awaitPromise=True,
        )
        assert found["type"] == "success", found
        return found["result"].get("value")

    def type(self, selector: str, text: str) -> None:
        """Type into a field, key by key."""
        self.wait_for(f"document.querySelector('{selector}')?.offsetParent")
        self.wait_for(f"(document.querySelector('{selector}').focus(), true)")
        keys = [{"type": kind, "value": each} for each in text for kind in ("keyDown", "keyUp")]
        actions = [{"type": "key", "id": "keyboard", "actions": keys}]
        self._send("input.performActions", context=self._context, actions=actions)

    def _send(self, method: str, **params: Any) -> Any:
        self._count += 1
        self._connection.send(json.dumps({"id": self._count, "method": method, "params": params}))
        while True:
            message = json.loads(self._connection.recv(PATIENCE_SECONDS))
            if message.get("id") == self._count:
                assert message["type"] == "success", message
                return message["result"]
            if message.get("method") == "log.entryAdded":
                entry = message["params"]
                if entry["level"] == "error":
                    self.problems.append(str(entry["text"]))


@contextmanager
def start_firefox(program: str, profile: Path) -> Iterator[Firefox]:
    """Start it without a window and with an empty profile."""
    profile.mkdir()
    lines = (f'user_pref("{name}", {json.dumps(value)});\n' for name, value in PREFERENCES.items())
    (profile / "user.js").write_text("".join(lines), encoding="utf-8")
    words = [program, "--headless", "--no-remote", "--profile", str(profile)]
    with subprocess.Popen(
        [*words, "--remote-debugging-port", "0"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "HOME": str(profile)},
    ) as process:
        try:
            assert process.stderr
            found = next(filter(None, map(LISTENING.search, process.stderr)))
            with connect(f"{found[1]}/session", max_size=None) as connection:
                yield Firefox(connection)
        finally:
            process.kill()

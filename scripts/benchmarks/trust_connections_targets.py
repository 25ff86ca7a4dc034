"""Real listeners under attack, and the honest client of each: web, ide-tools, mcp and backend.

An honest client brings a new connection, or uses one that was open before the attack began.
"""

import contextlib
import http.client
import json
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

import psutil
from support.hostile_connections import limit_descriptors
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin, Subprotocol

ROOT = Path(__file__).resolve().parents[2]
CODEKERNEL = (sys.executable, "-m", "codekernel")
# What most systems give a process; 400 connections used to take four of these each.
DESCRIPTORS = 1024
PATIENCE_SECONDS = 30.0
ENDED_WITHIN_SECONDS = 30.0
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "honest", "version": "1"},
    },
}


ENVIRON = {
    "PYTHONPATH": str(ROOT / "kernel"),
    "CODEKERNEL_VAULT_KEY": "a" * 64,
    "KODE_API_SECRET": "of the honest client",
    "PATH": "/usr/bin:/bin",
}


class Target:
    """One listener in a process of its own; ``name`` is the command."""

    name = ""
    words: tuple[str, ...] = ()
    # How its addresses are spelled, for requests that are nearly right.
    path = "/"

    def __init__(self, place: Path) -> None:
        (place / "demo").mkdir(parents=True)
        (place / "demo" / "hello.py").write_text("def hello():\n    return 1\n", encoding="utf-8")
        self.user_data = place / "userData"
        self._errors = (place / "stderr").open("w+b")
        self.process = subprocess.Popen(
            [*CODEKERNEL, self.name, *self.words, "--user-data", str(self.user_data)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            cwd=place / "demo",
            env=ENVIRON,
            preexec_fn=limit_descriptors(DESCRIPTORS),  # noqa: PLW1509 - this process has one thread
        )
        self.port = 0
        self.enter()

    def enter(self) -> None:
        """Read what was printed, and come in."""
        raise NotImplementedError

    def ask_anew(self) -> None:
        """Be served over a new connection. Raises if that fails."""
        raise NotImplementedError

    def ask_again(self) -> None:
        """Be served over the connection that is open from the beginning. Raises if that fails."""

    def open_websocket(self) -> ClientConnection | None:
        """Return an admitted connection for attacks from inside; None where there are none."""
        return None

    def send_json(self, text: str) -> None:
        """Send something as a client that was let in. Raises if the listener is gone."""
        raise NotImplementedError

    def line(self) -> str:
        """Return the next line of stdout."""
        assert self.process.stdout  # noqa: S101 - it was asked for
        return self.process.stdout.readline().decode().strip()

    @property
    def memory_bytes(self) -> int:
        """What the process holds at the moment."""
        return int(psutil.Process(self.process.pid).memory_info().rss)

    def finish(self) -> list[str]:
        """Stop it; everything that went wrong on its side."""
        complaints = []
        if self.process.poll() is not None:
            complaints.append(f"{self.name} ended by itself with {self.process.returncode}")
        else:
            self.process.send_signal(signal.SIGTERM)
            try:
                code = self.process.wait(ENDED_WITHIN_SECONDS)
                complaints += [f"{self.name} ended with {code}"] if code else []
            except subprocess.TimeoutExpired:
                self.process.kill()
                complaints.append(f"{self.name} did not end")
        # Attached to the kernel that all programs share, which would stay.
        stop = [*CODEKERNEL, "stop", "--user-data", str(self.user_data)]
        subprocess.run(stop, env=ENVIRON, capture_output=True, check=False)
        self._errors.seek(0)
        said = self._errors.read().decode(errors="replace")
        self._errors.close()
        log = self.user_data / "logs" / "kernel.log"
        said += log.read_text(encoding="utf-8") if log.exists() else ""
        if "Traceback" in said:
            excerpt = said[said.index("Traceback") :][:2000]
            complaints.append(f"{self.name} has a traceback in its log: {excerpt}")
        return complaints


class WebTarget(Target):
    """``codekernel web``: the pages by cookie, the tabs by page secret."""

    name = "web"
    words = ("--no-browser",)
    path = "/kernel"

    def enter(self) -> None:
        """Open the printed address, and a first tab."""
        address = self.line().removeprefix("Open ")
        self.port = int(address.split(":")[2].split("/")[0])
        answer, body = self._get(address.partition(str(self.port))[2])
        self._cookie = answer.headers["Set-Cookie"].partition(";")[0]
        found = re.search('name="codekernel-secret" content="([^"]+)"', body)
        self._secret = found[1] if found else ""
        self._tab = self.open_websocket()
        self._fuzzed: ClientConnection | None = None
        self.ask_again()

    def ask_anew(self) -> None:
        """Load a page, and open a tab that asks something."""
        answer, _ = self._get("/repos.html", Cookie=f'prefs={{"theme":"dark"}}; {self._cookie}')
        if answer.status != http.HTTPStatus.OK:
            raise AssertionError(f"/repos.html: {answer.status}")
        with contextlib.closing(self.open_websocket()) as tab:
            _ask_tab(tab)

    def ask_again(self) -> None:
        """Ask in the first tab."""
        _ask_tab(self._tab)

    def open_websocket(self) -> ClientConnection:
        """A tab."""
        authority = f"127.0.0.1:{self.port}"
        offered = [Subprotocol("codekernel"), Subprotocol(self._secret)]
        return connect(
            f"ws://{authority}/kernel",
            origin=Origin(f"http://{authority}"),
            subprotocols=offered,
            proxy=None,
            open_timeout=PATIENCE_SECONDS,
            close_timeout=1,
        )

    def send_json(self, text: str) -> None:
        """A message that is none costs its tab the connection."""
        for _ in range(2):
            if self._fuzzed is None:
                self._fuzzed = self.open_websocket()
            with contextlib.suppress(Exception):
                self._fuzzed.send(text)
                self._fuzzed.send('{"id": 0, "call": "getRepos", "fields": {}}')
                while json.loads(self._fuzzed.recv(PATIENCE_SECONDS)).get("id") != 0:
                    pass
                return
            self._fuzzed.close()
            self._fuzzed = None
            return

    def _get(self, path: str, **headers: str) -> tuple[http.client.HTTPResponse, str]:
        asked = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_SECONDS)
        with contextlib.closing(asked):
            asked.request("GET", path, headers=headers)
            answer = asked.getresponse()
            return answer, answer.read().decode()


class IdeTarget(Target):
    """``codekernel ide-tools --listen``: a backend with the token calls tools."""

    name = "ide-tools"
    words = ("--listen", "0", "--read-only")

    def enter(self) -> None:
        """Dial it as a backend does."""
        self._address = self.line()
        self.port = int(self._address.rpartition(":")[2])
        self._authorization = self.line().removeprefix("Authorization: ")
        self._first = self.open_websocket()
        self.ask_again()

    def ask_anew(self) -> None:
        """Dial again and call a tool."""
        with contextlib.closing(self.open_websocket()) as connection:
            _call_tool(connection)

    def ask_again(self) -> None:
        """Call a tool over the first connection."""
        _call_tool(self._first)

    def open_websocket(self) -> ClientConnection:
        """A backend."""
        return connect(
            self._address,
            additional_headers={"Authorization": self._authorization},
            proxy=None,
            open_timeout=PATIENCE_SECONDS,
            close_timeout=1,
        )

    def send_json(self, text: str) -> None:
        """What is no call is answered or left alone; the connection goes on."""
        self._first.send(text)
        _call_tool(self._first)


class McpTarget(Target):
    """``codekernel mcp --http``: an agent with the token."""

    name = "mcp"
    words = ("--http", "0")
    path = "/mcp"

    def enter(self) -> None:
        """Say hello as an agent does."""
        address = self.line()
        self.port = int(address.rpartition(":")[2].partition("/")[0])
        self._authorization = self.line().removeprefix("Authorization: ")
        self.ask_anew()

    def ask_anew(self) -> None:
        """Say hello again."""
        status, body = self._post(json.dumps(INITIALIZE))
        if status != http.HTTPStatus.OK or b"codekernel" not in body:
            raise AssertionError(f"initialize: {status} {body[:200]!r}")

    def ask_again(self) -> None:
        """There are no lasting connections of agents; a new one is all they need."""
        self.ask_anew()

    def send_json(self, text: str) -> None:
        """Whatever it is, there must be an answer, and no failure of the server."""
        status, body = self._post(text)
        if status >= http.HTTPStatus.INTERNAL_SERVER_ERROR:
            raise AssertionError(f"{status} {body[:200]!r}")

    def _post(self, text: str) -> tuple[int, bytes]:
        asked = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_SECONDS)
        headers = {
            "Authorization": self._authorization,
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
        }
        with contextlib.closing(asked):
            asked.request("POST", "/mcp", text.encode("utf-8", "replace"), headers)
            answer = asked.getresponse()
            return answer.status, answer.read()


class KodeTarget(Target):
    """``codekernel backend --http``: a program with the key, whose task has no model."""

    name = "backend"
    words = ("--http", "0")
    path = "/api/chat/stream"

    def enter(self) -> None:
        """Give it a task as a program does."""
        self.port = int(self.line().rpartition(":")[2])
        self.ask_anew()

    def ask_anew(self) -> None:
        """Give it another task."""
        status, body = self._post('{"message": "hello"}')
        if status != http.HTTPStatus.OK or b'"type":"error"' not in body:
            raise AssertionError(f"chat: {status} {body[:200]!r}")

    def ask_again(self) -> None:
        """Each connection has one task."""
        self.ask_anew()

    def send_json(self, text: str) -> None:
        """Whatever it is, there must be an answer, and no failure of the server."""
        status, body = self._post(text)
        if status >= http.HTTPStatus.INTERNAL_SERVER_ERROR:
            raise AssertionError(f"{status} {body[:200]!r}")

    def _post(self, text: str) -> tuple[int, bytes]:
        asked = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_SECONDS)
        headers = {"X-API-Key": ENVIRON["KODE_API_SECRET"]}
        with contextlib.closing(asked):
            asked.request("POST", self.path, text.encode("utf-8", "replace"), headers)
            answer = asked.getresponse()
            return answer.status, answer.read()


@contextlib.contextmanager
def targets() -> Iterator[list[Target]]:
    """All of them, each with a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="trust-connections-") as place:
        started: list[Target] = []
        try:
            kinds: tuple[type[Target], ...] = (
                WebTarget,
                IdeTarget,
                McpTarget,
                KodeTarget,
            )
            for kind in kinds:
                started += [kind(Path(place, kind.name))]
            yield started
        finally:
            for each in started:
                if each.process.poll() is None:
                    each.process.kill()
                each.process.wait()
                if each.process.stdout:
                    each.process.stdout.close()


def measure_seconds(work: Callable[[], None]) -> float:
    """How long something took."""
    began = time.monotonic()
    work()
    return time.monotonic() - began


class Honest:
    """An honest client that comes again and again on a thread, while something else happens."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._stop = threading.Event()
        self.waits: list[float] = []
        self.failures: list[str] = []
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while True:
            for ask in (self._target.ask_anew, self._target.ask_again):
                try:
                    self.waits.append(measure_seconds(ask))
                except Exception as error:  # noqa: BLE001 - whatever it is, it is a failure
                    self.failures.append(f"{ask.__name__}: {type(error).__name__} {error}")
            if self._stop.wait(0.05):
                return


def _ask_tab(tab: ClientConnection) -> None:
    tab.send('{"id": 1, "call": "getRepos", "fields": {}}')
    answer: dict[str, Any] = {}
    while answer.get("id") != 1:
        answer = json.loads(tab.recv(PATIENCE_SECONDS))
    if "data" not in answer:
        raise AssertionError(f"getRepos: {answer}")


def _call_tool(connection: ClientConnection) -> None:
    params = {"relativePath": "hello.py", "projectKey": "demo"}
    call = {"type": "TOOL_CALL", "toolCallId": "t", "toolName": "read_file", "params": params}
    connection.send(json.dumps(call))
    while True:
        data = json.loads(connection.recv(PATIENCE_SECONDS))["data"]
        if data["toolCallId"] == "t":
            break
    if not data["success"]:
        raise AssertionError(f"read_file: {data}")

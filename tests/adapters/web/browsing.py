"""A person's browser, as ``codekernel web`` knows it: a cookie, pages, tabs."""

import http.client
import itertools
import json
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

from codekernel.cli.folder_session import is_complete
from support.command_line import _enable_sigint
from support.kernel_process import bare_environment
from support.polling import wait_until
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin, Subprotocol

PATIENCE_SECONDS = 60
Message = dict[str, Any]


class WebProcess:
    """A running ``codekernel web``."""

    def __init__(
        self,
        user_data: Path,
        folder: Path,
        *words: str,
        environ: Mapping[str, str] | None = None,
        before: Callable[[], None] = lambda: None,
    ) -> None:
        self.user_data = user_data

        def prepare() -> None:
            _enable_sigint()
            before()

        self.process = subprocess.Popen(
            [sys.executable, "-m", "codekernel", "web", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={
                **bare_environment(user_data),
                "CODEKERNEL_VAULT_KEY": "a" * 64,
                **(environ or {}),
            },
            cwd=folder,
            # Does nothing that a thread could hold.
            preexec_fn=prepare,  # noqa: PLW1509
        )
        self.said: list[str] = []
        self._changed = threading.Condition()
        self._reading = threading.Thread(target=self._read_stderr, daemon=True)
        self._reading.start()
        assert self.process.stdout
        self.printed = self.process.stdout.readline().decode()
        assert self.printed.startswith("Open http://127.0.0.1:"), self.finish()
        self.address = self.printed.removeprefix("Open ").strip()
        self.port = int(self.address.split(":")[2].split("/")[0])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.finish()

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def finish(self) -> tuple[int, str]:
        """The exit code, and what was said on stderr."""
        code = self.process.wait(PATIENCE_SECONDS)
        self._reading.join(PATIENCE_SECONDS)
        for pipe in (self.process.stdout, self.process.stderr):
            if pipe:
                pipe.close()
        return code, "".join(self.said)

    def expect_words(self, words: str) -> None:
        """Wait for a line on stderr."""
        with self._changed:
            said = self._changed.wait_for(
                lambda: any(words in line for line in self.said), PATIENCE_SECONDS
            )
        assert said, self.said

    def browser(self) -> "Browser":
        """A browser in which the printed address was opened."""
        return Browser.let_in(self.port, self.address)

    def _read_stderr(self) -> None:
        assert self.process.stderr
        for line in self.process.stderr:
            with self._changed:
                self.said.append(line.decode(errors="replace"))
                self._changed.notify_all()


class Browser:
    """Has a cookie and a page secret, or not."""

    def __init__(self, port: int, cookie: str = "", secret: str = "") -> None:
        self.port = port
        self.cookie = cookie
        self.secret = secret

    @classmethod
    def let_in(cls, port: int, address: str) -> Self:
        browser = cls(port)
        status, headers, body = browser.get(address.partition(f":{port}")[2])
        assert status == 200
        browser.cookie = headers["Set-Cookie"].partition(";")[0]
        browser.secret = secret_in(body)
        return browser

    def get(
        self, path: str, method: str = "GET", **headers: str
    ) -> tuple[int, http.client.HTTPMessage, str]:
        """Ask for a page; other headers than a browser's own can be said."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_SECONDS)
        own = {"Cookie": self.cookie} if self.cookie else {}
        try:
            connection.request(method, path, headers={**own, **headers})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read().decode()
        finally:
            connection.close()

    def tab(self, **options: Any) -> "Tab":
        return Tab(self, **options)


def secret_in(page: str) -> str:
    """The page secret that a browser gets together with its cookie."""
    found = re.search('name="codekernel-secret" content="([^"]+)"', page)
    return found[1] if found else ""


class Tab:
    """A page with its connection; what it was told is kept."""

    def __init__(self, browser: Browser, *, host: str = "", origin: str = "") -> None:
        authority = f"127.0.0.1:{browser.port}"
        headers = {"Cookie": browser.cookie, **({"Host": host} if host else {})}
        offered = [
            Subprotocol("codekernel"),
            *([Subprotocol(browser.secret)] * bool(browser.secret)),
        ]
        self._manager = connect(
            f"ws://{authority}/kernel",
            origin=Origin(origin or f"http://{authority}"),
            additional_headers=headers,
            subprotocols=offered,
            max_size=None,
            close_timeout=1,
        )
        self._connection: ClientConnection = self._manager.__enter__()
        self._ids = itertools.count(1)
        self.told: list[Message] = []
        self.close_code: int | None = None
        self._changed = threading.Condition()
        self._ended = False
        self._may_read = threading.Event()
        self._may_read.set()
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._manager.__exit__(None, None, None)

    def pause(self) -> None:
        """Read one more message, and then none until ``go_on``."""
        self._may_read.clear()

    def go_on(self) -> None:
        self._may_read.set()

    def send(self, message: object) -> None:
        self._connection.send(json.dumps(message, ensure_ascii=False))

    def send_text(self, text: str) -> None:
        self._connection.send(text)

    def post(self, call: str, /, **fields: Any) -> int:
        """Ask without waiting; the call's number."""
        number = next(self._ids)
        self.send({"id": number, "call": call, "fields": fields})
        return number

    def ask(self, call: str, /, **fields: Any) -> Message:
        """Ask, and wait for the whole answer."""
        return self.answer_to(self.post(call, **fields))

    def call(self, call: str, /, **fields: Any) -> Any:
        """Ask, and wait for the data."""
        answer = self.ask(call, **fields)
        assert "failure" not in answer, answer
        return answer["data"]

    def code(self, call: str, /, **fields: Any) -> str:
        """Ask, and wait for the failure."""
        return str(self.ask(call, **fields)["failure"]["code"])

    def answer_to(self, number: int) -> Message:
        return self.wait_for(lambda told: told.get("id") == number, f"an answer to {number}")

    def event(self, kind: str) -> Message:
        found = self.wait_for(lambda told: told.get("event", {}).get("type") == kind, kind)
        event: Message = found["event"]
        return event

    def open(self, repo_name: str) -> Message:
        """Open a repository and wait until it is prepared."""
        opened: Message = self.call("openRepo", repoName=repo_name)
        if opened["state"] != "prepared":
            self.event("sessionPrepared")
        return opened

    def index(self, *files: str) -> None:
        """Wait until these files are indexed, by meaning too; nobody may have told this tab."""

        def has_all() -> bool:
            status = self.call("getIndexStatus")
            return status["files"] >= len(files) and is_complete(status, wants_vectors=True)

        wait_until(has_all, lambda: f"the index never had {files}: {self.call('getIndexStatus')}")

    def converse(self, key: int, query: str, conversation: int = 1, **more: object) -> int:
        number = next(self._ids)
        question = {"modelName": "model", "conversationId": conversation, "query": query, **more}
        self.send({"id": number, "call": "converse", "key": key, "fields": question})
        return number

    def parts(self, key: int) -> list[Message]:
        return [told["part"] for told in self.told if told.get("key") == key and "part" in told]

    def read_on(self, key: int, until: Callable[[Message], bool]) -> Message:
        """Take part after part, as a page does, until one is wanted or it ends."""
        taken = 0

        def has_more(_: Message) -> bool:
            return len(self.parts(key)) > taken or self._end_of(key) is not None

        while True:
            self.wait_for(has_more, f"more of conversation {key}")
            for part in self.parts(key)[taken:]:
                taken += 1
                if until(part):
                    return part
                self.send({"read": key})
            end = self._end_of(key)
            if end is not None and taken == len(self.parts(key)):
                return end

    def wait_for(self, wanted: Callable[[Message], bool], what: str) -> Message:
        """The first message, old or new, that is wanted."""
        seen = 0
        with self._changed:
            while True:
                for told in self.told[seen:]:
                    if wanted(told):
                        return told
                seen = len(self.told)
                if self._ended or not self._changed.wait(PATIENCE_SECONDS):
                    raise AssertionError(f"never saw {what} in {str(self.told)[-2000:]}")

    def wait_until_closed(self) -> int | None:
        self._reading.join(PATIENCE_SECONDS)
        assert not self._reading.is_alive()
        return self.close_code

    def _end_of(self, key: int) -> Message | None:
        ends = (told for told in self.told if told.get("key") == key and told.get("isEnd"))
        return next(ends, None)

    def _read(self) -> None:
        try:
            while self._may_read.wait(PATIENCE_SECONDS):
                told = json.loads(self._connection.recv())
                with self._changed:
                    self.told.append(told)
                    self._changed.notify_all()
        except ConnectionClosed:
            self.close_code = self._connection.close_code
        with self._changed:
            self._ended = True
            self._changed.notify_all()

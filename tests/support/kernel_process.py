"""The kernel as the front end knows it: a child process that speaks JSON lines."""

import itertools
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

TIMEOUT_SECONDS = 60
Line = dict[str, Any]

SERVE = (sys.executable, "-m", "codekernel", "serve")


def bare_environment(user_data: Path) -> dict[str, str]:
    """What the front end gives its kernel: nothing but the place of userData.

    And the wish for a kernel of its own, which ends with the test.
    """
    environ = {"POCKETRAG_USERDATA_PATH": str(user_data), "CODEKERNEL_STANDALONE": "1"}
    if os.name == "nt":  # Windows cannot start a process without it
        environ["SYSTEMROOT"] = os.environ["SYSTEMROOT"]
    return environ


class KernelProcess:
    """A running kernel; every line it ever wrote is kept in ``lines``."""

    def __init__(
        self,
        user_data: Path,
        *,
        command: Sequence[str] = SERVE,
        environ: Mapping[str, str] | None = None,
        before_exec: Callable[[], None] | None = None,
    ) -> None:
        self.user_data = user_data
        self.lines: list[Line] = []
        self.raw: list[bytes] = []
        self._ids = itertools.count(1000)
        self._changed = threading.Condition()
        self._ended = False
        self._stderr: list[bytes] = []
        self.process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**bare_environment(user_data), **(environ or {})},
            cwd=user_data.parent,
            preexec_fn=before_exec,  # noqa: PLW1509 - given by tests that have no threads yet
        )
        self._readers = [
            threading.Thread(target=self._read_stdout, daemon=True),
            threading.Thread(target=self._read_stderr, daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(TIMEOUT_SECONDS)
        for reader in self._readers:
            reader.join(TIMEOUT_SECONDS)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe and not pipe.closed:
                try:
                    pipe.close()
                except OSError:  # an unflushed line to a dead kernel
                    continue

    @property
    def stderr(self) -> str:
        return b"".join(self._stderr).decode(errors="replace")

    def wait_for_stderr(self, text: str) -> None:
        """Return as soon as ``text`` stands on standard error."""
        with self._changed:
            found = self._changed.wait_for(lambda: text in self.stderr, TIMEOUT_SECONDS)
        assert found, f"never saw {text!r} on stderr: {self.stderr}"

    @property
    def log(self) -> str:
        file = self.user_data / "logs" / "kernel.log"
        return file.read_text(encoding="utf-8") if file.exists() else ""

    def write(self, content: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(content)
        self.process.stdin.flush()

    def send(self, line: object) -> None:
        self.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")

    def post(
        self,
        message_type: str,
        *,
        session: int | None = None,
        callback: int | None = None,
        **fields: Any,
    ) -> int:
        """Send a request without waiting; its callbackId."""
        callback_id = next(self._ids) if callback is None else callback
        self.send(
            {
                "sessionId": -1 if session is None else session,
                "toMain": session is None,
                "callbackId": callback_id,
                "isReply": False,
                "message": {"type": message_type, **fields},
            }
        )
        return callback_id

    def request(self, message_type: str, *, session: int | None = None, **fields: Any) -> Line:
        """Send a request and wait for its reply."""
        callback_id = self.post(message_type, session=session, **fields)
        return self.reply_to(callback_id)

    def reply_to(self, callback_id: int, since: int = 0) -> Line:
        return self.wait_for(
            lambda line: line["isReply"] and line["callbackId"] == callback_id,
            f"a reply to {callback_id}",
            since,
        )

    def event(self, message_type: str) -> Line:
        return self.wait_for(
            lambda line: not line["isReply"] and line["message"]["type"] == message_type,
            message_type,
        )

    def wait_for(self, wanted: Callable[[Line], bool], what: str, since: int = 0) -> Line:
        """The first line, old or new, that is wanted; ``since`` lines are not looked at."""
        seen = since
        with self._changed:
            while True:
                for line in self.lines[seen:]:
                    if wanted(line):
                        return line
                seen = len(self.lines)
                if self._ended or not self._changed.wait(TIMEOUT_SECONDS):
                    raise AssertionError(
                        f"never saw {what}; stderr: {self.stderr}; log: {self.log}"
                    )

    def forget(self) -> None:
        """Begin a new list of what was said."""
        with self._changed:
            self.raw.clear()
            self.lines.clear()

    def end_input(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()

    def exit_code(self) -> int:
        code = self.process.wait(TIMEOUT_SECONDS)
        for reader in self._readers:
            reader.join(TIMEOUT_SECONDS)
        return code

    def stop(self) -> int:
        """Ask it to stop, as the front end does; its exit code."""
        self.post("stopAll")
        return self.exit_code()

    def open(self, repo: Path, session: int) -> None:
        """Register a folder, open it for a window and wait until the session is prepared."""
        self.request("createRepo", repoName=repo.name, path=str(repo))
        assert code_of(self.request("openRepo", repoName=repo.name, sessionId=session)) == "SUCCESS"
        self.wait_for(
            lambda line: (
                line["sessionId"] == session and line["message"]["type"] == "sessionPrepared"
            ),
            "sessionPrepared",
        )

    def _read_stdout(self) -> None:
        assert self.process.stdout
        for raw in self.process.stdout:
            with self._changed:
                self.raw.append(raw)
                self.lines.append(json.loads(raw))
                self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _read_stderr(self) -> None:
        assert self.process.stderr
        for chunk in self.process.stderr:
            with self._changed:
                self._stderr.append(chunk)
                self._changed.notify_all()


def code_of(line: Line) -> str:
    return str(line["status"]["code"])


def reason_of(line: Line) -> str:
    return str(line["status"]["message"])

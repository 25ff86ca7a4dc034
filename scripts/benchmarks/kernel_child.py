"""A kernel child process for the benchmarks, driven as the front end drives it."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Self


def request(callback_id: int, message: dict[str, object], session: int = -1) -> bytes:
    """One line that asks the main process (-1) or a session."""
    envelope = {
        "sessionId": session,
        "toMain": session == -1,
        "callbackId": callback_id,
        "isReply": False,
        "message": message,
    }
    return json.dumps(envelope).encode() + b"\n"


class KernelChild:
    """A kernel on the userData folder below ``root``, or on a new one."""

    def __init__(
        self, root: Path | None = None, command: Sequence[str] = ("-m", "codekernel", "serve")
    ) -> None:
        self._folder = None if root else tempfile.TemporaryDirectory()
        root = root or Path(self._folder.name if self._folder else "")
        self.repos = [root / name for name in ("one", "two")]
        for repo in self.repos:
            repo.mkdir(exist_ok=True)
        # A shared kernel would stay when the folder is removed.
        environ = {"CODEKERNEL_USER_DATA": str(root / "userData"), "CODEKERNEL_STANDALONE": "1"}
        if os.name == "nt":
            environ["SYSTEMROOT"] = os.environ["SYSTEMROOT"]
        self.process = subprocess.Popen(
            [sys.executable, *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environ,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.input.close()
        self.process.wait(30)
        self.output.close()
        if self._folder:
            self._folder.cleanup()

    @property
    def input(self) -> IO[bytes]:
        """Its stdin."""
        assert self.process.stdin  # noqa: S101 - Popen was asked for it
        return self.process.stdin

    @property
    def output(self) -> IO[bytes]:
        """Its stdout."""
        assert self.process.stdout  # noqa: S101 - Popen was asked for it
        return self.process.stdout

    def ask(self, message: dict[str, object], session: int = -1) -> dict[str, object]:
        """Send one request and wait for its reply."""
        self.input.write(request(7, message, session))
        self.input.flush()
        while True:
            line: dict[str, object] = json.loads(self.output.readline())
            if line["isReply"]:
                return line

    def open_repositories(self) -> None:
        """Register both folders and open one session on each, with ids 1 and 2."""
        for number, repo in enumerate(self.repos, 1):
            self.ask({"type": "createRepo", "repoName": repo.name, "path": str(repo)})
            self.ask({"type": "openRepo", "repoName": repo.name, "sessionId": number})

    def resident_kilobytes(self) -> int:
        """Its memory, where the system tells."""
        status = Path(f"/proc/{self.process.pid}/status")
        if not status.exists():
            return 0
        for line in status.read_text(encoding="ascii").splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
        return 0

"""A rival in a long-lived child process: started when first asked, one JSON object per line.

Standard library only. A child that fails or stalls is reported in one line and started anew at the
next request, so that one repository does not end a benchmark.
"""

import json
import os
import subprocess
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rival_venv import CACHE, RivalMissing

# The slowest rival needs minutes for the largest repository; what takes longer will not end.
REPLY_TIMEOUT_SECONDS = 3600.0
GOODBYE_TIMEOUT_SECONDS = 30.0


class RivalFailed(Exception):
    """A rival's process ended without an answer; the message is the last line that it wrote."""


class RivalProcess:
    """One child script, run by ``python`` with ``arguments``."""

    def __init__(
        self,
        name: str,
        python: Path,
        script: str,
        arguments: Sequence[str],
        environ: Mapping[str, str],
    ) -> None:
        self._command = [str(python), str(Path(__file__).with_name(script)), *arguments]
        self._environ = {**os.environ, "HF_HUB_OFFLINE": "1", **environ}
        self._log = CACHE / "logs" / f"{name}.log"
        self._process: subprocess.Popen[bytes] | None = None
        self.ready: dict[str, Any] = {}

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """The reply to one request.

        Raises RivalFailed if the child ends first.
        """
        if self._process is None:
            self._start()
        assert self._process  # noqa: S101 - started above
        assert self._process.stdin  # noqa: S101 - Popen was asked for it
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._failure() from None
        return self._reply()

    def close(self) -> None:
        """Let the child end by itself."""
        if self._process is None:
            return
        process, self._process = self._process, None
        try:
            process.communicate(timeout=GOODBYE_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()

    def _start(self) -> None:
        self._log.parent.mkdir(parents=True, exist_ok=True)
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=self._environ,
            )
        self.ready = self._reply()

    def _reply(self) -> dict[str, Any]:
        assert self._process  # noqa: S101 - only called while it runs
        assert self._process.stdout  # noqa: S101 - Popen was asked for it
        limit = threading.Timer(REPLY_TIMEOUT_SECONDS, self._process.kill)
        limit.start()
        try:
            line = self._process.stdout.readline()
        finally:
            limit.cancel()
        if not line:
            raise self._failure()
        reply: dict[str, Any] = json.loads(line)
        return reply

    def _failure(self) -> RivalFailed:
        self.close()
        lines = self._log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return RivalFailed(lines[-1] if lines else "it ended without a word")


class InstalledRival(ABC):
    """A rival with an environment of its own, made when it is first asked whether it can run."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._process: RivalProcess | None = None

    @abstractmethod
    def available(self) -> str | None:
        """Install it and set ``_process``; why it cannot run, or None."""

    def ready(self) -> dict[str, float]:
        """What the running child says of its start: import_seconds, perhaps model_seconds."""
        return self._process.ready if self._process else {}

    def close(self) -> None:
        """End the child."""
        if self._process:
            self._process.close()

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        if self._process is None:
            raise RivalMissing(self.available() or "")
        return self._process.ask(request)

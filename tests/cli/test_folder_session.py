"""A command's search in a kernel that is replaced in the middle of it."""

import json
import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from codekernel.cli.folder_session import FolderSession, is_complete
from codekernel.client.connection import KernelConnection
from codekernel.transport.unix_socket import SocketPipe

pytestmark = pytest.mark.skipif(os.name == "nt", reason="uses socket pairs of Unix")

CONFIG: dict[str, Any] = {
    "name": "static",
    "chunks": 1,
    "waiting": 0,
    "secondsLeft": None,
    "trouble": "",
}
COMPLETE: dict[str, Any] = {"state": "idle", "trouble": "", "configs": [{**CONFIG, "ready": True}]}
COUNTS = {"files": 1, "filesWaiting": 0, "chunks": 1}
OPENING = {**COMPLETE, **COUNTS, "configs": [{**CONFIG, "ready": False}]}
SUCCESS = {"code": "SUCCESS", "message": ""}

# Returns the data of the reply to a message; None kills the kernel before it replies.
Answer = Callable[[str], dict[str, Any] | None]


def start_kernel(answer: Answer) -> SocketPipe:
    """A kernel that answers as it is told, and dies when it is told nothing."""
    ours, theirs = socket.socketpair()

    def serve() -> None:
        with theirs, theirs.makefile("rb") as lines:
            for line in lines:
                envelope = json.loads(line)
                if envelope["isReply"]:
                    continue
                data = answer(envelope["message"]["type"])
                if data is None:
                    return
                reply = {**envelope, "isReply": True, "status": SUCCESS, "data": data}
                theirs.sendall(json.dumps(reply, separators=(",", ":")).encode() + b"\n")

    threading.Thread(target=serve, daemon=True).start()
    return SocketPipe(ours)


class ScriptedKernels:
    """The first one dies before it has searched; the second one has no vectors at first."""

    def __init__(self) -> None:
        self._kernels = iter([self._answer_first, self._answer_second])
        self._statuses = iter([OPENING, COMPLETE])
        self._has_vectors = False

    def connect(self, _user_data: str | Path) -> SocketPipe:
        return start_kernel(next(self._kernels))

    def _answer_first(self, kind: str) -> dict[str, Any] | None:
        known: dict[str, Any] = {
            "getIndexStatus": COMPLETE,
            "getSettings": {"trouble": ""},
            "search": None,
        }
        found: dict[str, Any] | None = known.get(kind, {})
        return found

    def _answer_second(self, kind: str) -> dict[str, Any]:
        if kind == "getIndexStatus":
            status = next(self._statuses)
            self._has_vectors = status is COMPLETE
            return status
        results = [{"content": "by meaning" if self._has_vectors else "by words"}]
        return {"results": results, "trouble": ""}


def test_a_search_is_repeated_if_another_kernel_answered_it_than_said_it_is_complete(
    tmp_path: Path,
) -> None:
    with KernelConnection.open(tmp_path, "search", connect=ScriptedKernels().connect) as kernel:
        fields = {"query": "x", "accuracy": False}
        found = FolderSession(kernel).search(tmp_path, fields, until_complete=False)
    assert found == ([{"content": "by meaning"}], [])


def test_nobody_waits_for_vectors_of_an_index_that_another_keeps() -> None:
    assert not is_complete(OPENING, wants_vectors=True)
    assert is_complete({**OPENING, "state": "read-only"}, wants_vectors=True)

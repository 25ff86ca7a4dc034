"""A command that meets a kernel which is just leaving, or dying, is answered by the next one."""

import json
import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from codekernel.transport.local_endpoint import LocalListener, choose_endpoint_path
from support.chat_server import ChatServer, reply_text
from support.command_line import CODEKERNEL, TIMEOUT_SECONDS, codekernel
from support.conversation_client import chat_settings, write_sources
from support.shared_kernel import ENVIRON, SharedKernel

PATIENCE_SECONDS = 60
SEARCH = ("search", "--files", "add_route")
COMMANDS = [SEARCH, ("ask", "why?"), ("agent", "do it"), ("repos",)]


@pytest.fixture
def shared(user_data: Path, repo: Path) -> Iterator[SharedKernel]:
    write_sources(repo)
    (repo / ".git").mkdir()
    with ChatServer([reply_text("It is so.")]) as server, SharedKernel(user_data) as kernel:
        chat_settings(user_data, server.url)
        yield kernel


def run(shared: SharedKernel, repo: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    return codekernel(shared.user_data, repo, *words, **ENVIRON)


@contextmanager
def leaving_kernel(user_data: Path, farewell: bytes) -> Iterator[None]:
    """One that accepts a client, reads what it sends, and is gone."""
    listener = LocalListener(choose_endpoint_path(user_data))

    def leave() -> None:
        connection = listener.accept()
        assert connection
        received = b""
        while b"\n" not in received:
            received += connection.read(4096)
        listener.close()
        connection.write(farewell)
        connection.close()

    leaving = threading.Thread(target=leave)
    leaving.start()
    yield
    leaving.join(PATIENCE_SECONDS)


def envelope(callback_id: int, message: dict[str, object], *, is_reply: bool) -> bytes:
    line = {"sessionId": -1, "toMain": True, "callbackId": callback_id, "isReply": is_reply}
    status = {"status": {"code": "SUCCESS", "message": ""}} if is_reply else {}
    content = json.dumps({**line, "message": message, **status}, separators=(",", ":"))
    return content.encode() + b"\n"


STOPPING = envelope(-1, {"type": "kernelStopping", "reason": "it was idle"}, is_reply=False)
RETIRED = envelope(
    -1, {"type": "kernelStopping", "reason": "it was idle", "retired": True}, is_reply=False
)
ATTACHED = envelope(2**52, {"type": "attach"}, is_reply=True)


@pytest.mark.parametrize("words", COMMANDS)
@pytest.mark.parametrize("farewell", [b"", RETIRED, ATTACHED, ATTACHED + STOPPING])
def test_what_a_leaving_kernel_did_not_answer_is_asked_of_the_next(
    shared: SharedKernel, repo: Path, user_data: Path, words: tuple[str, ...], farewell: bytes
) -> None:
    with leaving_kernel(user_data, farewell):
        done = run(shared, repo, *words)
    assert done.returncode == 0, done.stderr
    assert "kernel" not in done.stderr.replace("codekernel: ", "")
    assert done.stdout


def test_searches_are_answered_while_kernels_are_stopped(
    shared: SharedKernel, repo: Path, user_data: Path
) -> None:
    assert run(shared, repo, *SEARCH).returncode == 0
    environ = {**os.environ, **ENVIRON, "CODEKERNEL_USER_DATA": str(user_data)}
    for _ in range(5):
        searches = [
            subprocess.Popen(
                [*CODEKERNEL, *SEARCH],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=environ,
                cwd=repo,
            )
            for _ in range(3)
        ]
        run(shared, repo, "stop")
        for each in searches:
            assert each.communicate(timeout=TIMEOUT_SECONDS) == ("routing.py\n", "")


def test_requests_that_wait_in_a_kernel_that_is_stopped_are_answered_by_the_next(
    shared: SharedKernel, repo: Path
) -> None:
    assert run(shared, repo, *SEARCH).returncode == 0
    with shared.connect(may_start=True) as kernel, shared.connect() as other:
        kernel.request("openFolder", {"path": str(repo), "sessionId": 1})
        asked = [kernel.post("search", {"query": "add_route"}, 1) for _ in range(300)]
        kernel.wait_for_reply(asked[0])
        other.request("stopKernel")
        found = [kernel.wait_for_reply(each)["results"] for each in asked[1:]]
    assert {hits[0]["filePath"] for hits in found} == {"routing.py"}


def test_a_kernel_that_never_stays_is_given_up_with_its_reason(
    shared: SharedKernel, repo: Path, user_data: Path
) -> None:
    """As one that has too many clients."""
    listener = LocalListener(choose_endpoint_path(user_data))

    def refuse() -> None:
        while connection := listener.accept():
            connection.write(STOPPING)
            connection.close()

    refusing = threading.Thread(target=refuse)
    refusing.start()
    try:
        done = run(shared, repo, "repos")
    finally:
        listener.close()
        refusing.join(PATIENCE_SECONDS)
    assert (done.returncode, done.stdout) == (2, "")
    assert "it was idle" in done.stderr

"""What a kernel has done counts once, although it was killed before it could say so."""

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from codekernel.client.agent_sessions import RemoteAgentSessions
from codekernel.client.connection import KernelConnection
from codekernel.client.kernel_requests import KernelRequests
from codekernel.domain.agent_sessions import (
    NewMessage,
    NewSession,
    PermissionAnswer,
    PermissionStatus,
)
from codekernel.errors import PermissionAnswered, RefusedByKernel
from support.chat_server import (
    ChatServer,
    SetEvent,
    WaitForDisconnect,
    WaitForEvent,
    delta,
    end_reply,
    reply_calls,
    reply_text,
)
from support.conversation_client import SESSION, chat_settings, write_sources
from support.lost_replies import LostReplies
from support.polling import wait_until
from support.scripted_agent import PHONE, WAIT_SECONDS
from support.shared_kernel import ENVIRON, SharedKernel

SKIP = ("plan", {"action": "skip"})
MAKE = ("create_file", {"path": "made.txt", "content": "new\n"})
RUN = ("run_command", {"command": "true"})
NUMBER = 5


@pytest.fixture
def shared(
    user_data: Path, repo: Path, server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[SharedKernel]:
    for name, value in ENVIRON.items():
        monkeypatch.setenv(name, value)
    write_sources(repo)
    chat_settings(user_data, server.url)
    with SharedKernel(user_data) as kernel:
        yield kernel


@pytest.fixture
def replies() -> LostReplies:
    return LostReplies()


@pytest.fixture
def window(shared: SharedKernel, repo: Path, replies: LostReplies) -> Iterator[KernelConnection]:
    with open_window(shared.user_data, repo, replies) as connection:
        yield connection


def open_window(user_data: Path, repo: Path, replies: LostReplies) -> KernelConnection:
    connection = KernelConnection.open(user_data, "test", connect=replies.connect)
    connection.request("openFolder", {"path": str(repo), "sessionId": SESSION})
    return connection


def begin(window: KernelConnection, kind: str, query: str, key: str = "key") -> int:
    fields = {"modelName": "model", "conversationId": NUMBER, "query": query, "turnKey": key}
    return window.post(kind, fields, SESSION)


def read_turns(user_data: Path) -> list[Any]:
    path = user_data / "conversations" / f"conversation-{NUMBER}.json"
    return list(json.loads(path.read_bytes())["history"])


def list_answers(parts: list[dict[str, Any] | RefusedByKernel]) -> str:
    return "".join(
        part["content"] for part in parts if isinstance(part, dict) and part["type"] == "answer"
    )


def test_a_question_that_was_begun_is_answered_in_its_place(
    shared: SharedKernel, window: KernelConnection, server: ChatServer, replies: LostReplies
) -> None:
    half = threading.Event()
    server.extend_script(
        [delta("Half"), SetEvent(half), WaitForDisconnect()], reply_text("Whole.", used=(10, 5))
    )
    replies.begin()
    asked = begin(window, "beginConversation", "How does a Session end?")
    assert half.wait(WAIT_SECONDS)
    shared.kill()
    parts = list(window.iterate_turn(asked))
    assert list_answers(parts) == "Whole."
    assert [(turn["answer"], turn["outcome"]) for turn in read_turns(shared.user_data)] == [
        ("Whole.", "done")
    ]


def test_the_same_question_asked_again_is_another_turn(
    shared: SharedKernel, window: KernelConnection, server: ChatServer
) -> None:
    server.extend_script(reply_text("One."), reply_text("Two."))
    for key in ("first", "second"):
        list(window.iterate_turn(begin(window, "beginConversation", "How?", key)))
    assert [turn["answer"] for turn in read_turns(shared.user_data)] == ["One.", "Two."]


def test_a_task_that_was_begun_is_not_begun_again_and_can_be_undone(
    shared: SharedKernel,
    window: KernelConnection,
    server: ChatServer,
    replies: LostReplies,
    repo: Path,
) -> None:
    made = threading.Event()
    server.extend_script(
        reply_calls(SKIP, MAKE),
        [delta("Half"), SetEvent(made), WaitForDisconnect()],
        reply_text("Begun again."),
    )
    replies.begin()
    asked = begin(window, "beginAgentTurn", "make a file")
    assert made.wait(WAIT_SECONDS)
    requests = len(server.received)
    shared.kill()
    refused, done = window.iterate_turn(asked)
    assert isinstance(refused, RefusedByKernel)
    assert "ask again" in str(refused)
    assert isinstance(done, dict)
    assert len(server.received) == requests
    (turn,) = read_turns(shared.user_data)
    assert (turn["outcome"], turn["agent"]["changes"][0]["filePath"]) == ("interrupted", "made.txt")
    undo = {"conversationId": NUMBER, "time": turn["time"]}
    window.request("undoAgentTurn", undo, SESSION)
    assert not (repo / "made.txt").exists()


def test_a_task_that_runs_is_followed_by_the_same_request_of_a_client_that_came_back(
    shared: SharedKernel, window: KernelConnection, server: ChatServer, repo: Path
) -> None:
    begun, go_on = threading.Event(), threading.Event()
    server.extend_script([delta("Half"), SetEvent(begun), WaitForEvent(go_on), *end_reply()])
    first = begin(window, "beginAgentTurn", "say something")
    assert begun.wait(WAIT_SECONDS)
    with open_window(shared.user_data, repo, LostReplies()) as back:
        second = begin(back, "beginAgentTurn", "say something")
        back.wait_for_reply(second)
        go_on.set()
        for connection, asked in ((window, first), (back, second)):
            last = list(connection.iterate_turn(asked))[-1]
            assert isinstance(last, dict)
            assert last["type"] == "done"
    assert len(server.received) == 1
    assert len(read_turns(shared.user_data)) == 1


def test_a_device_whose_answer_counts_hears_so_from_the_next_kernel(
    shared: SharedKernel, server: ChatServer, replies: LostReplies, repo: Path
) -> None:
    started = threading.Event()
    server.extend_script(reply_calls(SKIP, RUN), [SetEvent(started), WaitForDisconnect()])
    phone = RemoteAgentSessions(KernelRequests(shared.user_data, "phone", replies.connect))
    desk = RemoteAgentSessions(KernelRequests(shared.user_data, "desk"))
    answer = PermissionAnswer(allowed=True, actor=PHONE)
    with closing(phone), closing(desk), ThreadPoolExecutor(1) as pool:
        session = phone.start_session(NewSession(str(repo), PHONE)).id
        phone.send_message(session, NewMessage("run it", PHONE))
        wait_until(lambda: desk.get_session(session).pending_permissions)
        (waiting,) = desk.get_session(session).pending_permissions
        replies.begin()
        answered = pool.submit(phone.answer_permission, session, waiting.id, answer)
        assert started.wait(WAIT_SECONDS)  # the tool was let go on
        shared.kill()
        settled = answered.result(WAIT_SECONDS)
        assert (settled.status, settled.answered_by) == (PermissionStatus.APPROVED, PHONE)
        assert desk.list_permissions(session) == [settled]
        with pytest.raises(PermissionAnswered):  # another answer, although the same device's
            phone.answer_permission(session, waiting.id, answer)

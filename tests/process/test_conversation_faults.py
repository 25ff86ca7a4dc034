"""Chat models that are silent, overloaded, or send one byte at a time.

What breaks at once is in test_conversation_stopping.py; here the kernel has short timeouts.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import short_timeout_kernel
from support.chat_server import (
    BodyBytes,
    ChatServer,
    CloseConnection,
    Delay,
    ResponseHead,
    Step,
    StreamEvent,
    WaitForDisconnect,
    delta,
    reply_error,
    reply_text,
)
from support.conversation_client import (
    ENVIRON,
    SESSION,
    ConversationClient,
    answer_of,
    chat_settings,
    kinds,
    write_sources,
)
from support.kernel_process import KernelProcess, code_of, reason_of

pytestmark = pytest.mark.slow

ROUND = {"annotation", "search", "result", "doneRetrieval"}
REFUSED = ["ack", "NETWORK_ERROR", "done"]
BROKEN = ["ack", "answer", "NETWORK_ERROR", "done"]
ATTEMPTS = 1 + len(short_timeout_kernel.RETRY_BACKOFF_SECONDS)


@pytest.fixture
def asker(server: ChatServer, user_data: Path, repo: Path) -> Iterator[ConversationClient]:
    write_sources(repo)
    chat_settings(user_data, server.url)
    command = [sys.executable, str(short_timeout_kernel.__file__)]
    with KernelProcess(user_data, command=command, environ=ENVIRON) as kernel:
        kernel.open(repo, SESSION)
        yield ConversationClient(kernel, user_data)


def told(asker: ConversationClient, query: str = "why?") -> list[str]:
    """What a question is answered with, retrieval left out; the history must say the same."""
    replies = asker.ask_and_wait(query)
    (turn,) = asker.read_history()["history"]
    assert turn["answer"] == answer_of(replies)
    failed = [line for line in replies if code_of(line) != "SUCCESS"]
    assert [reason_of(line) for line in failed] == ([turn["error"]] if failed else [])
    assert turn["outcome"] == replies[-1]["data"]["outcome"] == ("failed" if failed else "done")
    assert not list((asker.user_data / "conversations" / "unfinished").glob("*.jsonl"))
    return [kind for kind in kinds(replies) if kind not in ROUND]


@pytest.mark.parametrize(
    ("steps", "sequence"),
    [
        ([WaitForDisconnect()], REFUSED),
        ([ResponseHead(), WaitForDisconnect()], REFUSED),
        ([delta("Half"), WaitForDisconnect()], BROKEN),
    ],
    ids=["before the head", "before the first word", "in the middle"],
)
def test_a_model_that_falls_silent_is_hung_up_on_and_paid(
    asker: ConversationClient, server: ChatServer, steps: list[Step], sequence: list[str]
) -> None:
    server.extend_script(steps)
    assert told(asker) == sequence
    assert f"127.0.0.1:{server.port}" in asker.read_history()["history"][0]["error"]
    assert server.received[0].hung_up.wait(60)
    (usage,) = asker.list_usage()
    assert usage["input_token"] == asker.read_history()["history"][0]["usage"]["input_token"] > 0


@pytest.mark.parametrize("status", [429, 500, 503])
def test_overload_is_borne_for_a_while_and_then_told(
    asker: ConversationClient, server: ChatServer, status: int
) -> None:
    server.extend_script(reply_error(status, "come back later", headers={"Retry-After": "0"}))
    assert told(asker) == REFUSED
    assert str(status) in asker.read_history()["history"][0]["error"]
    assert len(server.received) == ATTEMPTS
    assert asker.list_usage() == []


def test_overload_that_passes_is_never_noticed(
    asker: ConversationClient, server: ChatServer
) -> None:
    busy = [reply_error(status, "busy", headers={"Retry-After": "0"}) for status in (429, 503)]
    server.extend_script(*busy, reply_text("Fine.", used=(10, 1)))
    assert told(asker) == ["ack", "answer", "done"]
    (usage,) = asker.list_usage()
    assert (usage["input_token"], usage["output_token"]) == (10, 1)


def test_an_answer_that_drips_byte_by_byte_arrives_whole(
    asker: ConversationClient, server: ChatServer
) -> None:
    server.extend_script(dripping(stream(reply_text("Es tröpfelt", " 漢字.", used=(10, 4)))))
    assert told(asker) == ["ack", "answer", "answer", "done"]
    assert asker.read_history()["history"][0]["answer"] == "Es tröpfelt 漢字."


def test_a_drip_that_ends_inside_a_letter_keeps_what_was_whole(
    asker: ConversationClient, server: ChatServer
) -> None:
    content = stream([delta("Half"), delta("漢")])
    inside = content.index("漢".encode()) + 1
    server.extend_script([*dripping(content[:inside]), CloseConnection()])
    assert told(asker) == BROKEN
    assert asker.read_history()["history"][0]["answer"] == "Half"


def stream(steps: list[Step]) -> bytes:
    """What a server would write for these events."""
    payloads = [step.payload for step in steps if isinstance(step, StreamEvent)]
    lines = [
        each if isinstance(each, str) else json.dumps(each, ensure_ascii=False) for each in payloads
    ]
    return "".join(f"data: {line}\r\n\r\n" for line in lines).encode()


def dripping(content: bytes) -> list[Step]:
    """Each byte in a packet of its own."""
    return [step for byte in content for step in (BodyBytes(bytes([byte])), Delay(0.001))]

"""The history where PocketRAG's front end reads it, if that front end asks or has it open."""

import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.chat_server import ChatServer, WaitForDisconnect, delta, reply_text
from support.conversation_client import (
    ENVIRON,
    SESSION,
    ConversationClient,
    answer_of,
    chat_settings,
    write_sources,
)
from support.index_client import IndexClient
from support.kernel_process import KernelProcess, code_of
from support.shared_kernel import ENVIRON as SHARED
from support.shared_kernel import SharedKernel

BY_FRONT_END = (sys.executable, "-m", "codekernel")


@contextmanager
def front_end(
    user_data: Path, repo: Path, environ: dict[str, str] = ENVIRON
) -> Iterator[ConversationClient]:
    """A kernel with no arguments, as that front end spawns it; with a key, which is faster."""
    with KernelProcess(user_data, command=BY_FRONT_END, environ=environ) as kernel:
        kernel.open(repo, SESSION)
        IndexClient(kernel, SESSION).wait_until_idle()
        yield ConversationClient(kernel, user_data)
        assert kernel.stop() == 0


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer([reply_text("First answer."), reply_text("Second answer.")]) as running:
        yield running


@pytest.fixture
def place(server: ChatServer, user_data: Path, repo: Path) -> Path:
    write_sources(repo)
    chat_settings(user_data, server.url)
    return repo / ".PocketRAG" / "conversation"


def mirrored(place: Path, number: int) -> Any:
    return json.loads((place / f"conversation-{number}.json").read_bytes())


@pytest.mark.slow
def test_each_conversation_is_mirrored_before_done_and_never_indexed(
    place: Path, user_data: Path, repo: Path
) -> None:
    with front_end(user_data, repo, environ={}) as asker:  # the one variable, and nothing else
        callback = asker.ask("How does a Session close?", 1700000000000)
        asker.wait_for_reply(callback, "done")
        document = mirrored(place, 1700000000000)  # at once: the renderer reads it on done
        assert document["topic"] == "How does a Session close?"
        (turn,) = document["history"]
        assert (turn["query"], turn["answer"]) == ("How does a Session close?", "First answer.")
        assert turn["time"] > 1_600_000_000_000
        assert turn["retrieval"][0]["result"][0]["chunkId"] >= 1
        content = (place / "conversation-1700000000000.json").read_text(encoding="utf-8")
        assert content.startswith('{\n    "conversationId"')
        full = json.loads((place / "conversation-1700000000000_full.json").read_bytes())
        assert full[-1] == {"role": "assistant", "content": "First answer."}
        found = asker.kernel.request("search", session=SESSION, query="First answer", limit=50)
        paths = {hit["filePath"] for hit in found["data"]["results"]}
        assert not any(path.startswith(".PocketRAG") for path in paths)
    assert sorted(path.name for path in place.iterdir()) == [
        "conversation-1700000000000.json",
        "conversation-1700000000000_full.json",
    ]


@pytest.mark.slow
def test_a_conversation_of_an_earlier_pocketrag_goes_on(
    place: Path, user_data: Path, repo: Path, server: ChatServer
) -> None:
    place.mkdir(parents=True)
    turns = [
        {"query": "What is blue?", "answer": "The sky is.", "time": 5, "retrieval": []},
        {"query": "And then?", "time": 6},
    ]
    document = {"topic": "What is blue?", "history": turns}
    (place / "conversation-42.json").write_text(json.dumps(document), encoding="utf-8")
    with front_end(user_data, repo) as asker:
        asker.ask_and_wait("Go on", 42)
        sent = [each["content"] for each in json.loads(server.received[-1].body)["messages"]]
        assert "The sky is." in sent
        read = asker.kernel.request("getConversation", session=SESSION, conversationId=42)
        assert [turn["query"] for turn in read["data"]["history"]] == [
            "What is blue?", "And then?", "Go on",
        ]  # fmt: skip
    assert [turn["query"] for turn in mirrored(place, 42)["history"]][-1] == "Go on"
    assert mirrored(place, 42)["topic"] == "What is blue?"


@pytest.mark.slow
def test_a_link_out_of_the_repository_is_not_followed_and_the_answer_comes(
    place: Path, user_data: Path, repo: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (repo / ".PocketRAG").symlink_to(outside, target_is_directory=True)
    with front_end(user_data, repo) as asker:
        replies = asker.ask_and_wait("How does a Session close?")
        assert answer_of(replies) == "First answer."
        assert "unsaved" not in replies[-1]["data"]
    assert list(outside.iterdir()) == []


@pytest.mark.slow
def test_whoever_else_starts_the_kernel_finds_nothing_in_the_repository(
    place: Path, user_data: Path, repo: Path
) -> None:
    before = set(repo.rglob("*"))
    with KernelProcess(
        user_data, environ=ENVIRON
    ) as kernel:  # with the argument "serve" and the same variable
        kernel.open(repo, SESSION)
        ConversationClient(kernel, user_data).ask_and_wait("How does a Session close?")
    with KernelProcess(
        user_data, command=BY_FRONT_END, environ={"CODEKERNEL_USER_DATA": str(user_data), **ENVIRON}
    ) as kernel:
        kernel.open(repo, SESSION)
        ConversationClient(kernel, user_data).ask_and_wait("And again?")
    assert set(repo.rglob("*")) == before


@pytest.mark.slow
def test_conversations_from_before_are_mirrored_when_it_opens_their_repository(
    place: Path, user_data: Path, repo: Path
) -> None:
    with KernelProcess(user_data, environ=ENVIRON) as kernel:
        kernel.open(repo, SESSION)
        ConversationClient(kernel, user_data).ask_and_wait("How does a Session close?", 7)
        assert kernel.stop() == 0
    assert not place.exists()
    with front_end(user_data, repo) as asker:
        for number in range(8, 60):  # it is done beside the answers
            if (place / "conversation-7.json").exists():
                break
            asker.ask_and_wait("Another one", number)
    assert mirrored(place, 7)["history"][0]["query"] == "How does a Session close?"


def front_ends(user_data: Path) -> tuple[KernelProcess, KernelProcess]:
    """PocketRAG's, and another one that shares its kernel."""
    environ = {**ENVIRON, **SHARED}
    theirs = KernelProcess(user_data, command=BY_FRONT_END, environ=environ)
    return theirs, KernelProcess(user_data, environ=environ)


@pytest.mark.slow
def test_what_others_ask_the_same_kernel_is_mirrored_only_while_it_has_the_repository_open(
    place: Path, user_data: Path, repo: Path, tmp_path: Path, server: ChatServer
) -> None:
    server.extend_script(*(reply_text(f"Answer {number}.") for number in range(3, 6)))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    write_sources(elsewhere)
    theirs, ours = front_ends(user_data)
    with SharedKernel(user_data), theirs, ours:
        theirs.open(repo, SESSION)
        ours.open(elsewhere, SESSION)
        assert ours.request("openRepo", repoName=repo.name, sessionId=8)["data"]["path"]
        asker = ConversationClient(ours, user_data)
        asker.ask_and_wait("Where else?", 1)
        asker.ask_and_wait("Where?", 2, session=8)
        ConversationClient(theirs, user_data).ask_and_wait("Who?", 3)
        assert theirs.stop() == 0
        asker.ask_and_wait("And now?", 4, session=8)
        assert ours.stop() == 0
    assert not (elsewhere / ".PocketRAG").exists()
    assert [turn["query"] for number in (2, 3) for turn in mirrored(place, number)["history"]] == [
        "Where?",
        "Who?",
    ]
    assert not (place / "conversation-4.json").exists()


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="no process can be stopped for a while")
def test_a_turn_that_it_asked_is_mirrored_although_the_kernel_was_killed_under_it(
    user_data: Path, repo: Path
) -> None:
    write_sources(repo)
    place = repo / ".PocketRAG" / "conversation"
    with ChatServer([[delta("Half of"), WaitForDisconnect()]]) as server:
        chat_settings(user_data, server.url)
        theirs, ours = front_ends(user_data)
        with SharedKernel(user_data) as kernel, theirs, ours:
            theirs.open(repo, SESSION)
            asker = ConversationClient(theirs, user_data)
            asker.wait_for_reply(asker.ask("Who?", 3), "answer")
            theirs.process.send_signal(signal.SIGSTOP)  # it sees no end of the kernel
            kernel.kill()
            theirs.process.kill()
            # The next kernel, of which nobody wants copies, completes the history.
            while not (copied := place / "conversation-3.json").exists():
                assert code_of(ours.request("getRepos")) == "SUCCESS"
            while not (turns := json.loads(copied.read_bytes())["history"]):
                assert code_of(ours.request("getRepos")) == "SUCCESS"
            assert turns[0]["answer"] == "Half of"
            assert ours.stop() == 0

"""``ask`` and ``agent`` as clients of a shared kernel: together, stopped, killed."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
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
from support.command_line import CODEKERNEL, TIMEOUT_SECONDS, Terminal, codekernel
from support.conversation_client import chat_settings, write_sources
from support.polling import wait_until
from support.shared_kernel import ENVIRON, SharedKernel

QUESTION = "How does a Session end?"
SKIP = ("plan", {"action": "skip"})
MAKE = ("create_file", {"path": "made.txt", "content": "new\n"})
RUN = ("run_command", {"command": "echo heard"})
needs_terminal = pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer([reply_text("It is closed in `session.py:4-6`.", used=(10, 5))]) as running:
        yield running


@pytest.fixture
def shared(user_data: Path, repo: Path, server: ChatServer) -> Iterator[SharedKernel]:
    write_sources(repo)
    (repo / ".git").mkdir()
    chat_settings(user_data, server.url)
    with SharedKernel(user_data) as kernel:
        yield kernel


def run(
    shared: SharedKernel, repo: Path, *words: str, **environ: str
) -> "subprocess.CompletedProcess[str]":
    return codekernel(shared.user_data, repo, *words, **{**ENVIRON, **environ})


def start(shared: SharedKernel, repo: Path, *words: str) -> "subprocess.Popen[str]":
    environ = {**os.environ, **ENVIRON, "CODEKERNEL_USER_DATA": str(shared.user_data)}
    return subprocess.Popen(
        [*CODEKERNEL, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environ,
        cwd=repo,
    )


def histories(user_data: Path) -> list[Any]:
    found = (user_data / "conversations").glob("conversation-*.json")
    return [json.loads(path.read_bytes()) for path in found]


def wait_for_turns(user_data: Path, count: int) -> list[Any]:
    def read_turns() -> list[Any]:
        return [turn for history in histories(user_data) for turn in history["history"]]

    wait_until(lambda: len(read_turns()) == count, "not all turns were saved")
    return read_turns()


def wait_for_no_journal(user_data: Path) -> None:
    """A journal is removed after its history is in place, a moment later."""
    journals = user_data / "conversations" / "unfinished"
    wait_until(lambda: not list(journals.glob("*.jsonl")), "a journal of a turn is left")


def wait_for_no_client(shared: SharedKernel, name: str) -> None:
    def is_gone() -> bool:
        return name not in [each["name"] for each in shared.status()["clients"]]

    wait_until(is_gone, f"{name} is still attached")


def test_an_answer_looks_the_same_with_and_without_the_shared_kernel(
    shared: SharedKernel, repo: Path
) -> None:
    together = run(shared, repo, "ask", QUESTION)
    alone = run(shared, repo, "ask", "--standalone", QUESTION)
    assert (together.returncode, together.stdout) == (0, alone.stdout)
    assert (
        together.stderr
        == alone.stderr.partition("codekernel: another codekernel keeps")[0]
        + (alone.stderr.partition("as it is\n")[2])
    )
    with shared.connect() as kernel:
        assert [each["name"] for each in kernel.request("getRepos")["repoList"]] == [repo.name]
    turns = [turn for history in histories(shared.user_data) for turn in history["history"]]
    assert [turn["outcome"] for turn in turns] == ["done", "done"]


def test_a_conversation_goes_on_and_programs_get_lines(shared: SharedKernel, repo: Path) -> None:
    assert run(shared, repo, "ask", "one?").returncode == 0
    second = run(shared, repo, "ask", "--continue", "--json", "two?")
    kinds = [json.loads(line)["type"] for line in second.stdout.splitlines()]
    assert (kinds[0], kinds[-1]) == ("begin", "done")
    (history,) = histories(shared.user_data)
    assert [turn["query"] for turn in history["history"]] == ["one?", "two?"]


def test_a_model_that_was_added_to_the_settings_is_known_to_the_running_kernel(
    shared: SharedKernel, repo: Path, server: ChatServer
) -> None:
    assert run(shared, repo, "ask", "one?").returncode == 0
    pid = shared.status()["pid"]
    chat_settings(shared.user_data, server.url, model={"name": "another"})
    assert run(shared, repo, "ask", "--model", "another", "two?").returncode == 0
    assert shared.status()["pid"] == pid


def test_commands_at_the_same_time_all_search_by_meaning(
    shared: SharedKernel, repo: Path, server: ChatServer
) -> None:
    # Not a word of it is in the file that answers it.
    query = "hang up a telephone connection"
    (repo / "peer.py").write_text(
        "def disconnect(peer):\n    peer.socket.shutdown()\n", encoding="utf-8"
    )
    chat_settings(shared.user_data, server.url, vectors=True)
    with shared.attach() as front_end:
        front_end.open(repo, 3)
        assert run(shared, repo, "search", "--wait", query).returncode == 0
        commands = [
            start(shared, repo, "search", "--json", "--explain", query),
            start(shared, repo, "ask", "--json", query),
            start(shared, repo, "agent", "--stdio", "--tools", "search", query),
        ]
        server.extend_script(reply_calls(SKIP, ("search", {"query": query})), reply_text("Done."))
        outputs = [each.communicate(timeout=TIMEOUT_SECONDS) for each in commands]
    assert [each.returncode for each in commands] == [0, 0, 0], outputs
    assert not any("words" in errors for _, errors in outputs)
    hits = json.loads(outputs[0][0])
    meant = [hit for hit in hits if hit["filePath"] == "peer.py"]
    assert meant[0]["why"]["meaning"] > 0
    lines = [json.loads(line) for line in outputs[1][0].splitlines()]
    results = [line["content"]["filePath"] for line in lines if line["type"] == "result"]
    assert "peer.py" in results


def test_a_killed_kernel_ends_an_answer_honestly_and_what_was_shown_is_kept(
    shared: SharedKernel, repo: Path, server: ChatServer
) -> None:
    half = threading.Event()
    server._script[:] = [
        [delta("Half an answer."), SetEvent(half), WaitForDisconnect()],
        reply_text("The rest."),
    ]
    asking = start(shared, repo, "ask", QUESTION)
    assert half.wait(TIMEOUT_SECONDS)
    assert asking.stdout
    shown = b""
    while b"Half" not in shown:
        shown += os.read(asking.stdout.fileno(), 100)
    shared.kill()
    rest, errors = asking.communicate(timeout=TIMEOUT_SECONDS)
    assert (asking.returncode, shown.decode() + rest) == (2, "Half an answer.\n")
    assert "What was shown is kept; ask again to go on" in errors
    again = run(shared, repo, "ask", "--continue", "And then?")
    assert (again.returncode, again.stdout) == (0, "The rest.\n")
    (history,) = histories(shared.user_data)
    assert [(turn["answer"], turn["outcome"]) for turn in history["history"]] == [
        ("Half an answer.", "interrupted"),
        ("The rest.", "done"),
    ]


def test_a_killed_question_leaves_no_session_and_no_running_turn(
    shared: SharedKernel, repo: Path, server: ChatServer
) -> None:
    half = threading.Event()
    server._script[:] = [[delta("Half an answer."), SetEvent(half), WaitForDisconnect()]]
    with start(shared, repo, "ask", QUESTION) as command:
        assert half.wait(TIMEOUT_SECONDS)
        assert "ask" in [each["name"] for each in shared.status()["clients"]]
        command.kill()
    wait_for_no_client(shared, "ask")
    assert server.received[-1].hung_up.wait(TIMEOUT_SECONDS)
    (turn,) = wait_for_turns(shared.user_data, 1)
    assert turn["outcome"] == "stopped"
    wait_for_no_journal(shared.user_data)


def test_an_agent_works_on_when_its_command_is_killed(
    shared: SharedKernel, repo: Path, server: ChatServer
) -> None:
    half, go_on = threading.Event(), threading.Event()
    server._script[:] = [
        [delta("Half an "), SetEvent(half), WaitForEvent(go_on), delta("answer."), *end_reply()]
    ]
    with start(shared, repo, "agent", "do it") as command:
        assert half.wait(TIMEOUT_SECONDS)
        command.kill()
    wait_for_no_client(shared, "agent")
    go_on.set()
    (turn,) = wait_for_turns(shared.user_data, 1)
    assert (turn["outcome"], turn["answer"]) == ("done", "Half an answer.")
    wait_for_no_journal(shared.user_data)


@needs_terminal
@pytest.mark.parametrize(
    ("words", "outcome"), [(("ask", QUESTION), "Half an answer."), (("agent", "do it"), "Half")]
)
def test_ctrl_c_stops_the_turn_in_the_kernel_and_keeps_what_was_shown(
    shared: SharedKernel, repo: Path, server: ChatServer, words: tuple[str, ...], outcome: str
) -> None:
    server._script[:] = [[delta("Half an answer. And"), WaitForDisconnect()]]
    with Terminal(shared.user_data, repo, *words, **ENVIRON) as terminal:
        terminal.read_until(lambda text: outcome in text)
        terminal.process.send_signal(signal.SIGINT)
        code, text = terminal.finish()
    assert (code, "Traceback" in text) == (130, False)
    assert server.received[0].hung_up.wait(TIMEOUT_SECONDS)
    (turn,) = wait_for_turns(shared.user_data, 1)
    assert (turn["answer"], turn["outcome"]) == ("Half an answer. And", "stopped")
    wait_for_no_client(shared, words[0])


def test_an_agent_works_is_resumed_and_undone_in_the_kernel(
    shared: SharedKernel, repo: Path, server: ChatServer
) -> None:
    server._script[:] = [
        reply_calls(SKIP, MAKE, used=(30, 4)),
        reply_text("Made."),
        reply_text("Yes."),
    ]
    done = run(shared, repo, "agent", "make it")
    assert (done.returncode, done.stdout) == (0, "Made.\n")
    session = done.stderr.splitlines()[0].removeprefix("codekernel: session ")
    assert 'CREATE("made.txt")' in done.stderr
    again = run(shared, repo, "agent", "-r", session, "sure?")
    assert (again.returncode, again.stdout) == (0, "Yes.\n")
    assert f"session {session} goes on" in again.stderr
    (history,) = histories(shared.user_data)
    assert [turn["query"] for turn in history["history"]] == ["make it", "sure?"]
    undone = run(shared, repo, "agent", "--undo")
    assert (undone.returncode, undone.stdout) == (0, "removed  made.txt\n")
    assert not (repo / "made.txt").exists()
    (history,) = histories(shared.user_data)
    assert history["history"][0]["agent"]["undone"] == [
        {"filePath": "made.txt", "state": "removed"}
    ]


@needs_terminal
@pytest.mark.parametrize(("key", "is_heard"), [("y\n", True), ("n\n", False)])
def test_the_person_at_the_terminal_is_asked_for_a_permission(
    shared: SharedKernel, repo: Path, server: ChatServer, key: str, *, is_heard: bool
) -> None:
    server._script[:] = [reply_calls(SKIP, RUN), reply_text("Ok.")]
    with Terminal(shared.user_data, repo, "agent", "run it", **ENVIRON) as terminal:
        terminal.read_until(lambda text: "Allow it? [y/N]" in text)
        terminal.type(key)
        code, _ = terminal.finish()
    assert code == 0
    results = [each for each in server.received[-1].json["messages"] if each["role"] == "tool"]
    assert ("heard" in results[-1]["content"]) is is_heard


def test_an_agent_whose_kernel_was_killed_can_be_resumed(
    shared: SharedKernel, repo: Path, server: ChatServer
) -> None:
    half = threading.Event()
    server._script[:] = [
        reply_calls(SKIP, MAKE),
        [delta("Half"), SetEvent(half), WaitForDisconnect()],
        reply_text("Whole."),
    ]
    with start(shared, repo, "agent", "make it") as agent:
        assert half.wait(TIMEOUT_SECONDS)
        shared.kill()
        _, errors = agent.communicate(timeout=TIMEOUT_SECONDS)
    assert agent.returncode == 1
    assert "What was shown is kept" in errors
    session = errors.splitlines()[0].removeprefix("codekernel: session ")
    again = run(shared, repo, "agent", "-r", session, "go on")
    assert (again.returncode, again.stdout) == (0, "Whole.\n")
    assert (repo / "made.txt").exists()

"""A real kernel whose disk fills up to the last byte: answers, searches and edits meanwhile."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.agent_client import SKIP, AgentClient, list_tool_results
from support.chat_server import (
    ChatServer,
    SetEvent,
    WaitForEvent,
    delta,
    end_reply,
    reply_calls,
    reply_text,
)
from support.conversation_client import (
    ENVIRON,
    SESSION,
    ConversationClient,
    answer_of,
    chat_settings,
)
from support.index_client import IndexClient
from support.kernel_process import KernelProcess, code_of
from support.small_disk import SmallDisk, read_only, small_disk

DISK_BYTES = 24_000_000
# More than all files that are not there to fill it: whatever databases give back meanwhile, by
# letting go of a log or by tidying up, there is no room for so much.
TOO_MANY_CHARACTERS = 5_000_000

pytestmark = pytest.mark.slow


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk", DISK_BYTES, files=600) as made:
        yield made


@pytest.fixture
def repo(disk: SmallDisk) -> Path:
    """On the same disk as userData, as it mostly is."""
    folder = disk.place / "demo"
    folder.mkdir()
    (folder / "beat.py").write_text("def heartbeat():\n    return 1\n", encoding="utf-8")
    return folder


@pytest.fixture
def user_data(disk: SmallDisk) -> Path:
    folder = disk.place / "userData"
    folder.mkdir()
    return folder


def saved(user_data: Path, number: int) -> list[str]:
    path = user_data / "conversations" / f"conversation-{number}.json"
    if not path.exists():
        return []
    return [turn["answer"] for turn in json.loads(path.read_bytes())["history"]]


def test_a_disk_that_fills_up_costs_no_answer_no_search_and_no_restart(
    disk: SmallDisk, user_data: Path, repo: Path
) -> None:
    event, filled = threading.Event(), threading.Event()
    script = [
        [
            delta("It is "),
            SetEvent(event),
            WaitForEvent(filled),
            delta("`beat.py:1-2`."),
            *end_reply(),
        ],
        reply_text("Second answer."),
        reply_calls(
            SKIP,
            (
                "edit_file",
                {"path": "beat.py", "mode": "append", "content": "x" * TOO_MANY_CHARACTERS},
            ),
        ),
        reply_text("The disk is full."),
    ]
    with ChatServer(script) as server:
        chat_settings(user_data, server.url)
        with KernelProcess(user_data, environ=ENVIRON) as kernel:
            kernel.open(repo, SESSION)
            window, asker = IndexClient(kernel, SESSION), ConversationClient(kernel, user_data)
            window.wait_until_idle()
            callback = asker.ask("heartbeat?", 1)
            assert event.wait(60)
            disk.fill()
            filled.set()
            done = asker.wait_for_reply(callback, "done")["data"]
            assert answer_of(asker.list_replies(callback)) == "It is `beat.py:1-2`."
            assert (done["outcome"], "disk is full" in done["unsaved"]) == ("done", True)
            # The vault has let go of its log, and with it of some room.
            last = asker.ask_and_wait("And now?", 2)[-1]["data"]
            assert "disk is full" in last.get("unsaved", "") or saved(user_data, 2)
            told = window.request("getConversations")["data"]["conversations"]
            assert [each["turns"] for each in told] == [1, 1]
            read = window.request("getConversation", conversationId=2)["data"]
            assert read["history"][0]["answer"] == "Second answer."

            disk.fill()
            assert DISK_BYTES - disk.ballast_bytes < TOO_MANY_CHARACTERS
            replies = AgentClient(asker).run_task("Lengthen it", 3)
            text, is_error = list_tool_results(replies)[-1]
            assert is_error, text
            assert (repo / "beat.py").read_text(encoding="utf-8").startswith("def heartbeat")
            assert "x" * 100 not in (repo / "beat.py").read_text(encoding="utf-8")
            assert [path.name for path in repo.iterdir()] == ["beat.py"]

            assert window.search("heartbeat") == ["beat.py"]
            disk.free()
            (repo / "pulse.py").write_text("def pulse():\n    return 2\n", encoding="utf-8")
            window.wait_until(lambda: "pulse.py" in window.search("pulse"), "the new file")
            window.wait_until(
                lambda: saved(user_data, 3) == ["The disk is full."], "the last answer"
            )
            assert saved(user_data, 1) == ["It is `beat.py:1-2`."]
            assert saved(user_data, 2) == ["Second answer."]
            assert window.status()["trouble"] == ""
            assert kernel.stop() == 0
            assert "Traceback" not in kernel.stderr
            assert len(kernel.stderr) < 20_000


@pytest.mark.parametrize("kind", ["bytes", "names"])
def test_a_kernel_that_starts_on_a_full_disk_opens_searches_answers_and_goes_on(
    disk: SmallDisk, user_data: Path, repo: Path, kind: str
) -> None:
    with ChatServer([reply_text("From memory.")]) as server:
        chat_settings(user_data, server.url)
        with KernelProcess(user_data, environ=ENVIRON) as kernel:
            kernel.open(repo, SESSION)
            IndexClient(kernel, SESSION).wait_until_idle()
            assert kernel.stop() == 0
        (repo / "pulse.py").write_text("def pulse():\n    return 2\n", encoding="utf-8")
        disk.fill() if kind == "bytes" else disk.fill_names()
        with KernelProcess(user_data, environ=ENVIRON) as kernel:
            assert len(kernel.request("getRepos")["data"]["repoList"]) == 1
            opened = kernel.request("openRepo", repoName=repo.name, sessionId=SESSION)
            assert code_of(opened) == "SUCCESS"
            kernel.event("sessionPrepared")
            window, asker = IndexClient(kernel, SESSION), ConversationClient(kernel, user_data)
            assert window.search("heartbeat") == ["beat.py"]
            window.wait_until(lambda: "full" in window.status()["trouble"], "trouble")
            replies = asker.ask_and_wait("heartbeat?", 5)
            assert answer_of(replies) == "From memory."
            assert "full" in replies[-1]["data"]["unsaved"]
            disk.free()
            window.wait_until(lambda: "pulse.py" in window.search("pulse"), "the new file")
            window.wait_until(lambda: saved(user_data, 5) == ["From memory."], "the answer")
            window.wait_until(lambda: window.status()["trouble"] == "", "no trouble")
            assert kernel.stop() == 0


def test_user_data_that_may_not_be_written_is_read_searched_and_said_so(
    tmp_path: Path,
) -> None:
    user_data, repo = tmp_path / "data", tmp_path / "demo"
    user_data.mkdir()
    repo.mkdir()
    (repo / "beat.py").write_text("def heartbeat():\n    return 1\n", encoding="utf-8")
    with ChatServer([reply_text("From memory.")]) as server:
        chat_settings(user_data, server.url)
        with KernelProcess(user_data, environ=ENVIRON) as kernel:
            kernel.open(repo, SESSION)
            IndexClient(kernel, SESSION).wait_until_idle()
            assert kernel.stop() == 0
        with read_only(user_data), KernelProcess(user_data, environ=ENVIRON) as kernel:
            assert len(kernel.request("getRepos")["data"]["repoList"]) == 1
            kernel.request("openRepo", repoName=repo.name, sessionId=SESSION)
            kernel.event("sessionPrepared")
            window = IndexClient(kernel, SESSION)
            assert window.search("heartbeat") == ["beat.py"]
            status = window.status()
            assert status["state"] == "trouble"
            assert "cannot be" in status["trouble"] or "read-only" in status["trouble"]
            replies = ConversationClient(kernel, user_data).ask_and_wait("heartbeat?", 5)
            assert answer_of(replies) == "From memory."
            assert str(user_data) in replies[-1]["data"]["unsaved"]
            refused = kernel.request("setApiKey", name="a", apiKey="b" * 20)
            assert code_of(refused) == "UNKNOW_ERROR"
            assert kernel.stop() == 0

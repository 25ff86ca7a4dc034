"""Clients and kernels of different versions: copies of the package with another version."""

import json
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import codekernel
import pytest
from process.test_shared_kernel_mcp import Agent
from support.chat_server import (
    ChatServer,
    SetEvent,
    WaitForEvent,
    delta,
    end_reply,
    reply_text,
)
from support.conversation_client import (
    ConversationClient,
    answer_of,
    chat_settings,
    kinds,
)
from support.kernel_process import KernelProcess, code_of
from support.polling import wait_until
from support.shared_kernel import (
    ENVIRON,
    SESSION,
    SharedKernel,
    is_running,
    open_and_index,
    run_command,
    search,
)

PATIENCE_SECONDS = 60
PACKAGE = Path(codekernel.__file__).parent
OLDER, NEWER = "0.1.9", "9.0.0"


def copy_package(place: Path, version: str, protocol: str = "1.0") -> dict[str, str]:
    """The environment of a process that runs a copy of the package with another version."""
    copy = place / f"codekernel-{version}" / "kernel" / "codekernel"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy.parents[1] / "models").symlink_to(PACKAGE.parents[1] / "models")
    set_constant(copy / "__init__.py", "__version__", version)
    set_constant(copy / "protocol" / "__init__.py", "PROTOCOL_VERSION", protocol)
    return {**ENVIRON, "PYTHONPATH": str(copy.parent)}


def set_constant(file: Path, name: str, value: str) -> None:
    text, count = re.subn(
        rf'^{name} = ".*"$', f'{name} = "{value}"', file.read_text(), flags=re.MULTILINE
    )
    assert count == 1
    file.write_text(text, encoding="utf-8")


def read_status(user_data: Path, environ: dict[str, str]) -> Any:
    return json.loads(run_command(user_data, "status", "--json", environ=environ).stdout)


def attach(user_data: Path, environ: dict[str, str]) -> KernelProcess:
    return KernelProcess(user_data, environ=environ)


def list_clients(shared: SharedKernel) -> list[str]:
    """All but those that ask for the status, the last of which may not be gone yet."""
    names = [each["name"] for each in shared.status()["clients"]]
    return sorted(name for name in names if name != "test")


def test_an_older_kernel_makes_room_for_a_newer_client_and_its_clients_follow(
    shared: SharedKernel, repo: Path, user_data: Path, tmp_path: Path
) -> None:
    older, newer = copy_package(tmp_path, OLDER), copy_package(tmp_path, NEWER)
    with attach(user_data, older) as first, Agent(user_data, repo, **older) as agent:
        open_and_index(first, repo)
        agent.shake_hands()
        agent.wait_until_indexed(2)
        before = shared.status()
        assert before["kernelVersion"] == OLDER
        with attach(user_data, newer) as second:
            assert code_of(second.request("getRepos")) == "SUCCESS"
            wait_until(lambda: list_clients(shared) == ["mcp", "serve", "serve"])
            assert shared.status()["kernelVersion"] == NEWER
            wait_until(lambda: not is_running(before["pid"]))
            assert search(first) == "session.py"
            assert "session.py" in agent.search(3)
            kinds_seen = [line["message"]["type"] for line in first.lines if not line["isReply"]]
            assert kinds_seen.count("sessionPrepared") == 1
            assert not {"kernelStopping", "sessionCrashed", "kernelServerCrashed"} & {*kinds_seen}
            # The newer kernel has the index to itself.
            (repo / "later.py").write_text("def frobnicate(): pass\n", encoding="utf-8")
            wait_until(
                lambda: first.request("search", session=SESSION, query="frobnicate")["data"][
                    "results"
                ]
            )


def test_a_running_answer_is_finished_by_the_older_kernel(
    shared: SharedKernel, repo: Path, user_data: Path, tmp_path: Path
) -> None:
    older, newer = copy_package(tmp_path, OLDER), copy_package(tmp_path, NEWER)
    may_go_on = threading.Event()

    def answer_slowly(_: object) -> Iterator[Any]:
        first, *rest = reply_text("First piece. ", "The rest.")
        yield first
        may_go_on.wait(PATIENCE_SECONDS)
        yield from rest

    with ChatServer([answer_slowly, lambda _: reply_text("Again.")]) as server:
        chat_settings(user_data, server.url)
        with attach(user_data, older) as first:
            open_and_index(first, repo)
            pid = shared.status()["pid"]
            asker = ConversationClient(first, user_data)
            callback = asker.ask("How does a session close?")
            asker.wait_for_reply(callback, "answer")
            with attach(user_data, newer) as second:
                second.request("openRepo", repoName=repo.name, sessionId=SESSION)
                assert search(second) == search(first) == "session.py"
                assert shared.status()["kernelVersion"] == NEWER
                assert is_running(pid)
                may_go_on.set()
                asker.wait_for_reply(callback, "done")
                replies = asker.list_replies(callback)
                assert "UNKNOW_ERROR" not in kinds(replies), str(replies[-3:])
                assert answer_of(replies) == "First piece. The rest."
                wait_until(lambda: not is_running(pid))
                again = asker.ask_and_wait("And then?")
                assert answer_of(again) == "Again.", str(again)
                turns = [turn["answer"] for turn in asker.read_history()["history"]]
                assert turns == ["First piece. The rest.", "Again."]


def test_an_older_client_uses_a_newer_kernel(
    shared: SharedKernel, repo: Path, user_data: Path, tmp_path: Path
) -> None:
    older, newer = copy_package(tmp_path, OLDER), copy_package(tmp_path, NEWER)
    with attach(user_data, newer) as first, attach(user_data, older) as second:
        open_and_index(first, repo)
        pid = shared.status()["pid"]
        second.request("openRepo", repoName=repo.name, sessionId=SESSION)
        assert search(second) == "session.py"
        found = run_command(
            user_data, "search", "close the session", "--repo", str(repo), environ=older
        )
        assert (found.returncode, found.stderr) == (0, "")
        assert shared.status()["pid"] == pid


def test_a_search_of_a_newer_version_is_answered_by_a_newer_kernel(
    shared: SharedKernel, repo: Path, user_data: Path, tmp_path: Path
) -> None:
    older, newer = copy_package(tmp_path, OLDER), copy_package(tmp_path, NEWER)
    words = ("search", "close the session", "--files", "--repo", str(repo))
    assert run_command(user_data, *words, environ=older).stdout == f"{repo.name}/session.py\n"
    assert read_status(user_data, newer)["kernelVersion"] == OLDER  # asking changes nothing
    found = run_command(user_data, *words, environ=newer)
    assert (found.stdout, found.stderr) == (f"{repo.name}/session.py\n", "")
    assert read_status(user_data, older)["kernelVersion"] == NEWER


def test_a_kernel_of_another_protocol_takes_over_and_the_older_one_keeps_its_clients(
    shared: SharedKernel, repo: Path, user_data: Path, tmp_path: Path
) -> None:
    older, newer = copy_package(tmp_path, OLDER), copy_package(tmp_path, NEWER, "2.0")
    with attach(user_data, older) as first:
        open_and_index(first, repo)
        pid = read_status(user_data, newer)["pid"]
        with attach(user_data, newer) as second:
            second.request("openRepo", repoName=repo.name, sessionId=SESSION)
            assert search(second) == search(first) == "session.py"
            assert read_status(user_data, older)["protocolVersion"] == "2.0"
            assert is_running(pid)
            assert first.stop() == 0
            wait_until(lambda: not is_running(pid))
            assert search(second) == "session.py"


@pytest.mark.parametrize("command", ["serve", "mcp", "search"])
def test_a_client_too_old_for_the_kernel_is_told_what_to_do(
    shared: SharedKernel, repo: Path, user_data: Path, tmp_path: Path, command: str
) -> None:
    older, newer = copy_package(tmp_path, OLDER), copy_package(tmp_path, NEWER, "2.0")
    with attach(user_data, newer) as first:
        assert code_of(first.request("getRepos")) == "SUCCESS"
        if command == "serve":
            with attach(user_data, older) as second:
                second.post("getRepos")
                told = second.event("kernelServerCrashed")["message"]["error"]
                assert second.exit_code() == 1
        elif command == "mcp":
            with Agent(user_data, repo, **older) as agent:
                agent.send("initialize", 1)
                told = agent.process.stdout.read().decode() if agent.process.stdout else ""
        else:
            told = run_command(user_data, "search", "x", "--repo", str(repo), environ=older).stderr
        assert f"codekernel {NEWER}" in told
        assert "--standalone" in told
        # Also that one can end it, once nobody would start another.
        assert first.stop() == 0
        assert run_command(user_data, "stop", environ=older).returncode == 0


def test_a_retired_kernel_without_a_successor_goes_on(
    shared: SharedKernel, repo: Path, user_data: Path, tmp_path: Path
) -> None:
    older = copy_package(tmp_path, OLDER)
    with attach(user_data, older) as first:
        open_and_index(first, repo)
        pid = shared.status()["pid"]
        program = (
            "import sys; from pathlib import Path;"
            "from codekernel.client.launcher import connect_to_kernel;"
            "from codekernel.client.relay import make_attach_line;"
            "pipe = connect_to_kernel(Path(sys.argv[1]), may_start=False);"
            "pipe.write(make_attach_line('dying', clientVersion='9.0.0'));"
            "print(pipe.read(10_000).decode())"
        )
        told = subprocess.run(
            [sys.executable, "-c", program, str(user_data)],
            capture_output=True,
            text=True,
            check=True,
        )
        assert json.loads(told.stdout)["message"]["retired"] is True
        assert read_status(user_data, older) == {"running": False}
        assert search(first) == "session.py"
        assert is_running(pid)
        assert first.stop() == 0
        wait_until(lambda: not is_running(pid))


def test_an_older_kernel_finishes_its_agent_and_leaves_what_waits_to_the_newer_one(
    shared: SharedKernel, repo: Path, user_data: Path, tmp_path: Path
) -> None:
    older, newer = copy_package(tmp_path, OLDER), copy_package(tmp_path, NEWER)
    begun, go_on = threading.Event(), threading.Event()
    actor = {"device": "cli", "name": "ann"}
    first_reply = [
        delta("Of the "),
        SetEvent(begun),
        WaitForEvent(go_on),
        delta("older."),
        *end_reply(),
    ]
    with ChatServer([first_reply, reply_text("Of the newer.")]) as server:
        chat_settings(user_data, server.url)
        with attach(user_data, older) as first:
            first.post("followAgentSessions")  # an open stream keeps no client
            started = first.request("startAgentSession", folder=str(repo), actor=actor)["data"]
            for text in ("one", "two"):
                first.request("sendAgentMessage", id=started["id"], text=text, actor=actor)
            assert begun.wait(PATIENCE_SECONDS)
            before = shared.status()["pid"]
            with attach(user_data, newer) as second:
                assert code_of(second.request("getRepos")) == "SUCCESS"
                assert shared.status()["kernelVersion"] == NEWER
                refused = second.request("getAgentSessions")
                assert "still at work" in refused["status"]["message"]
                go_on.set()
                wait_until(lambda: not is_running(before))

                def read_texts() -> list[str]:
                    page = second.request("readAgentMessages", id=started["id"])
                    messages = page.get("data", {}).get("messages", [])
                    return [each["message"]["content"][0]["text"] for each in messages]

                wait_until(lambda: read_texts() == ["one", "two", "Of the older.", "Of the newer."])

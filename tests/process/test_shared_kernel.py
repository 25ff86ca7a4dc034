"""One kernel per userData: front ends share it, end alone, and survive its death."""

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from codekernel.client.launcher import ALREADY_RUNNING_EXIT_CODE
from codekernel.errors import KernelNotRunning, RefusedByKernel
from codekernel.transport.local_endpoint import LocalListener, choose_endpoint_path
from support.chat_server import ChatServer, reply_text
from support.conversation_client import (
    ConversationClient,
    answer_of,
    chat_settings,
    kinds,
)
from support.kernel_process import KernelProcess, code_of, reason_of
from support.polling import wait_until
from support.shared_kernel import ENVIRON, SharedKernel, is_running

SESSION = 7
PATIENCE_SECONDS = 60


def search(front_end: KernelProcess, query: str = "close the session") -> list[str]:
    reply = front_end.request("search", session=SESSION, query=query)
    assert code_of(reply) == "SUCCESS", reply
    return [result["filePath"] for result in reply["data"]["results"]]


def open_and_index(front_end: KernelProcess, repo: Path) -> None:
    front_end.open(repo, SESSION)
    asker = ConversationClient(front_end, front_end.user_data)
    front_end.wait_for(lambda _: asker.is_indexed(repo), "the index")


def test_two_front_ends_share_a_kernel_and_use_the_same_session_ids(
    shared: SharedKernel, repo: Path
) -> None:
    with shared.attach() as first, shared.attach() as second:
        open_and_index(first, repo)
        second.request("openRepo", repoName=repo.name, sessionId=SESSION)
        assert search(first)[0] == search(second)[0] == "session.py"
        status = shared.status()
        front_ends = [each for each in status["clients"] if each["name"] == "serve"]
        assert {each["pid"] for each in front_ends} == {first.process.pid, second.process.pid}
        assert [each["repos"] for each in front_ends] == [[repo.name], [repo.name]]
        (index,) = status["indexes"]
        assert (index["repoName"], index["files"]) == (repo.name, 2)


def test_status_names_the_index_that_stays_open_for_the_next_client(
    shared: SharedKernel, repo: Path
) -> None:
    with shared.attach() as front_end:
        open_and_index(front_end, repo)
        assert front_end.stop() == 0
        wait_until(lambda: not any(each["inUse"] for each in shared.status()["indexes"]))
        (index,) = shared.status()["indexes"]
        assert (index["repoName"], index["files"], index["state"]) == (repo.name, 2, "idle")


def test_what_it_does_is_in_its_log(shared: SharedKernel, repo: Path, user_data: Path) -> None:
    with shared.attach() as front_end:
        open_and_index(front_end, repo)
        log = (user_data / "logs" / "kernel.log").read_text(encoding="utf-8")
    assert f"INFO session:{SESSION}" in log
    assert f"opened the workspace of {repo.name}" in log


def test_a_front_end_that_stops_ends_its_own_sessions_and_nobody_elses(
    shared: SharedKernel, repo: Path
) -> None:
    with shared.attach() as staying, shared.attach() as leaving, shared.attach() as closing:
        open_and_index(staying, repo)
        leaving.request("openRepo", repoName=repo.name, sessionId=SESSION)
        assert leaving.stop() == 0
        closing.end_input()
        assert closing.exit_code() == 0
        assert search(staying)[0] == "session.py"
        assert [each["name"] for each in shared.status()["clients"]] == ["serve", "test"]


def test_a_killed_front_end_leaves_no_session_behind(shared: SharedKernel, repo: Path) -> None:
    with shared.attach() as staying:
        open_and_index(staying, repo)
        with shared.attach() as killed:
            killed.request("openRepo", repoName=repo.name, sessionId=SESSION)
            killed.process.kill()
            killed.exit_code()
        wait_until(lambda: len(shared.status()["clients"]) == 2)
        (index,) = shared.status()["indexes"]
        assert index["inUse"]
        assert search(staying)[0] == "session.py"


def test_nobody_notices_that_the_kernel_was_killed(shared: SharedKernel, repo: Path) -> None:
    with shared.attach() as first, shared.attach() as second:
        open_and_index(first, repo)
        second.request("openRepo", repoName=repo.name, sessionId=SESSION)
        for _ in range(3):
            pid = shared.status()["pid"]
            os.kill(pid, signal.SIGKILL)
            assert search(first)[0] == search(second)[0] == "session.py"
            assert shared.status()["pid"] != pid
        prepared = [line for line in first.lines if line["message"]["type"] == "sessionPrepared"]
        assert len(prepared) == 1
        assert first.stop() == 0


def test_requests_that_wait_while_the_kernel_dies_are_answered_by_the_next(
    shared: SharedKernel, repo: Path
) -> None:
    with shared.attach() as front_end:
        open_and_index(front_end, repo)
        pid = shared.status()["pid"]
        os.kill(pid, signal.SIGSTOP)
        asked = [
            front_end.post("search", session=SESSION, query="close"),
            front_end.post("getRepos"),
            front_end.post("createRepo", repoName="other", path=str(repo)),
        ]
        front_end.write(b'{"sessionId":-1,"toMain":true,')  # half a line
        os.kill(pid, signal.SIGKILL)
        front_end.write(b'"callbackId":5,"isReply":false,"message":{"type":"getRepos"}}\n')
        found, repos, created = (front_end.reply_to(each) for each in asked)
        assert code_of(found) == code_of(repos) == code_of(front_end.reply_to(5)) == "SUCCESS"
        # It may have been done: the front end is told, and nothing is done twice.
        assert "ended unexpectedly" in reason_of(created)


def test_an_answer_that_streamed_ends_with_the_reason_and_is_kept(
    shared: SharedKernel, repo: Path, user_data: Path
) -> None:
    may_go_on = threading.Event()

    def answer_slowly(_: object) -> Iterator[Any]:
        yield from reply_text("First piece. ")[:-1]
        may_go_on.wait(PATIENCE_SECONDS)

    with ChatServer([answer_slowly, lambda _: reply_text("The rest.")]) as server:
        chat_settings(user_data, server.url)
        with shared.attach() as front_end:
            open_and_index(front_end, repo)
            asker = ConversationClient(front_end, user_data)
            callback = asker.ask("How does a session close?")
            asker.wait_for_reply(callback, "answer")
            shared.kill()
            asker.wait_for_reply(callback, "done")
            may_go_on.set()
            replies = asker.list_replies(callback)
            assert kinds(replies)[-2:] == ["UNKNOW_ERROR", "done"]
            shown = answer_of(replies)
            second = asker.ask_and_wait("And then?")
            assert answer_of(second) == "The rest.", second
            kept = [turn["answer"] for turn in asker.read_history()["history"]]
            assert kept == [shown, "The rest."]


def test_what_a_dying_kernel_never_read_is_asked_of_the_next(
    shared: SharedKernel, repo: Path, user_data: Path
) -> None:
    # As after kill -9: connections still wait in the queue of a process that reads no more.
    dying = LocalListener(choose_endpoint_path(user_data))

    def die() -> None:
        connection = dying.accept()
        assert connection
        received = b""
        while b"createRepo" not in received:
            received += connection.read(4096)
        dying.close()
        connection.close()

    death = threading.Thread(target=die)
    death.start()
    with shared.attach() as front_end:
        assert (
            code_of(front_end.request("createRepo", repoName="demo", path=str(repo))) == "SUCCESS"
        )
    death.join(PATIENCE_SECONDS)


def test_a_repository_deleted_by_one_front_end_is_gone_for_the_other(
    shared: SharedKernel, repo: Path
) -> None:
    with shared.attach() as first, shared.attach() as second:
        open_and_index(first, repo)
        second.request("openRepo", repoName=repo.name, sessionId=SESSION)
        second.event("sessionPrepared")
        assert code_of(first.request("deleteRepo", repoName=repo.name)) == "SUCCESS"
        assert "deleted" in second.event("sessionCrashed")["message"]["error"]
        assert not [line for line in first.lines if line["message"]["type"] == "sessionCrashed"]


def test_a_command_opens_a_folder_that_nobody_registered(
    shared: SharedKernel, repo: Path, tmp_path: Path
) -> None:
    twin = tmp_path / "elsewhere" / repo.name
    twin.mkdir(parents=True)
    with shared.connect(may_start=True) as kernel:
        opened = kernel.request("openFolder", {"path": str(repo), "sessionId": 1})
        again = kernel.request("openFolder", {"path": str(repo), "sessionId": 2})
        other = kernel.request("openFolder", {"path": str(twin), "sessionId": 3})
        assert opened["repoName"] == again["repoName"] == repo.name
        assert other["repoName"] == f"{repo.name}-2"
        with pytest.raises(RefusedByKernel, match="no folder"):
            kernel.request("openFolder", {"path": str(tmp_path / "gone"), "sessionId": 4})
        with pytest.raises(RefusedByKernel, match="must be absolute"):
            kernel.request("openFolder", {"path": f"{repo}\0", "sessionId": 4})
        assert [each["path"] for each in kernel.request("getRepos")["repoList"]] == [
            str(repo),
            str(twin),
        ]


def test_who_watches_hears_of_repositories_that_others_add_and_delete(
    shared: SharedKernel, repo: Path
) -> None:
    def is_news(line: Any) -> bool:
        return not line["isReply"] and line["message"]["type"] == "reposChanged"

    with shared.attach() as watching, shared.attach() as other:
        assert code_of(watching.request("watchRepos")) == "SUCCESS"
        with shared.connect() as terminal:
            terminal.request("openFolder", {"path": str(repo), "sessionId": 1})
        watching.wait_for(is_news, "reposChanged")
        seen = len(watching.lines)
        assert code_of(other.request("deleteRepo", repoName=repo.name)) == "SUCCESS"
        watching.wait_for(is_news, "reposChanged", since=seen)
        seen = len(watching.lines)
        shared.kill()
        watching.wait_for(is_news, "reposChanged", since=seen)  # of the next kernel
        for each in (watching, other):  # attached to it, by now
            assert each.request("getRepos")["data"]["repoList"] == []
        seen = len(watching.lines)
        other.request("createRepo", repoName=repo.name, path=str(repo))
        watching.wait_for(is_news, "reposChanged", since=seen)
        assert not any(is_news(line) for line in other.lines)


def test_stop_ends_the_kernel_for_everybody(shared: SharedKernel) -> None:
    with shared.connect(may_start=True) as kernel:
        pid = kernel.request("getKernelStatus")["pid"]
        kernel.request("stopKernel")
        wait_until(lambda: not is_running(pid))
    with pytest.raises(KernelNotRunning):
        shared.connect()


def test_many_kernels_started_at_once_are_one(shared: SharedKernel, user_data: Path) -> None:
    command = [sys.executable, "-m", "codekernel", "kernel", "--user-data", str(user_data)]
    started = [subprocess.Popen(command, env={**os.environ, **ENVIRON}) for _ in range(5)]
    with shared.connect(may_start=True) as kernel:
        pid = kernel.request("getKernelStatus")["pid"]
        for each in started:
            if each.pid != pid:
                assert each.wait(PATIENCE_SECONDS) == ALREADY_RUNNING_EXIT_CODE
    shared.kill()
    for each in started:
        each.wait(PATIENCE_SECONDS)


def test_a_stale_socket_is_replaced(shared: SharedKernel, user_data: Path) -> None:
    path = choose_endpoint_path(user_data)
    path.unlink(missing_ok=True)  # a long path is shared elsewhere, with earlier runs
    stale = socket.socket(socket.AF_UNIX)
    stale.bind(str(path))
    stale.close()
    with shared.connect(may_start=True) as kernel:
        assert kernel.request("getKernelStatus")["userData"] == str(user_data)


@pytest.mark.parametrize(
    "noise", [b"", b"garbage\n", b"{}\n", b'{"half', b'{"a":' * 1000 + b"\n", b"\0" * 100_000]
)
def test_connections_that_are_no_clients_disturb_nobody(
    shared: SharedKernel, user_data: Path, noise: bytes
) -> None:
    with shared.connect(may_start=True) as kernel:
        kernel.request("getKernelStatus")
        strangers = [socket.socket(socket.AF_UNIX) for _ in range(20)]
        for stranger in strangers:
            stranger.connect(str(choose_endpoint_path(user_data)))
            stranger.sendall(noise)
        assert kernel.request("getRepos") == {"repoList": []}
        for stranger in strangers:
            stranger.close()
        assert [each["name"] for each in kernel.request("getKernelStatus")["clients"]] == ["test"]

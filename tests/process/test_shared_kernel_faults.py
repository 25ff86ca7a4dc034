"""What goes wrong around a shared kernel: the right error, and nobody else is disturbed."""

import json
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from codekernel.client.launcher import ALREADY_RUNNING_EXIT_CODE
from codekernel.client.relay import make_attach_line
from codekernel.errors import KernelUnavailable
from codekernel.runtime.endpoint import MAX_CLIENTS
from codekernel.transport.local_endpoint import choose_endpoint_path
from support.conversation_client import chat_settings, write_sources
from support.effort import choose_tries
from support.kernel_process import KernelProcess, code_of, reason_of
from support.polling import pause, wait_until
from support.shared_kernel import (
    ENVIRON,
    SESSION,
    SharedKernel,
    is_running,
    open_and_index,
    run_command,
    search,
)
from support.small_disk import read_only, small_disk

PATIENCE_SECONDS = 60
# Longer than any limit that a pause could exceed by mistake: two retries of a launcher.
PAUSE_SECONDS = 3.0


def find_kernel(shared: SharedKernel) -> int | None:
    try:
        return int(shared.status()["pid"])
    except KernelUnavailable:
        return None


def has_room(shared: SharedKernel) -> bool:
    try:
        with shared.connect() as kernel:
            return bool(kernel.request("getRepos")["repoList"])
    except KernelUnavailable:
        return False


class RawClient:
    """A connection that sends what a client would, or something else."""

    def __init__(self, user_data: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(choose_endpoint_path(user_data)))
        self.socket.settimeout(PATIENCE_SECONDS)

    def attach(self) -> None:
        self.socket.sendall(make_attach_line("raw"))

    def read_line(self) -> Any:
        line = b""
        while not line.endswith(b"\n"):
            piece = self.socket.recv(1)
            if not piece:
                return None
            line += piece
        return json.loads(line)


def test_a_thousand_clients_at_once_are_served_or_refused_and_there_is_room_again(
    shared: SharedKernel, repo: Path, user_data: Path
) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    with shared.attach() as front_end, ExitStack() as stack:
        open_and_index(front_end, repo)
        pid = shared.status()["pid"]
        clients = [RawClient(user_data) for _ in range(1000)]
        for client in clients:
            stack.callback(client.socket.close)
            try:
                client.attach()
            except OSError:
                continue  # it was refused before
        answers = [client.read_line() for client in clients]
        served = [each for each in answers if each["isReply"]]
        refused = {each["message"]["reason"] for each in answers if not each["isReply"]}
        assert len(served) == MAX_CLIENTS - 1  # and the front end
        assert refused == {f"the kernel has {MAX_CLIENTS} clients; close some of them"}
        assert search(front_end) == "session.py"
        assert shared.status()["pid"] == pid  # whoever asks for the status is let in
        with shared.connect() as late, pytest.raises(KernelUnavailable, match="close some of them"):
            late.request("getRepos")
        stack.close()
        wait_until(lambda: len(shared.status()["clients"]) == 2)
        wait_until(lambda: has_room(shared))
        assert shared.status()["pid"] == pid


def test_a_client_that_never_reads_holds_up_nobody(
    shared: SharedKernel, repo: Path, user_data: Path
) -> None:
    with shared.attach() as front_end, ExitStack() as stack:
        open_and_index(front_end, repo)
        deaf = RawClient(user_data)
        stack.callback(deaf.socket.close)
        deaf.attach()
        envelope = {"sessionId": -1, "toMain": True, "callbackId": 1, "isReply": False}
        message = {"type": "getRepos", "padding": "x" * 1_000_000}
        line = json.dumps({**envelope, "message": message}).encode() + b"\n"
        for _ in range(60):  # the replies are three times what a client may leave unread
            deaf.socket.sendall(line)
        others = [stack.enter_context(shared.connect()) for _ in range(20)]
        found: list[str] = []

        def search_often(number: int) -> None:
            kernel = others[number]
            kernel.request("openFolder", {"path": str(repo), "sessionId": 1})
            for _ in range(5):
                reply = kernel.request("search", {"query": "close the session"}, 1)
                found.append(reply["results"][0]["filePath"])

        searching = [threading.Thread(target=search_often, args=(n,)) for n in range(20)]
        for thread in searching:
            thread.start()
        for thread in searching:
            thread.join(PATIENCE_SECONDS)
        assert found == ["session.py"] * 100
        deaf.socket.close()
        wait_until(lambda: "raw" not in [each["name"] for each in shared.status()["clients"]])
        assert search(front_end) == "session.py"


@pytest.mark.parametrize("who", ["kernel", "client"])
def test_a_pause_disconnects_nobody_and_loses_nothing(
    shared: SharedKernel, repo: Path, who: str
) -> None:
    with shared.attach() as front_end, shared.attach() as other:
        open_and_index(front_end, repo)
        pid = shared.status()["pid"]
        paused = pid if who == "kernel" else front_end.process.pid
        os.kill(paused, signal.SIGSTOP)
        asked = [front_end.post("search", session=SESSION, query="close") for _ in range(20)]
        if who == "client":
            assert code_of(other.request("getRepos")) == "SUCCESS"
        pause(PAUSE_SECONDS)
        os.kill(paused, signal.SIGCONT)
        assert {code_of(front_end.reply_to(each)) for each in asked} == {"SUCCESS"}
        assert code_of(other.request("getRepos")) == "SUCCESS"
        assert shared.status()["pid"] == pid
        # Who asked for the status is a client, too, for a moment longer than its answer.
        wait_until(lambda: len(shared.status()["clients"]) == 3)


def test_two_kernels_started_in_the_same_moment_are_one(
    shared: SharedKernel, user_data: Path
) -> None:
    command = [sys.executable, "-m", "codekernel", "kernel", "--user-data", str(user_data)]
    for _ in range(choose_tries(10, full=50)):
        pair = [subprocess.Popen(command, env={**os.environ, **ENVIRON}) for _ in range(2)]
        wait_until(lambda: find_kernel(shared))
        pid = find_kernel(shared)
        (loser,) = [each for each in pair if each.pid != pid]
        assert loser.wait(PATIENCE_SECONDS) == ALREADY_RUNNING_EXIT_CODE
        assert shared.status()["pid"] == pid
        shared.kill()
        for each in pair:
            each.wait(PATIENCE_SECONDS)


def test_a_stale_lock_and_a_stale_socket_are_taken_over(
    shared: SharedKernel, user_data: Path
) -> None:
    path = choose_endpoint_path(user_data)
    path.with_suffix(".lock").write_text("4711", encoding="utf-8")
    path.unlink(missing_ok=True)  # a long path is shared elsewhere, with earlier runs
    stale = socket.socket(socket.AF_UNIX)
    stale.bind(str(path))
    stale.close()
    with shared.connect(may_start=True) as kernel:
        assert kernel.request("getRepos") == {"repoList": []}


@pytest.mark.parametrize("name", ["short", "long" * 30])
def test_a_path_too_long_for_a_socket_is_shared_elsewhere(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    write_sources(repo)
    user_data = tmp_path / ("long" * 20) / ("longer" * 10)
    user_data.mkdir(parents=True)
    chat_settings(user_data, "http://127.0.0.1:9/v1")
    with tempfile.TemporaryDirectory(prefix="r", dir="/tmp") as place:
        runtime = Path(place, name)
        runtime.mkdir()
        moved = {"XDG_RUNTIME_DIR": str(runtime), "TMPDIR": place}
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
        monkeypatch.setattr(tempfile, "tempdir", place)
        with (
            SharedKernel(user_data) as shared,
            KernelProcess(user_data, environ={**ENVIRON, **moved}) as first,
            KernelProcess(user_data, environ={**ENVIRON, **moved}) as second,
        ):
            open_and_index(first, repo)
            second.request("openRepo", repoName=repo.name, sessionId=SESSION)
            assert search(first) == search(second) == "session.py"
            wait_until(lambda: len(shared.status()["clients"]) == 3)
            folder = choose_endpoint_path(user_data).parent
            elsewhere = Path(place, f"codekernel-{os.geteuid()}")
            assert folder == (runtime / "codekernel" if name == "short" else elsewhere)
            assert first.stop() == second.stop() == 0
            assert run_command(user_data, "stop", environ=ENVIRON | moved).returncode == 0


@pytest.mark.parametrize("home", ["full", "read-only"])
def test_a_home_that_cannot_be_written_has_a_kernel_all_the_same(
    repo: Path, tmp_path: Path, home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = tmp_path / "runtime"
    runtime.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    environ = {**ENVIRON, "XDG_RUNTIME_DIR": str(runtime)}
    place = tmp_path / "home"
    with ExitStack() as stack:
        if home == "full":
            disk = stack.enter_context(small_disk(place, 16 * 1024, files=5))
            disk.fill()
            disk.fill_names()
        else:
            place.mkdir()
            stack.enter_context(read_only(place))
        front_end = stack.enter_context(KernelProcess(place, environ=environ))
        answer = front_end.request("getRepos")
        # Without a vault there is no list, and the front end learns why.
        assert code_of(answer) == "UNKNOW_ERROR"
        assert ("the disk is full" if home == "full" else "read-only disk") in reason_of(answer)
        refused = front_end.request("createRepo", repoName=repo.name, path=str(repo))
        assert code_of(refused) == "UNKNOW_ERROR"
        assert "Traceback" not in front_end.stderr
        assert front_end.stop() == 0
        environ = {**ENVIRON, "XDG_RUNTIME_DIR": str(runtime)}
        status = run_command(place, "status", "--json", environ=environ)
        if status.returncode == 0:
            pid = json.loads(status.stdout)["pid"]
            stopped = run_command(place, "stop", environ=environ)
            assert stopped.returncode == 0, stopped
            wait_until(lambda: not is_running(pid))

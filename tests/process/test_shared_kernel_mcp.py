"""``codekernel mcp`` beside a shared kernel: a relay that survives the death of the kernel."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

import pytest
from support.chat_server import ChatServer, reply_text
from support.conversation_client import chat_settings, write_sources
from support.kernel_process import bare_environment
from support.polling import wait_until
from support.shared_kernel import ENVIRON, SharedKernel, block_endpoint

CLIENT_INFO = {"name": "test", "version": "1"}
QUERY = "how is a session closed"
SEARCH = {"name": "search", "arguments": {"query": QUERY}}
PATIENCE_SECONDS = 60


class Agent:
    """An agent with ``codekernel mcp`` as its server."""

    def __init__(self, user_data: Path, repo: Path, *words: str, **environ: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "codekernel", "mcp", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**bare_environment(user_data), **ENVIRON, **environ},
            cwd=repo,
        )
        self.seen: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self.process:  # waits, and closes the pipes
            self.process.kill()

    def write(self, content: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(content)
        self.process.stdin.flush()

    def send(self, method: str, number: int | None = None, **params: Any) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        self.write(json.dumps(message | ({} if number is None else {"id": number})).encode())
        self.write(b"\n")

    def receive(self, number: int) -> dict[str, Any]:
        """The answer to a request; each line must be of the protocol."""
        assert self.process.stdout
        for line in self.process.stdout:
            message: dict[str, Any] = json.loads(line)
            assert message["jsonrpc"] == "2.0"
            self.seen.append(message)
            if message.get("id") == number:
                return message
        raise AssertionError(f"no answer to {number}")

    def shake_hands(self) -> None:
        self.send(
            "initialize",
            1,
            protocolVersion="2025-06-18",
            capabilities={},
            clientInfo=CLIENT_INFO,
        )
        assert self.receive(1)["result"]["serverInfo"]["name"] == "codekernel"
        self.send("notifications/initialized")

    def call(self, number: int, name: str, /, **arguments: Any) -> str:
        self.send("tools/call", number, name=name, arguments=arguments)
        return text_of(self.receive(number))

    def search(self, number: int) -> str:
        return self.call(number, "search", query=QUERY)

    def wait_until_indexed(self, number: int) -> None:
        assert "State: idle" in self.call(number, "index_status", wait=True)


def text_of(message: dict[str, Any]) -> str:
    """The answer without the remark that an index just opened is being brought up to date."""
    text: str = message["result"]["content"][0]["text"]
    return text.partition("\n\n[The index is being brought")[0]


def list_clients(shared: SharedKernel) -> list[tuple[str, int, list[str]]]:
    clients = shared.status()["clients"]
    return [(each["name"], each["pid"], each["repos"]) for each in clients if each["name"] == "mcp"]


def test_agents_share_the_kernel_and_its_index(
    shared: SharedKernel, repo: Path, user_data: Path
) -> None:
    with Agent(user_data, repo) as first, Agent(user_data, repo) as second:
        first.shake_hands()
        first.wait_until_indexed(2)
        second.shake_hands()
        answers = [first.search(3), second.search(3)]
        assert answers[0] == answers[1]
        assert "session.py" in answers[0]
        assert "by words" not in answers[0]
        assert "session.py" in first.call(4, "symbols", name="close")
        assert "def " in second.call(4, "read", path="session.py")
        status = shared.status()
        assert sorted(list_clients(shared)) == sorted(
            ("mcp", each.process.pid, [repo.name]) for each in (first, second)
        )
        assert [each["repoName"] for each in status["indexes"]] == [repo.name]


def test_an_agent_that_ends_or_is_killed_leaves_nothing_behind(
    shared: SharedKernel, repo: Path, user_data: Path
) -> None:
    with shared.connect(may_start=True) as kernel:
        pid = kernel.request("getKernelStatus")["pid"]
        with Agent(user_data, repo) as warming:
            warming.shake_hands()
            warming.wait_until_indexed(2)
            files, threads = count_files(pid), count_threads(pid)
            for number in range(3):
                with Agent(user_data, repo) as agent:
                    agent.shake_hands()
                    agent.search(2)
                    if number:
                        agent.process.kill()
                    else:
                        assert agent.process.stdin
                        agent.process.stdin.close()
                        assert agent.process.wait(PATIENCE_SECONDS) == 0
            wait_until(lambda: len(list_clients(shared)) == 1)
            wait_until(lambda: count_files(pid) <= files)
            # One more closes the workspace should nobody use it for a while.
            wait_until(lambda: count_threads(pid) <= threads + 1)
        wait_until(lambda: not list_clients(shared))
        wait_until(lambda: not any(each["inUse"] for each in shared.status()["indexes"]))


def test_an_agent_does_not_notice_that_the_kernel_was_killed_between_calls(
    shared: SharedKernel, repo: Path, user_data: Path
) -> None:
    with Agent(user_data, repo) as agent:
        agent.shake_hands()
        agent.wait_until_indexed(2)
        expected = agent.search(3)
        for number in range(4, 7):
            pid = shared.status()["pid"]
            os.kill(pid, signal.SIGKILL)
            assert agent.search(number) == expected
            assert shared.status()["pid"] != pid
        assert [each for each in agent.seen if each.get("id") == 1] == agent.seen[:1]
        assert agent.process.poll() is None


def test_calls_that_wait_while_the_kernel_dies_are_answered_once_by_the_next(
    shared: SharedKernel, repo: Path, user_data: Path
) -> None:
    with Agent(user_data, repo) as agent:
        agent.shake_hands()
        agent.wait_until_indexed(2)
        expected = agent.search(3)
        pid = shared.status()["pid"]
        os.kill(pid, signal.SIGSTOP)
        agent.send("tools/call", 4, **SEARCH)
        agent.send("tools/call", 5, **SEARCH)
        agent.send("notifications/cancelled", requestId=5)
        agent.send("notifications/cancelled", requestId=[4])
        agent.write(b'{"jsonrpc":"2.0","id":6,')  # half a line
        os.kill(pid, signal.SIGKILL)
        agent.write(b'"method":"tools/list"}\n')
        agent.send("tools/call", 7, **SEARCH)
        assert {tool["name"] for tool in agent.receive(6)["result"]["tools"]} >= {"search", "ask"}
        for number in (4, 7):  # in any order
            if not has_answer(agent, number):
                agent.receive(number)
        agent.send("ping", 8)
        agent.receive(8)
        answers = [each["id"] for each in agent.seen if "id" in each]
        assert sorted(answers) == [1, 2, 3, 4, 6, 7, 8]
        assert {text_of(each) for each in agent.seen if each.get("id") in {4, 7}} == {expected}


def test_a_question_is_answered_by_the_conversations_of_the_kernel(
    shared: SharedKernel, repo: Path, user_data: Path
) -> None:
    with ChatServer([lambda _: reply_text("It is closed once.")]) as server:
        chat_settings(user_data, server.url)
        with Agent(user_data, repo) as agent, shared.connect(may_start=True) as kernel:
            agent.shake_hands()
            agent.wait_until_indexed(2)
            assert "It is closed once." in agent.call(3, "ask", question="How is it closed?")
            assert "nonsense" in agent.call(4, "ask", question="How?", model="nonsense")
            kernel.request("openFolder", {"path": str(repo), "sessionId": 1})
            asked = kernel.request("getConversations", session_id=1)["conversations"]
            assert len(asked) == 1


def test_a_repository_that_was_deleted_is_not_registered_again(
    shared: SharedKernel, repo: Path, user_data: Path
) -> None:
    with Agent(user_data, repo) as agent:
        agent.shake_hands()
        agent.wait_until_indexed(2)
        with shared.connect() as kernel:
            kernel.request("deleteRepo", {"repoName": repo.name})
            assert "deleted" in agent.search(3)
            assert kernel.request("getRepos") == {"repoList": []}


@pytest.mark.parametrize(
    ("words", "environ"), [(("--standalone",), {}), ((), {"CODEKERNEL_STANDALONE": "1"})]
)
def test_a_standalone_server_starts_no_kernel(
    repo: Path, user_data: Path, words: tuple[str, ...], environ: dict[str, str]
) -> None:
    write_sources(repo)
    with Agent(user_data, repo, *words, **environ) as agent:
        agent.shake_hands()
        assert "session.py" in agent.search(2)
        assert not (user_data / "run" / "kernel.sock").exists()


def test_without_an_endpoint_the_server_has_an_index_of_its_own(
    repo: Path, user_data: Path, tmp_path: Path
) -> None:
    write_sources(repo)
    with Agent(user_data, repo, **block_endpoint(user_data, tmp_path)) as agent:
        agent.shake_hands()
        assert "session.py" in agent.search(2)
        agent.process.kill()
        assert agent.process.stderr
        assert b"an index of its own" in agent.process.stderr.read()


def has_answer(agent: Agent, number: int) -> bool:
    return any(each.get("id") == number for each in agent.seen)


def count_files(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def count_threads(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/task").iterdir()))

"""An ACP agent as the sync engine sees it: turns, permissions, cancelling, and agents that fail."""

import os
import signal
import sys
import threading
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from codekernel.adapters.acp.backend import AcpBackend
from codekernel.adapters.acp.turn_changes import TurnRecorder
from codekernel.domain.agent_sessions import PlanEntry
from codekernel.domain.chat import AgentMessage
from codekernel.domain.settings import AgentCommand
from codekernel.errors import KernelError, WrongParam
from codekernel.sync.agents import (
    AgentUpdate,
    BackendPermission,
    McpServerCommand,
    PlanUpdated,
    UsageUpdated,
)
from support.polling import wait_until
from support.shared_kernel import is_running

OpenBackend = Callable[..., AcpBackend]


def run(backend: AcpBackend, name: str, text: str) -> tuple[str, list[AgentUpdate]]:
    updates: list[AgentUpdate] = []
    return backend.prompt(name, text, updates.append), updates


def list_complete(updates: list[AgentUpdate]) -> list[dict[str, Any]]:
    messages = [update for update in updates if isinstance(update, AgentMessage)]
    return [block for it in messages if it.meta.get("complete", True) for block in _blocks(it)]


def _blocks(message: AgentMessage) -> list[dict[str, Any]]:
    return [block.to_json() for block in message.content]


def read_text(updates: list[AgentUpdate]) -> str:
    return "".join(block.get("text", "") for block in list_complete(updates))


def find_pid(name: str) -> int:
    """The scripted agent names its sessions after its process."""
    return int(name.rpartition("-")[2])


def test_a_turn_is_told_as_messages_of_document_004(open_backend: OpenBackend, repo: Path) -> None:
    backend = open_backend()
    name = backend.new_session(repo)
    reason, updates = run(backend, name, "think:hmm say:hello tool plan say:bye")
    assert reason == "end_turn"
    tool_input = {"path": "a.py", "title": "Edit a.py"}
    diff = "--- a/a.py\n+++ b/a.py\n@@ -1,1 +1,1 @@\n-one\n+two\n"
    assert list_complete(updates) == [
        {"type": "thinking", "thinking": "hmm"},
        {"type": "text", "text": "hello"},
        {"type": "tool_use", "id": "call-2", "name": "edit", "input": tool_input},
        {"type": "tool_result", "tool_use_id": "call-2", "content": "edited", "diff": diff},
        {"type": "text", "text": "bye"},
    ]
    assert PlanUpdated((PlanEntry("look", "in_progress"),)) in updates
    assert updates[-1] == UsageUpdated(7, 3)


def test_a_message_grows_under_one_id_until_it_is_complete(
    open_backend: OpenBackend, repo: Path
) -> None:
    backend = open_backend(message_interval_seconds=0.0)
    _, updates = run(backend, backend.new_session(repo), "say:one say:two")
    messages = [it for it in updates if isinstance(it, AgentMessage)]
    assert {it.meta["id"] for it in messages} == {"message_1"}
    texts = [_blocks(it)[0]["text"] for it in messages]
    assert all(later.startswith(earlier) for earlier, later in pairwise(texts))
    assert [it.meta["complete"] for it in messages][-2:] == [False, True]
    assert texts[-1] == "onetwo"


def test_a_tool_that_is_never_finished_is_closed_with_the_turn(
    open_backend: OpenBackend, repo: Path
) -> None:
    backend = open_backend()
    _, updates = run(backend, backend.new_session(repo), "tool:unfinished")
    use, result = list_complete(updates)
    assert (use["type"], result["is_error"]) == ("tool_use", True)


@pytest.mark.parametrize(
    ("allowed", "option_id", "chosen"),
    [(True, "", "yes"), (True, "always", "always"), (False, "", "no"), (True, "unknown", "yes")],
)
def test_a_permission_is_answered_with_an_option_of_the_agent(
    open_backend: OpenBackend, repo: Path, *, allowed: bool, option_id: str, chosen: str
) -> None:
    backend = open_backend()
    asked: list[BackendPermission] = []

    def answer(permission: BackendPermission) -> None:
        asked.append(permission)
        backend.respond_to_permission(permission.id, allowed=allowed, option_id=option_id)
        backend.respond_to_permission(permission.id, allowed=not allowed, option_id="")

    backend.on_permission_request(answer)
    _, updates = run(backend, backend.new_session(repo), "ask")
    assert f"chosen={chosen}" in read_text(updates)
    (permission,) = asked
    assert (permission.tool, permission.danger) == ("execute", "runs")
    assert permission.arguments["command"] == "rm -r x"
    assert [option.kind for option in permission.options] == [
        "allow_once",
        "allow_always",
        "reject_once",
    ]


def test_the_tool_use_is_told_before_its_permission(open_backend: OpenBackend, repo: Path) -> None:
    backend = open_backend()
    order: list[str] = []

    def answer(permission: BackendPermission) -> None:
        order.append("permission")
        backend.respond_to_permission(permission.id, allowed=True, option_id="")

    def note(update: AgentUpdate) -> None:
        order.extend(block["type"] for block in list_complete([update]))

    backend.on_permission_request(answer)
    backend.prompt(backend.new_session(repo), "ask", note)
    assert order[:2] == ["tool_use", "permission"]


def test_without_a_handler_everything_is_refused(open_backend: OpenBackend, repo: Path) -> None:
    backend = open_backend()
    _, updates = run(backend, backend.new_session(repo), "ask")
    assert "chosen=no" in read_text(updates)


def test_cancelling_answers_open_permissions_and_ends_the_turn(
    open_backend: OpenBackend, repo: Path
) -> None:
    backend = open_backend()
    name = backend.new_session(repo)
    backend.on_permission_request(lambda _: backend.cancel_prompt(name))
    assert run(backend, name, "ask say:never")[0] == "cancelled"
    backend.cancel_prompt(name)  # nothing runs
    assert run(backend, name, "say:again")[0] == "end_turn"


def test_an_agent_that_goes_on_after_a_cancel_is_ended(
    open_backend: OpenBackend, repo: Path
) -> None:
    backend = open_backend("stubborn", cancel_timeout_seconds=0.2)
    name = backend.new_session(repo)
    assert backend.prompt(name, "say:busy hang", lambda _: backend.cancel_prompt(name)) == (
        "cancelled"
    )
    wait_until(lambda: not is_running(find_pid(name)))


def test_our_mcp_server_is_handed_to_the_agent(open_backend: OpenBackend, repo: Path) -> None:
    backend = open_backend()
    server = McpServerCommand("codekernel", "/bin/ck", ("mcp", "--repo", "x"), {"A": "b"})
    _, updates = run(backend, backend.new_session(repo, [server]), "mcp")
    text = read_text(updates)
    assert '"command": "/bin/ck"' in text
    assert '"args": ["mcp", "--repo", "x"]' in text


def test_an_earlier_session_is_loaded_without_telling_it_again(
    open_backend: OpenBackend, repo: Path
) -> None:
    backend = open_backend()
    assert backend.load_session("earlier", repo)
    _, updates = run(backend, "earlier", "say:go")
    assert read_text(updates) == "go"


def test_an_agent_that_cannot_load_says_so(open_backend: OpenBackend, repo: Path) -> None:
    assert not open_backend("no-load").load_session("earlier", repo)


def test_a_program_that_is_not_installed_is_named(open_backend: OpenBackend, repo: Path) -> None:
    with pytest.raises(KernelError, match="no program 'opencode-of-nobody'"):
        open_backend(command="opencode-of-nobody").initialize()


def test_an_agent_that_wants_a_login_says_how(open_backend: OpenBackend, repo: Path) -> None:
    with pytest.raises(KernelError, match=r"sign in first \(API key\).*no key"):
        open_backend("needs-login").new_session(repo)


def test_an_agent_of_another_version_is_refused(open_backend: OpenBackend, repo: Path) -> None:
    with pytest.raises(KernelError, match="version 2 of ACP"):
        open_backend("future").new_session(repo)


def test_a_program_that_is_no_agent_is_explained_by_its_stderr(user_data: Path, repo: Path) -> None:
    command = AgentCommand("broken", sys.executable, (str(repo / "nothing.py"),))
    with pytest.raises(KernelError, match=r"broken has ended \(exit code 2\).*can't open file"):
        AcpBackend(command, TurnRecorder(user_data)).new_session(repo)


def test_an_agent_that_never_answers_is_given_up_and_ended(
    open_backend: OpenBackend, repo: Path
) -> None:
    with pytest.raises(KernelError, match="has not answered for 1 seconds"):
        open_backend("silent", start_timeout_seconds=1.0).new_session(repo)


def test_a_killed_agent_is_an_error_with_the_end_of_its_stderr(
    open_backend: OpenBackend, repo: Path
) -> None:
    backend = open_backend()
    name, other = backend.new_session(repo), backend.new_session(repo)
    with pytest.raises(KernelError, match=r"killed by signal 9\): [\s\S]*out of memory"):
        run(backend, name, "say:one tool:unfinished die")
    assert run(backend, other, "say:alive")[0] == "end_turn"


def wait_until_noticed(backend: AcpBackend, session: str) -> None:
    """Wait until the backend knows that an agent has ended, which the system knows a moment before.

    A prompt in that moment meets an agent that dies in its turn, and fails with how it ended.
    """
    wait_until(lambda: backend._sessions[session].has_ended)


def test_an_agent_that_has_died_is_started_again_by_the_next_prompt(
    open_backend: OpenBackend, repo: Path
) -> None:
    backend = open_backend()
    name = backend.new_session(repo)
    os.kill(find_pid(name), signal.SIGKILL)
    wait_until_noticed(backend, name)
    assert read_text(run(backend, name, "say:again")[1]) == "again"


def test_no_permission_has_the_name_of_an_earlier_one_of_an_agent_that_has_died(
    open_backend: OpenBackend, repo: Path
) -> None:
    backend = open_backend()
    asked: list[str] = []

    def answer(permission: BackendPermission) -> None:
        asked.append(permission.id)
        backend.respond_to_permission(permission.id, allowed=True, option_id="")

    backend.on_permission_request(answer)
    name = backend.new_session(repo)
    run(backend, name, "ask")
    os.kill(find_pid(name), signal.SIGKILL)
    wait_until_noticed(backend, name)
    run(backend, name, "ask")
    assert len(set(asked)) == 2


def test_an_agent_that_has_died_and_cannot_load_is_an_error(
    open_backend: OpenBackend, repo: Path
) -> None:
    backend = open_backend("no-load")
    name = backend.new_session(repo)
    os.kill(find_pid(name), signal.SIGKILL)
    with pytest.raises(KernelError, match="killed by signal 9"):
        run(backend, name, "say:again")


def test_agents_that_wait_for_a_prompt_are_ended_beyond_a_few(
    open_backend: OpenBackend, repo: Path
) -> None:
    backend = open_backend(max_idle_agents=1)
    first, second, third = (backend.new_session(repo) for _ in range(3))
    wait_until(lambda: not is_running(find_pid(first)))
    assert is_running(find_pid(second))
    assert is_running(find_pid(third))
    assert run(backend, first, "say:back")[0] == "end_turn"


def test_what_was_said_before_a_kill_is_kept(open_backend: OpenBackend, repo: Path) -> None:
    backend, updates = open_backend(), list[AgentUpdate]()
    with pytest.raises(KernelError):
        backend.prompt(backend.new_session(repo), "say:one tool:unfinished half", updates.append)
    assert [block["type"] for block in list_complete(updates)] == [
        "text",
        "tool_use",
        "tool_result",
    ]


def test_garbage_on_stdout_is_skipped(open_backend: OpenBackend, repo: Path) -> None:
    backend = open_backend()
    _, updates = run(backend, backend.new_session(repo), "garbage unknown say:fine")
    assert read_text(updates) == "fine"


@pytest.mark.parametrize(
    ("order", "reason"),
    [
        ("garbage:2000", "lines that are no messages"),
        ("long", "a line of more than"),
        ("flood", "bytes in one turn"),
    ],
)
def test_an_agent_that_floods_is_ended_and_disturbs_no_other(
    open_backend: OpenBackend,
    repo: Path,
    order: str,
    reason: str,
) -> None:
    backend = open_backend(max_turn_bytes=4_000_000)
    name, other = backend.new_session(repo), backend.new_session(repo)
    raised: list[bool] = []
    flooding = threading.Thread(target=_expect_error, args=(backend, name, order, reason, raised))
    flooding.start()
    assert run(backend, other, "say:calm")[0] == "end_turn"
    flooding.join(60)
    assert raised == [True]
    wait_until(lambda: not is_running(find_pid(name)))


def _expect_error(
    backend: AcpBackend, name: str, order: str, reason: str, raised: list[bool]
) -> None:
    with pytest.raises(KernelError, match=reason):
        run(backend, name, order)
    raised.append(True)


def test_a_reader_that_is_slow_makes_the_agent_wait(open_backend: OpenBackend, repo: Path) -> None:
    backend = open_backend(max_pending_updates=5)
    name = backend.new_session(repo)
    words = " ".join(f"tool say:{number}" for number in range(50))
    lengths: list[int] = []

    def note(_: AgentUpdate) -> None:
        turn = backend._sessions[name]._turn
        assert turn
        if not lengths:
            wait_until(lambda: turn._items.qsize() >= 5)
        lengths.append(turn._items.qsize())

    assert backend.prompt(name, words, note) == "end_turn"
    assert 5 <= max(lengths) <= 8


def test_disconnecting_ends_the_agent_and_what_it_started(
    open_backend: OpenBackend, repo: Path
) -> None:
    backend = open_backend()
    name = backend.new_session(repo)
    _, updates = run(backend, name, "child")
    child = int(read_text(updates).removeprefix("child="))
    assert is_running(child)
    backend.disconnect()
    wait_until(lambda: not is_running(child) and not is_running(find_pid(name)))
    with pytest.raises(WrongParam):
        run(backend, name, "say:hello")


def test_a_turn_that_runs_is_ended_by_disconnecting(open_backend: OpenBackend, repo: Path) -> None:
    backend = open_backend()
    name = backend.new_session(repo)
    ended: list[str] = []
    running = threading.Thread(
        target=lambda: ended.append(backend.prompt(name, "say:x hang", lambda _: started.set()))
    )
    started = threading.Event()
    running.start()
    assert started.wait(60)
    backend.disconnect()
    running.join(60)
    assert ended == ["cancelled"]


def test_killing_agents_at_random_moments_always_ends_in_an_error(
    open_backend: OpenBackend, repo: Path
) -> None:
    backend = open_backend()
    for number in range(10):
        name = backend.new_session(repo)
        killer = threading.Timer(0.02 * number, os.kill, [find_pid(name), signal.SIGKILL])
        updates: list[AgentUpdate] = []

        def note(
            update: AgentUpdate,
            updates: list[AgentUpdate] = updates,
            killer: threading.Timer = killer,
        ) -> None:
            if not updates:  # an agent killed before its turn begins is started again
                killer.start()
            updates.append(update)

        words = "say:a think:b tool plan " * 20 + "hang"
        with pytest.raises(KernelError, match="killed by signal 9"):
            backend.prompt(name, words, note)
        killer.join()

"""What a foreign agent changed is listed with its diff, and undone as our own agent's work is."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from codekernel.adapters.acp.backend import AcpBackend
from codekernel.agent.turn_workspace import find_latest_with_changes, undo_session
from codekernel.agent.workspace.root import WorkspaceRoot
from codekernel.domain.chat import AgentMessage
from codekernel.domain.turn import UndoState
from codekernel.errors import KernelError
from codekernel.sync.agents import AgentUpdate
from support.environ import Environ

OpenBackend = Callable[..., AcpBackend]

ORDERS = "write:a.txt=2 write:new/deep/b.txt=x delete:c.sh say:done"


@pytest.fixture
def folder(repo: Path) -> Path:
    (repo / "a.txt").write_bytes(b"1\n")
    (repo / "c.sh").write_bytes(b"#!/bin/sh\n")
    (repo / "c.sh").chmod(0o755)
    return repo


def run(backend: AcpBackend, name: str, text: str) -> list[dict[str, Any]]:
    """Run a turn; the blocks of its complete messages."""
    updates: list[AgentUpdate] = []
    with suppress(KernelError):
        backend.prompt(name, text, updates.append)
    messages = [it for it in updates if isinstance(it, AgentMessage)]
    return [
        block.to_json() for it in messages if it.meta.get("complete", True) for block in it.content
    ]


def test_the_changes_of_a_turn_are_listed_and_can_be_undone(
    open_backend: OpenBackend, folder: Path, user_data: Path
) -> None:
    backend = open_backend()
    blocks = run(backend, backend.new_session(folder), ORDERS)
    use, result = blocks[-2:]
    assert use["input"]["files"] == [
        "a.txt (changed)",
        "c.sh (deleted)",
        "new/deep/b.txt (created)",
    ]
    assert "-1\n" in result["diff"]
    assert "+2" in result["diff"]
    root = WorkspaceRoot.from_path(folder)
    session = find_latest_with_changes(user_data, root)
    assert session
    assert f"codekernel agent --undo {session}" in result["content"]
    undone = undo_session(user_data, session, root)
    assert {each.path: each.state for each in undone} == {
        "a.txt": UndoState.RESTORED,
        "c.sh": UndoState.RESTORED,
        "new/deep/b.txt": UndoState.REMOVED,
    }
    assert (folder / "a.txt").read_bytes() == b"1\n"
    assert (folder / "c.sh").read_bytes() == b"#!/bin/sh\n"
    assert (folder / "c.sh").stat().st_mode & 0o111
    assert not (folder / "new").exists()


def test_what_was_edited_since_is_kept(
    open_backend: OpenBackend, folder: Path, user_data: Path
) -> None:
    backend = open_backend()
    run(backend, backend.new_session(folder), "write:a.txt=2")
    (folder / "a.txt").write_bytes(b"mine\n")
    root = WorkspaceRoot.from_path(folder)
    (undone,) = undo_session(user_data, find_latest_with_changes(user_data, root) or "", root)
    assert undone.state is UndoState.KEPT
    assert (folder / "a.txt").read_bytes() == b"mine\n"


def test_two_turns_are_undone_together_newest_first(
    open_backend: OpenBackend, folder: Path, user_data: Path
) -> None:
    backend = open_backend()
    name = backend.new_session(folder)
    run(backend, name, "write:a.txt=2")
    run(backend, name, "write:a.txt=3")
    root = WorkspaceRoot.from_path(folder)
    undo_session(user_data, find_latest_with_changes(user_data, root) or "", root)
    assert (folder / "a.txt").read_bytes() == b"1\n"


def test_a_turn_that_dies_has_its_changes_recorded(
    open_backend: OpenBackend, folder: Path, user_data: Path
) -> None:
    backend = open_backend()
    blocks = run(backend, backend.new_session(folder), "write:a.txt=2 die")
    assert blocks[-2]["input"]["files"] == ["a.txt (changed)"]
    assert find_latest_with_changes(user_data, WorkspaceRoot.from_path(folder))


def test_a_turn_without_changes_lists_none(open_backend: OpenBackend, folder: Path) -> None:
    backend = open_backend()
    assert run(backend, backend.new_session(folder), "say:hello") == [
        {"type": "text", "text": "hello"}
    ]


def test_without_git_it_is_said_once_that_nothing_can_be_undone(
    open_backend: OpenBackend, folder: Path, environ: Environ
) -> None:
    environ["PATH"] = ""
    backend = open_backend()
    name = backend.new_session(folder)
    (said,) = run(backend, name, "write:a.txt=2")
    assert "neither listed nor undone by codekernel: git is not installed" in said["text"]
    assert run(backend, name, "write:a.txt=3") == []

import json
import os
from pathlib import Path

import pytest
from support.agents import SKIP, agent, run, told
from support.chat_server import ChatServer, called, said

from kernel.agent.context import ToolContext
from kernel.agent.events import Finished
from kernel.agent.plan import Status, Task
from kernel.agent.saved_sessions import SavedSessions
from kernel.errors import KernelError


def test_a_session_goes_on_where_it_was(user_data: Path, repo: Path, context: ToolContext) -> None:
    sessions = SavedSessions(user_data)
    session = sessions.new(repo)
    script = [called(SKIP, ("list_directory", {"path": "."})), said("It is empty."), said("Yes.")]
    with ChatServer(script) as server:
        keep = lambda: sessions.save(session)  # noqa: E731
        with agent(server, context, transcript=session.transcript, keep=keep) as loop:
            run(loop, "look")
        again = sessions.load(session.id)
        with agent(server, context, transcript=again.transcript) as loop:
            assert run(loop, "sure?")[-1] == Finished("Yes.")
        messages = told(server, 3)
    assert (again.id, again.root) == (session.id, repo)
    assert [message["role"] for message in messages] == [
        "system", "user", "assistant", "tool", "tool", "assistant", "user",
    ]  # fmt: skip
    assert messages[-1]["content"] == "sure?"
    assert messages[2]["tool_calls"][1]["function"]["name"] == "list_directory"


def test_the_plan_is_a_part_of_the_session(user_data: Path, repo: Path) -> None:
    sessions = SavedSessions(user_data)
    session = sessions.new(repo)
    tasks = (Task(1, "一"), Task(7, "two", Status.COMPLETED))
    session.plan.create(tasks)
    sessions.save(session)
    assert sessions.load(session.id).plan.tasks == tasks
    session.plan.skip()
    sessions.save(session)
    assert sessions.load(session.id).plan.is_decided
    assert not sessions.load(session.id).plan.tasks


def test_ids_are_eight_hexadecimal_digits_and_files_are_private(
    user_data: Path, repo: Path
) -> None:
    sessions = SavedSessions(user_data)
    session = sessions.new(repo)
    sessions.save(session)
    assert len(session.id) == 8
    int(session.id, 16)
    file = user_data / "agent" / "sessions" / f"{session.id}.json"
    if os.name != "nt":
        assert file.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("name", ["", "../../etc", "12345678", "zzzzzzzz", "123456789"])
def test_a_session_that_is_not_there_is_told_so(user_data: Path, name: str) -> None:
    with pytest.raises(KernelError, match="session"):
        SavedSessions(user_data).load(name)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b'{"format": 9}'])
def test_a_broken_file_is_told_and_left_alone(user_data: Path, repo: Path, content: bytes) -> None:
    sessions = SavedSessions(user_data)
    session = sessions.new(repo)
    sessions.save(session)
    file = user_data / "agent" / "sessions" / f"{session.id}.json"
    file.write_bytes(content)
    with pytest.raises(KernelError, match="broken"):
        sessions.load(session.id)
    assert file.read_bytes() == content


def test_a_session_is_at_work_in_one_place(user_data: Path, repo: Path) -> None:
    sessions = SavedSessions(user_data)
    session = sessions.new(repo)
    with sessions.held(session):
        with pytest.raises(KernelError, match="another process"), sessions.held(session):
            pass
        with sessions.held(sessions.new(repo)):
            pass
    with sessions.held(session):
        pass


def test_texts_that_are_no_unicode_survive(user_data: Path, repo: Path) -> None:
    sessions = SavedSessions(user_data)
    session = sessions.new(repo)
    session.transcript.asked("half \ud800")
    sessions.save(session)
    again = sessions.load(session.id)
    assert again.transcript.messages[0].content == "half \ud800"
    json.loads((user_data / "agent" / "sessions" / f"{session.id}.json").read_bytes())

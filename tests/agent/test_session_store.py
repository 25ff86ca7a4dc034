import json
import os
from pathlib import Path

import pytest
from codekernel.agent.session_store import AgentSessionStore
from codekernel.agent.tool import PlanTask, TaskStatus, ToolContext
from codekernel.domain.chat import ChatMessage, ChatToolCall, Role
from codekernel.domain.turn_events import AgentFinished
from codekernel.errors import KernelError, StorageError
from support.agents import SKIP, agent, run, sent_messages
from support.chat_server import ChatServer, reply_calls, reply_text
from support.small_disk import small_disk


def test_a_session_is_continued(user_data: Path, repo: Path, context: ToolContext) -> None:
    sessions = AgentSessionStore(user_data)
    session = sessions.create(repo)
    script = [
        reply_calls(SKIP, ("list_directory", {"path": "."})),
        reply_text("It is empty."),
        reply_text("Yes."),
    ]
    with ChatServer(script) as server:
        keep = lambda: sessions.save(session)  # noqa: E731
        with agent(server, context, transcript=session.transcript, save=keep) as loop:
            run(loop, "look")
        again = sessions.load(session.id)
        with agent(server, context, transcript=again.transcript) as loop:
            assert run(loop, "sure?")[-1] == AgentFinished("Yes.")
        messages = sent_messages(server, 3)
    assert (again.id, again.root) == (session.id, repo)
    assert [message["role"] for message in messages] == [
        "system", "user", "assistant", "tool", "tool", "assistant", "user",
    ]  # fmt: skip
    assert messages[-1]["content"] == "sure?"
    assert messages[2]["tool_calls"][1]["function"]["name"] == "list_directory"


def test_the_plan_is_a_part_of_the_session(user_data: Path, repo: Path) -> None:
    sessions = AgentSessionStore(user_data)
    session = sessions.create(repo)
    tasks = (PlanTask(1, "一"), PlanTask(7, "two", TaskStatus.COMPLETED))
    session.plan.create(tasks)
    sessions.save(session)
    assert sessions.load(session.id).plan.tasks == tasks
    session.plan.skip()
    sessions.save(session)
    assert sessions.load(session.id).plan.is_decided
    assert not sessions.load(session.id).plan.tasks


def test_a_round_is_there_for_another_process_as_soon_as_it_is_kept(
    user_data: Path, repo: Path
) -> None:
    sessions = AgentSessionStore(user_data)
    session = sessions.create(repo)
    keeper = sessions.open_writer(session)
    session.transcript.add_user_message("one")
    keeper.save()
    call = ChatToolCall("1", "plan", "{}")
    session.transcript.add_reply("", (call,))
    session.transcript.add_tool_result(call, "AKIAIOSFODNN7EXAMPLE", 1_000)
    session.plan.create((PlanTask(1, "look"),))
    keeper.save()  # no settle: a kill may come now
    again = sessions.load(session.id)
    assert again.transcript == session.transcript
    assert again.transcript.secret_count == 1
    assert again.plan.tasks == session.plan.tasks
    keeper.flush()


def test_only_what_is_new_is_written(user_data: Path, repo: Path) -> None:
    sessions = AgentSessionStore(user_data)
    session = sessions.create(repo)
    keeper = sessions.open_writer(session)
    file = user_data / "agent" / "sessions" / f"{session.id}.json"
    session.transcript.add_user_message("a" * 100_000)
    keeper.save()
    before = file.read_bytes()
    session.transcript.add_user_message("b")
    keeper.save()
    assert file.read_bytes().startswith(before)
    assert file.stat().st_size < len(before) + 300
    keeper.flush()


def test_messages_that_were_shortened_are_shortened_on_disk(user_data: Path, repo: Path) -> None:
    sessions = AgentSessionStore(user_data)
    session = sessions.create(repo)
    keeper = sessions.open_writer(session)
    session.transcript.add_user_message("long " * 1_000)
    keeper.save()
    session.transcript.messages = [ChatMessage(Role.USER, "short")]
    keeper.save()
    session.transcript.add_user_message("more")
    keeper.save()
    keeper.flush()
    texts = [message.content for message in sessions.load(session.id).transcript.messages]
    assert texts == ["short", "more"]
    file = user_data / "agent" / "sessions" / f"{session.id}.json"
    sessions.open_writer(sessions.load(session.id)).save()
    assert b"long" not in file.read_bytes(), "what nobody reads again is kept"


def test_a_line_that_a_crash_cut_off_costs_that_line_alone(user_data: Path, repo: Path) -> None:
    sessions = AgentSessionStore(user_data)
    session = sessions.create(repo)
    keeper = sessions.open_writer(session)
    for text in ("one", "two", "three"):
        session.transcript.add_user_message(text)
        keeper.save()
    keeper.flush()
    file = user_data / "agent" / "sessions" / f"{session.id}.json"
    file.write_bytes(file.read_bytes()[:-10])
    again = sessions.load(session.id)
    assert [message.content for message in again.transcript.messages] == ["one", "two"]
    keeper = sessions.open_writer(again)
    keeper.save()
    again.transcript.add_user_message("four")
    keeper.save()
    keeper.flush()
    texts = [message.content for message in sessions.load(session.id).transcript.messages]
    assert texts == ["one", "two", "four"]


def test_ids_are_eight_hexadecimal_digits_and_files_are_private(
    user_data: Path, repo: Path
) -> None:
    sessions = AgentSessionStore(user_data)
    session = sessions.create(repo)
    sessions.save(session)
    assert len(session.id) == 8
    int(session.id, 16)
    file = user_data / "agent" / "sessions" / f"{session.id}.json"
    if os.name != "nt":
        assert file.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("name", ["", "../../etc", "12345678", "zzzzzzzz", "123456789"])
def test_a_session_that_is_not_there_is_reported(user_data: Path, name: str) -> None:
    with pytest.raises(KernelError, match="session"):
        AgentSessionStore(user_data).load(name)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}"])
def test_a_broken_file_is_reported_and_quarantined(
    user_data: Path, repo: Path, content: bytes
) -> None:
    sessions = AgentSessionStore(user_data)
    session = sessions.create(repo)
    sessions.save(session)
    file = user_data / "agent" / "sessions" / f"{session.id}.json"
    file.write_bytes(content)
    with pytest.raises(KernelError, match="broken"):
        sessions.load(session.id)
    (aside,) = file.parent.glob(f"{file.name}.unreadable-*")
    assert aside.read_bytes() == content


def test_a_session_of_another_version_is_reported_and_left_alone(
    user_data: Path, repo: Path
) -> None:
    sessions = AgentSessionStore(user_data)
    session = sessions.create(repo)
    sessions.save(session)
    file = user_data / "agent" / "sessions" / f"{session.id}.json"
    file.write_bytes(b'{"format": 9}')
    with pytest.raises(KernelError, match="another version"):
        sessions.load(session.id)
    assert file.read_bytes() == b'{"format": 9}'


@pytest.mark.skipif(os.name == "nt", reason="pipes have no names there")
@pytest.mark.parametrize("kind", ["pipe", "folder", "loop"])
def test_what_is_no_file_in_the_place_of_a_session_is_set_aside_at_once(
    user_data: Path, kind: str
) -> None:
    folder = user_data / "agent" / "sessions"
    folder.mkdir(parents=True)
    file = folder / "abcdef01.json"
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "folder":
        file.mkdir()
    else:
        file.symlink_to(file)
    with pytest.raises(KernelError, match="set aside"):
        AgentSessionStore(user_data).load("abcdef01")
    assert [path.name[:13] for path in folder.iterdir()] == ["abcdef01.json"]
    assert not os.path.lexists(file)


def test_what_can_be_read_of_a_damaged_session_is_continued_and_the_file_is_kept(
    user_data: Path, repo: Path
) -> None:
    sessions = AgentSessionStore(user_data)
    session = sessions.create(repo)
    keeper = sessions.open_writer(session)
    for text in ("one", "two", "three"):
        session.transcript.messages.append(ChatMessage(Role.USER, text))
        keeper.save()
    keeper.flush()
    file = user_data / "agent" / "sessions" / f"{session.id}.json"
    damaged = file.read_bytes().replace(b'"two"', b'"\x00wo"')
    file.write_bytes(damaged)
    read = sessions.load(session.id)
    assert [message.content for message in read.transcript.messages] == ["one"]
    (aside,) = file.parent.glob(f"{file.name}.unreadable-*")
    assert aside.read_bytes() == damaged
    assert AgentSessionStore(user_data).load(session.id).transcript.messages == (
        read.transcript.messages
    )


def test_a_session_that_a_full_disk_refused_is_continued_from_memory_and_saved_later(
    tmp_path: Path, repo: Path
) -> None:
    with small_disk(tmp_path / "disk", 1_000_000) as disk:
        sessions = AgentSessionStore(disk.place)
        session = sessions.create(repo)
        session.transcript.messages.append(ChatMessage(Role.USER, "kept"))
        disk.fill()
        with pytest.raises(StorageError, match="full"):
            sessions.open_writer(session).save()
        assert sessions.load(session.id) is session
        assert "full" in sessions.save_unsaved()
        disk.free()
        assert sessions.save_unsaved() == ""
        (message,) = AgentSessionStore(disk.place).load(session.id).transcript.messages
        assert message.content == "kept"


def test_a_session_is_at_work_in_one_place(user_data: Path, repo: Path) -> None:
    sessions = AgentSessionStore(user_data)
    session = sessions.create(repo)
    with sessions.lock(session):
        with pytest.raises(KernelError, match="another process"), sessions.lock(session):
            pass
        with sessions.lock(sessions.create(repo)):
            pass
    with sessions.lock(session):
        pass


def test_texts_that_are_no_unicode_survive(user_data: Path, repo: Path) -> None:
    sessions = AgentSessionStore(user_data)
    session = sessions.create(repo)
    session.transcript.add_user_message("half \ud800")
    sessions.save(session)
    again = sessions.load(session.id)
    assert again.transcript.messages[0].content == "half \ud800"
    json.loads((user_data / "agent" / "sessions" / f"{session.id}.json").read_bytes())

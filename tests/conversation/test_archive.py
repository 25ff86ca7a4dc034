"""The conversations there are: listed, read, deleted."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from codekernel.conversation import archive as archive_module
from codekernel.conversation.archive import (
    MAX_TOPIC_CHARS,
    ConversationArchive,
    ConversationSummary,
)
from codekernel.conversation.history import ConversationHistories
from codekernel.domain.turn_events import AnswerDelta
from codekernel.errors import StorageError, WrongParam
from codekernel.protocol.history_file import decode_history_file
from codekernel.storage.conversation_files import ConversationFiles
from support.conversation_world import World, reply_text

MANY = 1000


@pytest.fixture
def files(tmp_path: Path) -> ConversationFiles:
    (tmp_path / "conversations").mkdir()
    return ConversationFiles(tmp_path / "conversations")


def put(files: ConversationFiles, number: int, *times: int, **changes: Any) -> None:
    turn = {"query": "q", "retrieval": [], "answer": "a"}
    content = {
        "conversationId": number,
        "topic": f"topic {number}",
        "history": [{**turn, "time": time} for time in times],
        "repoPath": "/repo",
        **changes,
    }
    files.write_history(number, json.dumps(content).encode())


def open_archive(files: ConversationFiles) -> ConversationArchive:
    return ConversationArchive(files, ConversationHistories(files))


def numbers(found: list[ConversationSummary]) -> list[int]:
    return [outline.conversation_id for outline in found]


def test_the_conversations_of_a_folder_come_newest_first(files: ConversationFiles) -> None:
    put(files, 1, 1000, 5000)
    put(files, 2, 9000)
    put(files, 3, 3000)
    put(files, 4, 9999, repoPath="/other")
    found = open_archive(files).list_conversations("/repo")
    assert numbers(found) == [2, 1, 3]
    assert found[1] == ConversationSummary(1, "topic 1", 5000, 2, "/repo")


def test_one_without_an_answer_is_as_old_as_its_file(files: ConversationFiles) -> None:
    put(files, 1)
    os.utime(files.history_path(1), ns=(0, 7_000_000_000))
    (found,) = open_archive(files).list_conversations("/repo")
    assert (found.time_ms, found.turns) == (7000, 0)


def test_a_topic_is_shortened_for_the_list(files: ConversationFiles) -> None:
    put(files, 1, 1, topic="x" * 5000)
    assert open_archive(files).list_conversations("/repo")[0].topic == "x" * MAX_TOPIC_CHARS


def test_what_is_no_conversation_is_left_out(files: ConversationFiles, tmp_path: Path) -> None:
    put(files, 1, 1)
    for number, content in enumerate([b"", b"{", b"[]", b'{"topic": 1}', b"[" * 100_000], 2):
        files.write_history(number, content)
    put(files, 20, 1, repoPath="")  # an older kernel did not say where
    folder = tmp_path / "conversations"
    (folder / "conversation-30.json").mkdir()
    (folder / "conversation-x.json").write_bytes(files.history_path(1).read_bytes())
    (folder / "conversation-1.json.unreadable-1").write_bytes(b"")
    assert numbers(open_archive(files).list_conversations("/repo")) == [1]


def test_a_copy_under_another_name_has_that_names_id(files: ConversationFiles) -> None:
    put(files, 1, 1)
    files.write_history(5, files.history_path(1).read_bytes())
    archive = open_archive(files)
    assert sorted(numbers(archive.list_conversations("/repo"))) == [1, 5]
    assert archive.read(5, "/repo").conversation_id == 5


def test_a_path_that_is_no_text_is_no_obstacle(files: ConversationFiles) -> None:
    put(files, 1, 1, topic="caf\udce9", repoPath="/caf\udce9")
    (found,) = open_archive(files).list_conversations("/caf\udce9")
    assert found.topic == "caf\udce9"
    assert open_archive(files).read(1, "/caf\udce9").topic == "caf\udce9"


def test_without_a_folder_there_are_none(tmp_path: Path) -> None:
    assert open_archive(ConversationFiles(tmp_path / "nowhere")).list_conversations("/repo") == []


@pytest.mark.slow
def test_of_many_files_only_those_that_changed_are_read_again(
    files: ConversationFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(MANY):
        put(files, number, number)
    read: list[bytes] = []

    def record_and_decode(content: bytes) -> Any:
        read.append(content)
        return decode_history_file(content)

    monkeypatch.setattr(archive_module, "decode_history_file", record_and_decode)
    archive = open_archive(files)
    assert len(archive.list_conversations("/repo")) == len(read) == MANY
    put(files, 7, 7, 8_000_000)
    files.history_path(8).unlink()
    found = archive.list_conversations("/repo")
    assert len(read) == MANY + 1
    assert found[0] == ConversationSummary(7, "topic 7", 8_000_000, 2, "/repo")
    assert len(found) == MANY - 1


def test_a_conversation_is_read_whole_in_its_own_repository_alone(
    files: ConversationFiles,
) -> None:
    put(files, 1, 1000, 5000)
    archive = open_archive(files)
    assert [turn.time for turn in archive.read(1, "/repo").history] == [1000, 5000]
    for number, folder in [(1, "/other"), (2, "/repo")]:
        with pytest.raises(WrongParam, match="no conversation"):
            archive.read(number, folder)
    files.write_history(3, b"{")
    with pytest.raises(StorageError, match="conversation-3"):
        archive.read(3, "/repo")


def test_a_deleted_conversation_is_gone_with_its_journals_and_its_cost_stays(world: World) -> None:
    journals: list[tuple[Path, bytes]] = []

    def copy() -> None:
        (journal,) = world.files.list_journals()
        journals.append((journal, journal.read_bytes()))

    world.model.script = [reply_text("One."), [*reply_text("Two."), copy]]
    world.ask("Session")
    world.ask("again")
    ((journal, content),) = journals
    journal.write_bytes(content)  # as if a crash had left it
    root, before = str(world.place.root), world.ledger.sum_by_model(1)
    world.conversations.delete(1, root)
    assert world.conversations.archive.list_conversations(root) == []
    assert not world.files.history_path(1).exists()
    assert not journal.exists()
    world.conversations.recover()
    assert not world.files.history_path(1).exists(), "it has come back"
    assert world.ledger.sum_by_model(1) == before
    with pytest.raises(WrongParam, match="no conversation"):
        world.conversations.delete(1, root)
    world.model.script = [reply_text("Anew.")]
    world.ask("Session")
    assert [outline.turns for outline in world.conversations.archive.list_conversations(root)] == [
        1
    ]


def test_a_conversation_is_not_deleted_while_it_is_being_answered(world: World) -> None:
    root = str(world.place.root)
    world.model.script = [reply_text("One.")]
    with world.begin("Session") as turn:
        for event in turn.stream_events():
            if isinstance(event, AnswerDelta):
                with pytest.raises(WrongParam, match="is being answered: wait"):
                    world.conversations.delete(1, root)
    assert [outline.turns for outline in world.conversations.archive.list_conversations(root)] == [
        1
    ]
    world.conversations.delete(1, root)
    assert world.conversations.archive.list_conversations(root) == []


def test_a_conversation_that_another_process_answers_is_not_deleted(world: World) -> None:
    world.model.script = [reply_text("One.")]
    world.ask("Session")
    lock = world.files.create_lock(1)
    assert lock.try_acquire_or_log()
    root = str(world.place.root)
    with pytest.raises(WrongParam, match="is being answered"):
        world.conversations.delete(1, root)
    lock.release()
    world.conversations.delete(1, root)
    assert not world.files.history_path(1).exists()


def test_a_conversation_of_another_repository_is_not_deleted(world: World) -> None:
    world.model.script = [reply_text("One.")]
    world.ask("Session")
    with pytest.raises(WrongParam, match="no conversation"):
        world.conversations.delete(1, "/elsewhere")
    assert world.files.history_path(1).exists()

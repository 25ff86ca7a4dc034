"""What was shown while the disk took nothing: readable at once, and written when there is room."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from codekernel.domain.turn import UndoResult, UndoState
from codekernel.domain.turn_events import AnswerDelta, TurnDone
from codekernel.storage.vault.vault import ModelUsage
from support.conversation_world import World, reply_text
from support.small_disk import SmallDisk, small_disk

PATIENCE_SECONDS = 60
DISK_BYTES = 4_000_000


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk", DISK_BYTES) as made:
        yield made


@pytest.fixture
def user_data(disk: SmallDisk) -> Path:
    folder = disk.place / "userData"
    folder.mkdir()
    return folder


def last(events: list[Any]) -> TurnDone:
    assert isinstance(events[-1], TurnDone)
    return events[-1]


def stored(world: World, number: int = 1) -> Any:
    return json.loads(world.files.history_path(number).read_bytes())


def answers(world: World, number: int = 1) -> list[str]:
    history = world.conversations.archive.read(number, str(world.place.root))
    return [turn.answer for turn in history.history]


def wait_until_saved() -> None:
    for thread in threading.enumerate():
        if thread.name == "save":
            thread.join(PATIENCE_SECONDS)
            assert not thread.is_alive()


def test_an_answer_on_a_full_disk_is_shown_as_unsaved_and_can_be_read(
    world: World, disk: SmallDisk
) -> None:
    world.model.script = [reply_text("From memory.")]
    disk.fill()
    events = world.ask("Session")
    assert "".join(event.text for event in events if isinstance(event, AnswerDelta)) == (
        "From memory."
    )
    assert "disk is full" in last(events).unsaved
    assert answers(world) == ["From memory."]
    (outline,) = world.conversations.archive.list_conversations(str(world.place.root))
    assert (outline.turns, outline.topic, outline.is_unsaved) == (1, "Session", True)


@pytest.mark.slow
def test_what_is_unsaved_is_written_by_itself_as_soon_as_there_is_room(
    world: World, disk: SmallDisk
) -> None:
    world.model.script = [reply_text("First."), reply_text("Second.")]
    disk.fill()
    for query in ("Session", "And routes?"):
        assert last(world.ask(query)).unsaved
    disk.free()
    wait_until_saved()
    assert [turn["answer"] for turn in stored(world)["history"]] == ["First.", "Second."]
    assert world.ledger.sum_by_model(1) == [ModelUsage("scripted-1", 20, 10)]
    assert list(world.files.list_journals()) == []
    (outline,) = world.conversations.archive.list_conversations(str(world.place.root))
    assert not outline.is_unsaved


def test_a_conversation_continues_from_memory(world: World, disk: SmallDisk) -> None:
    world.model.script = [reply_text("It is the blue one."), reply_text("Blue.")]
    disk.fill()
    world.ask("Which Session?")
    world.ask("What did you say?")
    sent = [message.content for message in world.model.requests[-1].messages]
    assert "It is the blue one." in sent


def test_the_next_turn_saves_the_one_before_it_first(world: World, disk: SmallDisk) -> None:
    world.model.script = [reply_text("First."), reply_text("Second.")]
    disk.fill()
    assert last(world.ask("Session")).unsaved
    disk.free()
    assert last(world.ask("And routes?")).unsaved == ""
    assert [turn["answer"] for turn in stored(world)["history"]] == ["First.", "Second."]


def test_the_end_of_the_process_tries_once_more(world: World, disk: SmallDisk) -> None:
    world.model.script = [reply_text("Kept at last.")]
    disk.fill()
    assert last(world.ask("Session")).unsaved
    disk.free()
    world.conversations.close()
    assert stored(world)["history"][0]["answer"] == "Kept at last."


def test_a_journal_that_the_disk_cut_off_does_not_replace_what_memory_has(
    world: World, disk: SmallDisk
) -> None:
    long = "word " * 4000
    world.model.script = [
        [*reply_text(long)[:1], disk.fill, *reply_text("The end.")],
        reply_text("Second."),
    ]
    events = world.ask("Session")
    assert last(events).unsaved
    disk.free()
    world.ask("And routes?")
    assert [turn["answer"] for turn in stored(world)["history"]] == [long + "The end.", "Second."]
    assert stored(world)["history"][0]["outcome"] == "done"


def test_a_deleted_conversation_does_not_come_back_from_memory(
    world: World, disk: SmallDisk
) -> None:
    world.model.script = [reply_text("Gone.")]
    disk.fill()
    world.ask("Session")
    world.conversations.delete(1, str(world.place.root))
    disk.free()
    world.conversations.close()
    assert not world.files.history_path(1).exists()
    assert world.conversations.archive.list_conversations(str(world.place.root)) == []


@pytest.mark.slow
def test_a_note_of_an_undoing_waits_for_room_too(world: World, disk: SmallDisk) -> None:
    world.model.script = [reply_text("Done.")]
    world.ask("Session")
    document = stored(world)
    agent = {"session": "abcdef01", "firstChange": 1, "messages": [], "changes": []}
    document["history"][0]["agent"] = agent
    world.files.write_history(1, json.dumps(document).encode())
    disk.fill()
    time_ms = document["history"][0]["time"]
    with world.conversations.lock_conversation(1, "busy"):
        world.conversations.record_undo(1, time_ms, [UndoResult("a.py", UndoState.RESTORED)])
    read = world.conversations.archive.read(1, str(world.place.root)).history[0].agent
    assert read
    assert read.undone
    disk.free()
    wait_until_saved()
    assert stored(world)["history"][0]["agent"]["undone"][0]["filePath"] == "a.py"


def test_a_file_in_the_place_of_the_folder_is_set_aside(world: World) -> None:
    world.model.script = [reply_text("Still here.")]
    folder = world.files.history_path(1).parent
    folder.write_text("in the way", encoding="utf-8")
    with world.begin("Session") as turn:
        events = list(turn.stream_events())
    assert (last(events).outcome, last(events).unsaved) == ("done", "")
    assert stored(world)["history"][0]["answer"] == "Still here."
    (aside,) = folder.parent.glob("conversations.unreadable-*")
    assert aside.read_text(encoding="utf-8") == "in the way"

"""Files of conversations that are damaged, or no files at all: the others notice nothing."""

import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from codekernel.cli.commands.doctor import check_user_files, quarantine_findings
from codekernel.domain.turn_events import TurnDone
from codekernel.storage.user_data import UserData
from support.conversation_world import World, reply_text

pytestmark = pytest.mark.skipif(os.name == "nt", reason="pipes have no names there")


def garbage(path: Path) -> None:
    path.write_bytes(random.Random(5).randbytes(300))  # noqa: S311 - the same bytes each time


def empty(path: Path) -> None:
    path.write_bytes(b"")


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "inside").write_text("kept", encoding="utf-8")


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def loop(path: Path) -> None:
    path.unlink()
    path.symlink_to(path)


DAMAGES = [garbage, empty, folder, pipe, loop]


def two_turns(world: World, number: int) -> Path:
    world.model.script = [reply_text("First."), reply_text("Second.")]
    world.ask("Session", number)
    world.ask("And routes?", number)
    return world.files.history_path(number)


def listed(world: World) -> dict[int, int]:
    return {
        each.conversation_id: each.turns
        for each in world.conversations.archive.list_conversations(str(world.place.root))
    }


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda each: each.__name__)
def test_a_ruined_history_disturbs_no_other_and_is_kept_when_its_conversation_continues(
    world: World, damage: Callable[[Path], None]
) -> None:
    path = two_turns(world, 1)
    two_turns(world, 2)
    damage(path)
    assert listed(world) == {2: 2}
    assert path.name in world.conversations.archive.list_damages()
    world.model.script = [reply_text("Anew.")]
    (*_, done) = world.ask("Session", 1)
    assert isinstance(done, TurnDone)
    assert done.unsaved == ""
    assert [turn["answer"] for turn in json.loads(path.read_bytes())["history"]] == ["Anew."]
    (aside,) = path.parent.glob(f"{path.name}.unreadable-*")
    if damage is folder:
        assert (aside / "inside").read_text(encoding="utf-8") == "kept"
    assert listed(world) == {1: 1, 2: 2}


@pytest.mark.parametrize("share", [0.5, 0.9, 0.99])
def test_of_a_truncated_history_the_whole_turns_are_shown_and_go_on(
    world: World, share: float
) -> None:
    path = two_turns(world, 1)
    content = path.read_bytes()
    turns = json.loads(content)["history"]
    cut = content[: int(len(content) * share)]
    path.write_bytes(cut)
    whole = sum(f'"time": {turn["time"]}' in cut.decode() for turn in turns)
    # repoPath stands at the end: without it nobody knows which repository it is about.
    assert path.name in world.conversations.archive.list_damages() or listed(world) == {}
    world.model.script = [reply_text("Third.")]
    world.ask("Go on", 1)
    answers = [turn["answer"] for turn in json.loads(path.read_bytes())["history"]]
    assert answers[-1] == "Third."
    assert len(answers) in {whole, whole + 1}
    (aside,) = path.parent.glob(f"{path.name}.unreadable-*")
    assert aside.read_bytes() == cut


def test_a_flipped_byte_costs_the_turn_it_is_in(world: World) -> None:
    path = two_turns(world, 1)
    content = path.read_bytes()
    place = content.index(b'"First."')
    path.write_bytes(content[:place] + b"\x00" + content[place + 1 :])
    assert listed(world) == {1: 1}
    (outline,) = world.conversations.archive.list_conversations(str(world.place.root))
    assert outline.damage
    history = world.conversations.archive.read(1, str(world.place.root))
    assert [turn.answer for turn in history.history] == ["Second."]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda each: each.__name__)
def test_a_ruined_journal_is_set_aside_and_never_waited_for(
    world: World, damage: Callable[[Path], None]
) -> None:
    two_turns(world, 1)
    journal = world.files.journal_path(1, 1700000000000)
    journal.parent.mkdir(exist_ok=True)
    journal.write_bytes(b"")
    damage(journal)
    was_empty = damage is empty
    world.conversations.recover()
    assert not os.path.lexists(journal)
    assert len(list(journal.parent.glob("*.unreadable-*"))) == (0 if was_empty else 1)
    assert listed(world) == {1: 2}


def test_a_journal_with_a_damaged_line_gives_what_can_be_read_and_is_kept(world: World) -> None:
    copies: list[tuple[Path, bytes]] = []

    def copy() -> None:
        (path,) = world.files.list_journals()
        copies.append((path, path.read_bytes()))

    world.model.script = [
        [*reply_text("One ")[:1], *reply_text("two ")[:1], *reply_text("three.")[:1], copy]
    ]
    world.ask("Session")
    world.files.history_path(1).unlink()
    (journal, content) = copies[0]
    journal.write_bytes(content.replace(b'"two "', b'"\x00wo "'))
    world.conversations.recover()
    history = json.loads(world.files.history_path(1).read_bytes())["history"]
    assert history[0]["answer"] == "One three."
    (aside,) = journal.parent.glob("*.unreadable-*")
    assert b"\x00wo" in aside.read_bytes()


def test_what_a_killed_process_was_writing_is_deleted_after_an_hour(world: World) -> None:
    path = two_turns(world, 1)
    old, recent = (path.with_name(f".{path.name}.{digit * 16}.tmp") for digit in "01")
    for each in (old, recent):
        each.write_bytes(b"half")
    os.utime(old, (1, 1))
    world.conversations.recover()
    assert (old.exists(), recent.exists()) == (False, True)


@pytest.mark.parametrize("name", ["conversations", "conversations/unfinished", "agent/sessions"])
@pytest.mark.parametrize("kind", ["file", "pipe", "loop"])
def test_something_in_the_place_of_a_folder_costs_nothing(
    world: World, user_data: Path, name: str, kind: str
) -> None:
    place = user_data / name
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(b"in the way")
    if kind != "file":
        {"pipe": pipe, "loop": loop}[kind](place)
    world.model.script = [reply_text("All the same.")]
    (*_, done) = world.ask("Session")
    assert isinstance(done, TurnDone)
    assert listed(world) == {1: 1}
    assert done.unsaved == ""


def test_the_check_names_everything_that_is_damaged_and_sets_aside_what_is_no_file(
    world: World, user_data: Path
) -> None:
    garbage(two_turns(world, 1))
    pipe(two_turns(world, 2))
    places: dict[str, Any] = {
        "agent/sessions/abcdef01.json": garbage,
        "agent/sessions/abcdef02.json": folder,
        "agent/journals/abcdef01/journal.jsonl": loop,
        "agent/journals/abcdef02": empty,
        "logs/kernel.log": folder,
        "conversations/unfinished/3-5.jsonl": pipe,
    }
    for name, damage in places.items():
        path = user_data / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")
        damage(path)
    found = check_user_files(UserData(user_data))
    assert {str(each.path.relative_to(user_data)) for each in found} == {
        *places, "conversations/conversation-1.json", "conversations/conversation-2.json",
    }  # fmt: skip
    assert not any(each.is_quarantined for each in found)
    aside = quarantine_findings(found)
    assert len(aside) == 5
    left = [each for each in check_user_files(UserData(user_data)) if not each.is_quarantined]
    assert {each.path.name for each in left} == {
        "conversation-1.json", "abcdef01.json", "abcdef02",
    }  # fmt: skip

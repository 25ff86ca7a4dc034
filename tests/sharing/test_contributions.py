"""What a member has embedded reaches the store, once, in packs of a good size, and is not lost."""

import os
import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest
from codekernel.sharing import contributions
from codekernel.sharing.contributions import (
    MAX_SMALL_PACKS,
    MAX_WAIT_SECONDS,
    SMALL_PACK_ROWS,
    PackOutbox,
)
from codekernel.sharing.store_backoff import MAX_BACKOFF_SECONDS
from codekernel.sharing.team_vectors import OUTBOX_FOLDER, TeamVectors
from sharing.team_world import (
    BUDGET_SECONDS,
    TeamWorld,
    contribute,
    expect,
    find,
    make_texts,
    make_vectors,
)

TEXTS = make_texts(40)


def count_waiting(member: TeamVectors) -> int:
    assert member.contributions
    return member.contributions.waiting


def send(member: TeamVectors) -> None:
    assert member.contributions
    member.contributions.send(BUDGET_SECONDS)


def test_a_reader_contributes_nothing(world: TeamWorld) -> None:
    contribute(world.join("ann", writes=False), TEXTS)
    assert world.list_packs() == []


def test_what_the_team_has_is_not_contributed_again(world: TeamWorld) -> None:
    contribute(world.join("ann"), TEXTS)
    bob = world.join("bob")
    find(bob, TEXTS)
    contribute(bob, TEXTS)
    assert len(world.list_packs()) == 1


def test_few_vectors_wait_for_more_but_not_for_ever(
    world: TeamWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contributions, "MIN_PACK_ROWS", 50)
    ann = world.join("ann")
    contribute(ann, TEXTS)
    assert world.list_packs() == []
    contribute(ann, make_texts(10, begin=1000))
    assert len(world.list_packs()) == 1, "both together"
    contribute(ann, make_texts(1, begin=2000))
    assert len(world.list_packs()) == 1
    (waiting,) = (world.folder / "ann" / OUTBOX_FOLDER).rglob("*.pack")
    long_ago = waiting.stat().st_mtime - MAX_WAIT_SECONDS
    os.utime(waiting, (long_ago, long_ago))
    send(ann)
    assert len(world.list_packs()) == 2
    assert count_waiting(ann) == 0


def test_many_vectors_are_sent_while_more_are_embedded(
    world: TeamWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contributions, "FULL_PACK_ROWS", 30)
    ann = world.join("ann")
    ann.contribute(TEXTS, make_vectors(TEXTS))
    send(ann)
    assert find(world.join("bob"), TEXTS) == expect(TEXTS)


def test_what_a_process_left_is_sent_by_the_next_one(world: TeamWorld) -> None:
    ann = world.join("ann")
    ann.contribute(TEXTS, make_vectors(TEXTS))
    assert ann.contributions
    ann.contributions.save()
    assert world.list_packs() == []
    again = world.join("ann")
    assert count_waiting(again) == len(TEXTS)
    send(again)
    assert find(world.join("bob"), TEXTS) == expect(TEXTS)
    assert count_waiting(again) == 0


def test_a_damaged_file_in_the_outbox_is_not_sent(world: TeamWorld) -> None:
    ann = world.join("ann")
    ann.contribute(TEXTS, make_vectors(TEXTS))
    assert ann.contributions
    ann.contributions.save()
    (waiting,) = (world.folder / "ann" / OUTBOX_FOLDER).rglob("*.pack")
    waiting.write_bytes(waiting.read_bytes()[:-1] + b"?")
    send(ann)
    assert world.list_packs() == []
    assert count_waiting(ann) == 0


def test_the_outbox_can_be_sent_without_the_salt(world: TeamWorld) -> None:
    ann = world.join("ann")
    ann.contribute(TEXTS, make_vectors(TEXTS))
    assert ann.contributions
    ann.contributions.save()
    outbox = PackOutbox(world.folder / "ann" / OUTBOX_FOLDER)
    assert outbox.send_all(world.open_store()) == len(TEXTS)
    assert outbox.send_all(world.open_store()) == 0
    assert find(world.join("bob"), TEXTS) == expect(TEXTS)


def test_many_small_packs_of_one_member_are_joined(world: TeamWorld) -> None:
    ann, bob = world.join("ann"), world.join("bob")
    contribute(bob, make_texts(3, begin=9000))
    texts = make_texts(2 * MAX_SMALL_PACKS)
    find(ann, texts)
    for begin in range(0, len(texts), 2):
        contribute(ann, make_texts(2, begin=begin))
    assert len(world.list_packs()) == 2, "that of the other member is left alone"
    assert find(world.join("cid"), texts) == expect(texts)


def test_what_could_not_be_sent_is_sent_later(world: TeamWorld) -> None:
    ann = world.join("ann")
    shutil.rmtree(world.store_folder)
    contribute(ann, TEXTS)
    assert "is it mounted?" in ann.problem
    assert count_waiting(ann) == len(TEXTS)
    world.store_folder.mkdir()
    world.clock.now += MAX_BACKOFF_SECONDS
    send(ann)
    assert count_waiting(ann) == 0
    assert find(world.join("bob"), TEXTS) == expect(TEXTS)


def test_no_more_waits_for_a_store_than_the_disk_is_to_hold(
    world: TeamWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contributions, "MAX_WAITING_ROWS", 50)
    shutil.rmtree(world.store_folder)
    ann = world.join("ann")
    for begin in range(0, 400, 40):
        contribute(ann, make_texts(40, begin=begin))
    assert count_waiting(ann) == 80


@pytest.mark.slow
def test_six_members_write_at_once_and_nothing_is_lost(world: TeamWorld) -> None:
    members = [world.join(f"m{number}") for number in range(6)]
    texts = [make_texts(SMALL_PACK_ROWS, begin=1000 * number) for number in range(6)]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(contribute, members, texts))
    reader = world.join("reader")
    for each in texts:
        assert find(reader, each) == expect(each)

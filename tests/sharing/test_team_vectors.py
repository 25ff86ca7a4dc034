"""What one member of a team has embedded, the others find; what goes wrong costs an embedding."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from codekernel.sharing import team_vectors
from codekernel.sharing.team_vectors import (
    MAX_BACKOFF_SECONDS,
    MAX_SMALL_PACKS,
    MAX_WAIT_SECONDS,
    MIN_PACK_ROWS,
    REFRESH_INTERVAL_SECONDS,
    SMALL_PACK_ROWS,
)
from codekernel.sharing.vector_pack import KEY_BYTES, TeamSecret
from sharing.team_world import FORMAT, TeamWorld, expect, find, make_texts, make_vectors

TEXTS = make_texts(40)


def test_a_team_mate_finds_every_vector_to_the_bit(world: TeamWorld) -> None:
    world.contribute(world.join("ann"), TEXTS)
    bob = world.join("bob")
    assert find(bob, TEXTS) == expect(TEXTS)
    assert bob.counts.found == len(TEXTS)
    row = FORMAT.row_bytes + KEY_BYTES
    assert bob.counts.fetched_bytes <= len(TEXTS) * row + 200


def test_unknown_texts_are_not_found_and_cost_nothing(world: TeamWorld) -> None:
    world.contribute(world.join("ann"), TEXTS)
    assert find(world.join("bob"), make_texts(5, begin=1000)) == {}


def test_only_the_rows_that_are_wanted_are_fetched(world: TeamWorld) -> None:
    world.contribute(world.join("ann"), TEXTS)
    bob = world.join("bob")
    wanted = {number: TEXTS[number] for number in (0, 1, 39)}
    assert find(bob, wanted) == expect(wanted)
    assert bob.counts.fetched_bytes < len(TEXTS) * KEY_BYTES + 200 + 4 * FORMAT.row_bytes


def test_another_team_in_the_same_store_finds_nothing(world: TeamWorld) -> None:
    world.contribute(world.join("ann"), TEXTS)
    other = replace(FORMAT, secret=TeamSecret.from_salt("the salt of others"))
    assert find(world.join("bob", pack_format=other), TEXTS) == {}


def test_another_model_finds_nothing(world: TeamWorld) -> None:
    world.contribute(world.join("ann"), TEXTS)
    other = replace(FORMAT, model="cd" * 32)
    assert find(world.join("bob", pack_format=other), TEXTS) == {}


def test_a_reader_contributes_nothing(world: TeamWorld) -> None:
    world.contribute(world.join("ann", writes=False), TEXTS)
    assert world.list_packs() == []


def test_what_the_team_has_is_not_contributed_again(world: TeamWorld) -> None:
    world.contribute(world.join("ann"), TEXTS)
    bob = world.join("bob")
    find(bob, TEXTS)
    world.contribute(bob, TEXTS)
    assert len(world.list_packs()) == 1


def test_few_vectors_wait_for_more_but_not_for_ever(world: TeamWorld) -> None:
    ann = world.join("ann")
    ann.contribute(TEXTS, make_vectors(TEXTS))
    ann.flush(60.0)
    assert world.list_packs() == []
    more = make_texts(MIN_PACK_ROWS, begin=1000)
    ann.contribute(more, make_vectors(more))
    ann.flush(60.0)
    assert len(world.list_packs()) == 1
    ann.contribute(make_texts(1, begin=5000), make_vectors(make_texts(1, begin=5000)))
    world.clock.now += MAX_WAIT_SECONDS
    ann.flush(60.0)
    assert len(world.list_packs()) == 2


def test_many_small_packs_of_one_member_are_joined(world: TeamWorld) -> None:
    ann, bob = world.join("ann"), world.join("bob")
    world.contribute(bob, make_texts(3, begin=9000))
    texts = make_texts(2 * MAX_SMALL_PACKS)
    find(ann, texts)
    for begin in range(0, len(texts), 2):
        world.contribute(ann, make_texts(2, begin=begin))
    assert len(world.list_packs()) == 2, "that of the other member is left alone"
    assert find(world.join("cid"), texts) == expect(texts)


def test_a_pack_that_was_joined_meanwhile_is_found_under_its_new_name(world: TeamWorld) -> None:
    ann, bob = world.join("ann"), world.join("bob")
    texts = make_texts(2 * MAX_SMALL_PACKS)
    for begin in range(0, len(texts) - 2, 2):
        world.contribute(ann, make_texts(2, begin=begin))
    find(bob, make_texts(1, begin=9000))  # knows the small packs
    world.contribute(ann, make_texts(2, begin=len(texts) - 2))
    assert len(world.list_packs()) == 1
    assert find(bob, texts) == expect(texts)


def test_a_changed_vector_is_never_given_out(
    world: TeamWorld, caplog: pytest.LogCaptureFixture
) -> None:
    world.contribute(world.join("ann"), TEXTS)
    # The last row; those in front of it are what was written.
    world.change_packs(lambda content: content[:-10] + bytes([content[-10] ^ 1]) + content[-9:])
    bob = world.join("bob")
    found = find(bob, TEXTS)
    assert set(TEXTS) - set(found) == {39}
    assert found == {name: row for name, row in expect(TEXTS).items() if name in found}
    assert "a vector is not the one that was written" in caplog.text
    assert find(bob, TEXTS) == {}, "such a pack is not used again"


def test_rows_of_a_pack_that_were_exchanged_are_never_given_out(world: TeamWorld) -> None:
    world.contribute(world.join("ann"), TEXTS)
    size = FORMAT.row_bytes

    def exchange(content: bytes) -> bytes:
        return content[: -2 * size] + content[-size:] + content[-2 * size : -size]

    world.change_packs(exchange)
    found = find(world.join("bob"), TEXTS)
    assert not {38, 39} & set(found)


def test_a_store_that_is_away_is_left_alone_for_a_while(
    world: TeamWorld, caplog: pytest.LogCaptureFixture
) -> None:
    world.contribute(world.join("ann"), TEXTS)
    bob = world.join("bob")
    away = world.store_folder.rename(world.folder / "unplugged")
    assert find(bob, TEXTS) == {}
    assert "there is no such folder; is it mounted?" in bob.problem
    assert caplog.text.count("cannot be used") == 1
    away.rename(world.store_folder)
    assert find(bob, TEXTS) == {}, "it is not asked again at once"
    world.clock.now += MAX_BACKOFF_SECONDS
    assert find(bob, TEXTS) == expect(TEXTS)
    assert bob.problem == ""


def test_what_could_not_be_sent_is_sent_later(world: TeamWorld) -> None:
    ann = world.join("ann")
    shutil.rmtree(world.store_folder)
    world.contribute(ann, TEXTS)
    assert ann.problem
    assert ann.waiting == len(TEXTS)
    world.store_folder.mkdir()
    world.clock.now += MAX_BACKOFF_SECONDS
    ann.flush(60.0, everything=True)
    assert ann.waiting == 0
    assert find(world.join("bob"), TEXTS) == expect(TEXTS)


def test_no_more_waits_for_a_store_than_memory_allows(
    world: TeamWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(team_vectors, "MAX_WAITING_ROWS", 30)
    ann = world.join("ann")
    ann.contribute(TEXTS, make_vectors(TEXTS))
    assert ann.waiting == 30


def test_contributions_of_others_are_noticed(world: TeamWorld) -> None:
    ann, bob = world.join("ann"), world.join("bob")
    assert find(bob, TEXTS) == {}
    world.contribute(ann, TEXTS)
    world.clock.now += REFRESH_INTERVAL_SECONDS
    assert find(bob, TEXTS) == expect(TEXTS)


def test_six_members_write_at_once_and_nothing_is_lost(world: TeamWorld) -> None:
    members = [world.join(f"m{number}") for number in range(6)]
    texts = [make_texts(SMALL_PACK_ROWS, begin=1000 * number) for number in range(6)]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(world.contribute, members, texts))
    reader = world.join("reader")
    for each in texts:
        assert find(reader, each) == expect(each)

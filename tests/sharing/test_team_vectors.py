"""What one member of a team has embedded, the others find; what goes wrong costs an embedding."""

from dataclasses import replace

import pytest
from codekernel.sharing.contributions import MAX_SMALL_PACKS
from codekernel.sharing.store_backoff import MAX_BACKOFF_SECONDS
from codekernel.sharing.team_vectors import (
    REFRESH_INTERVAL_SECONDS,
)
from codekernel.sharing.vector_pack import KEY_BYTES, TeamSecret
from sharing.team_world import FORMAT, TeamWorld, expect, find, make_texts

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


def test_contributions_of_others_are_noticed(world: TeamWorld) -> None:
    ann, bob = world.join("ann"), world.join("bob")
    assert find(bob, TEXTS) == {}
    world.contribute(ann, TEXTS)
    world.clock.now += REFRESH_INTERVAL_SECONDS
    assert find(bob, TEXTS) == expect(TEXTS)

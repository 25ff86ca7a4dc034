"""The keys of packs are fetched once, and only packs that are whole are looked up."""

from pathlib import Path

import pytest
from codekernel.sharing.pack_index import PackIndex
from codekernel.sharing.vector_pack import parse_pack_name
from sharing.team_world import BUDGET_SECONDS, FORMAT, TeamWorld, make_texts
from support.team_secret import SECRET

TEXTS = make_texts(30)
KEYS = [SECRET.hash_text(text) for text in TEXTS.values()]


def open_index(world: TeamWorld) -> PackIndex:
    index = PackIndex(world.open_store(), FORMAT, world.folder / "keys")
    index.refresh(lambda: BUDGET_SECONDS)
    return index


@pytest.fixture
def filled(world: TeamWorld) -> TeamWorld:
    world.contribute(world.join("ann"), TEXTS)
    return world


def test_a_key_is_found_in_its_row(filled: TeamWorld) -> None:
    places = open_index(filled).find([*KEYS, SECRET.hash_text("unknown")])
    assert [place.row if place else None for place in places] == [*range(30), None]


def test_known_keys_are_not_fetched_again(filled: TeamWorld) -> None:
    first, second = open_index(filled), open_index(filled)
    assert first.fetched_bytes > 0
    assert second.fetched_bytes == 0
    assert len(second) == len(first) == 30


def test_keys_on_disk_that_are_damaged_are_fetched_again(filled: TeamWorld) -> None:
    open_index(filled)
    (cached,) = (filled.folder / "keys").iterdir()
    cached.write_bytes(b"noise")
    again = open_index(filled)
    assert again.fetched_bytes > 0
    assert len(again) == 30


def test_keys_of_packs_that_are_gone_are_deleted(filled: TeamWorld) -> None:
    open_index(filled)
    for path in filled.list_packs():
        path.unlink()
    assert len(open_index(filled)) == 0
    assert list((filled.folder / "keys").iterdir()) == []


@pytest.mark.parametrize("size", [0, 100, -1])
def test_a_pack_that_was_cut_off_is_not_looked_up(filled: TeamWorld, size: int) -> None:
    filled.change_packs(lambda content: content[:size])
    assert len(open_index(filled)) == 0


def test_a_pack_with_other_keys_is_not_looked_up(
    filled: TeamWorld, caplog: pytest.LogCaptureFixture
) -> None:
    filled.change_packs(lambda content: content[:100] + bytes(16) + content[116:])
    assert len(open_index(filled)) == 0
    assert "not used: its keys are not those that were written" in caplog.text


def test_other_files_in_the_folder_are_left_alone(filled: TeamWorld) -> None:
    (pack,) = filled.list_packs()
    (pack.parent / "notes.txt").write_text("mine", encoding="utf-8")
    assert len(open_index(filled)) == 30
    assert (pack.parent / "notes.txt").exists()


def test_a_distrusted_pack_stays_out_although_it_is_listed(filled: TeamWorld) -> None:
    index = open_index(filled)
    (path,) = filled.list_packs()
    pack = parse_pack_name(path.relative_to(filled.store_folder).as_posix())
    assert pack
    index.forget(pack, distrust=True)
    index.refresh(lambda: BUDGET_SECONDS)
    assert len(index) == 0


def test_nothing_is_kept_where_the_disk_refuses(filled: TeamWorld, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    index = PackIndex(filled.open_store(), FORMAT, tmp_path / "file" / "keys")
    index.refresh(lambda: BUDGET_SECONDS)
    assert len(index) == 30

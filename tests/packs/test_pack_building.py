"""CI indexes exactly what is committed, and sends it; old packs go, the newest stay."""

import dataclasses
import os
import time
from pathlib import Path

import pytest
from codekernel.domain.settings import SharingMode
from codekernel.errors import StorageError
from codekernel.packs.commits import export_commit, find_commit, list_ancestors
from codekernel.packs.index_packs import IndexPacks, StoredIndexPack, make_label, select_expired
from codekernel.packs.pack_archive import PackRefused
from codekernel.packs.pack_building import PackBuilder
from codekernel.search.git_history import HistoryUnavailable
from packs.packs_world import FILES, PackWorld

pytestmark = pytest.mark.slow  # each makes a repository and some indexes


def make_builder(world: PackWorld, mode: SharingMode = SharingMode.READ_WRITE) -> PackBuilder:
    member = world.join("ci")
    member.settings = dataclasses.replace(member.settings, mode=mode)
    return PackBuilder(member.team, member.user_data, world.plan, lambda: world.pool)


def test_a_pack_holds_what_is_committed_and_nothing_that_lies_about(world: PackWorld) -> None:
    (world.root / "uncommitted.py").write_text("SECRET = 'not committed'\n", encoding="utf-8")
    (world.root / "README.md").write_text("edited\n", encoding="utf-8")
    world.find_file().unlink()
    built = world.build()
    assert built.files == len(FILES)
    (pack,) = world.list_packs().list_packs()
    manifest = world.list_packs().read_manifest(pack)
    assert (manifest.files, manifest.chunks) == (built.files, built.chunks)
    assert manifest.commit == world.history.git("rev-parse", "HEAD").strip()
    assert pack.label == manifest.repository == "repository"
    assert not list((world.folder / "ci" / "index").iterdir())


def test_what_is_tracked_is_exported_although_it_is_ignored(world: PackWorld) -> None:
    world.history.commit("ignore", {".gitignore": "build/\n"})
    (world.root / "build").mkdir()
    (world.root / "build" / "kept.py").write_text("x = 1\n", encoding="utf-8")
    world.history.git("add", "--force", "build/kept.py")
    world.history.commit("track", {})
    target = world.folder / "export"
    target.mkdir()
    place = find_commit(world.root, "HEAD")
    top = export_commit(world.root, place, target)
    names = {path.relative_to(top).as_posix() for path in top.rglob("*.py")}
    assert "build/kept.py" in names
    with world.open("ann", top, shares=False) as opened:
        assert opened.search_paths("path:build/kept.py") == ["build/kept.py"]


def test_a_folder_below_is_exported_with_its_own_paths(world: PackWorld) -> None:
    target = world.folder / "export"
    target.mkdir()
    place = find_commit(world.root / "src", "HEAD")
    top = export_commit(world.root / "src", place, target)
    assert (top / "session.py").exists()
    assert not (target / "README.md").exists()


def test_a_commit_that_has_a_pack_is_known(world: PackWorld) -> None:
    builder = make_builder(world)
    assert builder.find(find_commit(world.root, "HEAD"))
    world.history.commit("second", {})
    assert builder.find(find_commit(world.root, "HEAD")) is None
    first = list_ancestors(world.root)[1].commit
    assert builder.find(find_commit(world.root, first[:10]))


@pytest.mark.parametrize("name", ["main", "--all", "0" * 40, "abc"])
def test_a_commit_that_is_none_is_explained(world: PackWorld, name: str) -> None:
    with pytest.raises(HistoryUnavailable):
        find_commit(world.root, name)


def test_who_only_reads_builds_no_packs(world: PackWorld) -> None:
    with pytest.raises(StorageError, match='not "read-write"'):
        make_builder(world, SharingMode.READ)


def test_a_listing_names_a_pack_that_is_damaged(world: PackWorld) -> None:
    packs = world.list_packs()
    (pack,) = packs.list_packs()
    world.change(lambda content: content[:-10] + bytes(10))
    with pytest.raises(PackRefused):
        packs.read_manifest(pack)


def test_other_objects_in_the_folder_are_no_packs(world: PackWorld) -> None:
    place = world.find_file().parent
    (place / "notes.txt").write_bytes(b"x")
    (place / f"{'0' * 32}-{'1' * 16}-{'2' * 16}-{'3' * 16}.pack.tmp").write_bytes(b"x")
    assert len(world.list_packs().list_packs()) == 1


def test_ones_own_packs_are_found_also_after_a_change_of_the_salt(world: PackWorld) -> None:
    (sent,) = world.list_packs().list_packs()
    member = world.join("ann")
    member.secrets["sharing:salt"] = "the salt of next year"
    packs = IndexPacks(member.team.open_store())
    assert packs.list_packs() == []
    assert packs.list_own(sent.owner) == [sent]
    assert packs.list_own("0" * 16) == []
    packs.delete(sent)
    assert world.list_packs().list_packs() == []


def make_pack(label: str, days: float, profile: str = "p") -> StoredIndexPack:
    sent_at = time.time() - days * 24 * 60 * 60
    return StoredIndexPack(f"{label}{days}", label, "c", profile, "o", 1, sent_at, is_signed=False)


def test_old_packs_expire_but_the_newest_of_each_repository_stay() -> None:
    old = [make_pack("a", days) for days in (100, 90, 80)]
    young = [make_pack("a", 1), make_pack("a", 2)]
    alone = make_pack("b", 400)
    other = make_pack("a", 300, profile="q")
    assert select_expired([*old, *young, alone, other], 30, 1) == old[::-1]
    assert select_expired([*old, *young, alone, other], 30, 3) == old[1::-1]
    assert select_expired([*old, *young], 85, 1) == old[1::-1]


@pytest.mark.parametrize(
    ("name", "label"),
    [("My Repo!", "my-repo"), ("..", "repository"), ("代码", "repository"), ("a" * 90, "a" * 64)],
)
def test_a_label_is_safe_in_any_store(name: str, label: str) -> None:
    assert make_label(name) == label


def test_links_and_paths_out_of_an_archive_are_not_written(world: PackWorld) -> None:
    (world.root / "link.py").symlink_to("/etc/hostname")
    world.history.commit("link", {})
    target = world.folder / "export"
    target.mkdir()
    export_commit(world.root, find_commit(world.root, "HEAD"), target)
    assert not os.path.lexists(target / "link.py")
    assert {path.name for path in Path(target).iterdir()} == {".git", "README.md", "src"}

"""A base holds what its repositories have committed; what was built once is not built again."""

import os
import time
from pathlib import Path

import pytest
from base.base_world import API, WEB, BaseWorld
from codekernel.base.base_place import StoreUnsafe, find_base_place, require_conditional_writes
from codekernel.base.build_engines import LocalEngine
from codekernel.base.manifest import read_manifest
from codekernel.base.part_building import ROWS_SUFFIX
from codekernel.base.sources import find_sources
from codekernel.errors import StorageError, WrongParam
from codekernel.sharing.object_store import ObjectStore, StorePlace, StoreUnavailable
from codekernel.sharing.team import OpenedStore
from codekernel.storage.base.base_table import BaseTableError
from sharing.test_object_store import serve
from support.team_secret import SECRET

pytestmark = pytest.mark.slow  # each makes repositories, a base and indexes


def test_a_base_has_the_chunks_of_all_repositories(world: BaseWorld) -> None:
    built = world.build()
    assert [each.label for each in built.manifest.repositories] == ["api", "web"]
    assert [each.files for each in built.manifest.repositories] == [len(API), len(WEB)]
    assert world.open_table().count_rows() == built.manifest.chunks
    assert world.list_paths("pars")[0] == "api/src/header.py"
    assert world.list_paths("socket") == ["web/app.js"]
    assert read_manifest(world.opened.store, world.place.folder, built.version) == built.manifest


def test_what_is_not_committed_is_not_in_it(world: BaseWorld) -> None:
    (world.histories["api"].folder / "lies_about.py").write_text("secret = 1\n", encoding="utf-8")
    built = world.build("api")
    assert built.manifest.repositories[0].files == len(API)


def test_a_folder_without_git_is_indexed_as_it_is(world: BaseWorld, tmp_path: Path) -> None:
    plain = tmp_path / "repositories" / "Plain Folder"
    plain.mkdir()
    (plain / "notes.py").write_text("def remember(): ...\n", encoding="utf-8")
    (source,) = find_sources([("", plain)])
    assert (source.label, source.commit) == ("plain-folder", None)


def test_a_second_build_builds_only_what_has_changed(world: BaseWorld) -> None:
    world.build()
    assert world.build().parts_built == 0
    world.histories["web"].commit("more", {"more.js": "export const more = 1;\n"})
    assert world.build().parts_built == 1
    assert world.list_paths("more") == ["web/more.js"]


def test_a_build_that_was_interrupted_goes_on(world: BaseWorld) -> None:
    world.engine.max_parts = 1
    with pytest.raises(KeyboardInterrupt):
        world.build()
    world.engine.max_parts = 1_000
    assert world.build().parts_built == 1
    assert len(world.engine.built) == 2


def test_a_repository_that_fails_is_tried_again_and_named(world: BaseWorld) -> None:
    world.engine.failing = {"web"}
    built = world.build()
    assert built.problems == {"web": "the disk is broken"}
    assert [each.label for each in built.manifest.repositories] == ["api"]


def test_a_repository_that_fails_keeps_what_the_base_had_of_it(world: BaseWorld) -> None:
    world.build()
    world.histories["web"].commit("more", {"more.js": "export const more = 1;\n"})
    world.engine.failing = {"web"}
    assert world.build().problems
    assert world.list_paths("socket") == ["web/app.js"]


def test_nothing_is_published_when_every_repository_fails(world: BaseWorld) -> None:
    world.engine.failing = {"api", "web"}
    with pytest.raises(StorageError, match="no repository could be indexed"):
        world.build()
    with pytest.raises(BaseTableError):
        world.open_table()


def test_who_has_opened_a_build_goes_on_reading_it(world: BaseWorld) -> None:
    world.build()
    opened = world.open_table()
    world.histories["web"].commit("empty", {"app.js": "export const nothing = 0;\n"})
    world.build()
    assert [row["path"] for row in opened.search_terms(["socket"], (), 10)] == ["app.js"]
    assert world.list_paths("socket") == []


def test_a_damaged_part_is_not_published_and_is_built_again(world: BaseWorld) -> None:
    world.build()
    for path in world.store_folder.rglob(f"parts/*{ROWS_SUFFIX}"):
        path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(StorageError, match="a part of api: a part of the base is damaged"):
        world.build()
    with pytest.raises(StorageError, match="a part of web"):
        world.build()
    assert world.build().manifest.chunks == world.open_table().count_rows()


def test_parts_that_no_build_needs_any_more_are_deleted_after_a_week(world: BaseWorld) -> None:
    world.build()
    first = set(world.store_folder.rglob("parts/*"))
    long_ago = time.time() - 8 * 24 * 60 * 60
    for path in first:
        os.utime(path, (long_ago, long_ago))
    for number in range(3):
        for history in world.histories.values():
            history.commit("next", {f"next_{number}.py": f"x = {number}\n"})
        world.build()
    assert not first & set(world.store_folder.rglob("parts/*"))
    assert world.open_table().count_rows() == world.build().manifest.chunks


def test_two_repositories_of_one_name_need_another_one(world: BaseWorld) -> None:
    root = world.histories["api"].folder
    with pytest.raises(WrongParam, match="both called api"):
        find_sources([("", root), ("api", world.histories["web"].folder)])


@pytest.mark.parametrize("name", ["", "All", "../x", "a" * 65])
def test_a_name_that_is_none_is_explained(world: BaseWorld, name: str) -> None:
    with pytest.raises(WrongParam, match="is no name of a base"):
        find_base_place(world.opened, name, {})


def test_a_folder_keeps_what_is_there(world: BaseWorld) -> None:
    require_conditional_writes(world.opened.store)
    assert list(world.store_folder.rglob("probes/*")) == []


def test_a_store_that_ignores_conditions_is_not_written(world: BaseWorld) -> None:
    with serve(200, "") as endpoint:
        place = StorePlace("s3://team", endpoint, credentials="key:secret")
        world.opened = OpenedStore(ObjectStore(place, {}), SECRET)
        with pytest.raises(StoreUnsafe, match="would lose rows in it, so none is written"):
            world.build()


def test_a_store_that_is_not_there_is_explained(world: BaseWorld) -> None:
    world.store_folder.rmdir()
    with pytest.raises(StoreUnavailable, match="no such folder; is it mounted"):
        world.build()


def test_a_worker_that_is_killed_is_replaced_and_its_part_built_again(world: BaseWorld) -> None:
    engine = LocalEngine(1)
    try:
        world.build("api", engine=engine)
        (worker,) = engine._idle
        worker.process.kill()
        built = world.build(engine=engine)
    finally:
        engine.close()
    assert built.problems == {}
    assert built.parts_built == 1

"""A checkout over a base is searched as if all of it were indexed here."""

from pathlib import Path

import pytest
from base.base_world import API, PLAN, BaseWorld
from base.overlay_world import (
    POOL,
    QUERIES,
    OverlayHarness,
    RandomChanges,
    find_difference,
    make_files,
    open_alone,
    open_over_base,
    present,
    search_alone,
)
from codekernel.base.base_place import find_base_place
from codekernel.base.base_reader import BaseUnavailable, open_base
from codekernel.base.base_session import BaseSession
from codekernel.errors import WrongParam
from codekernel.indexing.repository_index import RepositoryIndex
from codekernel.search.pipeline import Searcher
from codekernel.storage.engines import CatalogDamaged
from indexing.harness import IndexHarness

pytestmark = pytest.mark.slow  # each makes repositories, a base and indexes


@pytest.fixture
def checkout(world: BaseWorld) -> Path:
    """Return a clone of a repository that is in the base as it is."""
    history = world.histories["api"]
    history.commit("more", make_files(40, seed=5))
    for branch, seed in (("other", 6), ("third", 7)):
        history.git("checkout", "--quiet", "-b", branch)
        history.commit(branch, make_files(12, seed))
        history.git("checkout", "--quiet", "main")
    world.build()
    target = world.folder / "clones" / "api"
    history.git("clone", "--quiet", str(history.folder), str(target))
    for branch in ("other", "third"):
        history.git("-C", str(target), "branch", branch, f"origin/{branch}")
    return target


def compare(over: OverlayHarness, alone: IndexHarness) -> str:
    """Return how the results of both differ."""
    differences = {
        query: find_difference(present(over.find(query)), present(search_alone(alone, query)))
        for query in QUERIES
    }
    return "; ".join(f"{query}: {it}" for query, it in differences.items() if it)


def test_a_checkout_of_what_the_base_has_is_not_indexed_here(
    world: BaseWorld, checkout: Path
) -> None:
    with open_over_base(world, checkout, "over") as over:
        assert over.index.get_status().files == 0
        assert "only what differs is indexed here" in over.index.get_status().notice
        with open_alone(world, checkout, "alone") as alone:
            assert compare(over, alone) == ""


def test_cosines_over_a_base_are_those_of_an_index_here(world: BaseWorld, checkout: Path) -> None:
    with (
        open_over_base(world, checkout, "over") as over,
        open_alone(world, checkout, "alone") as alone,
    ):
        (vectors,), (expected,) = over.cover().index.vector_indexes, alone.index.vector_indexes
        for query in QUERIES:
            found = dict(vectors.search(query, 1_000))
            assert found == pytest.approx(dict(expected.search(query, 1_000)), abs=1e-6)


@pytest.mark.parametrize("seed", [1, 2])
def test_edits_renames_deletes_and_switches_hide_what_they_replace(
    world: BaseWorld, checkout: Path, seed: int
) -> None:
    changes = RandomChanges(checkout, world.histories["api"].git, seed)
    with open_over_base(world, checkout, "over") as over:
        for turn in range(6):
            done = [changes.change() for _ in range(8)]
            over.rescan()
            with open_alone(world, checkout, f"alone{turn}") as alone:
                assert compare(over, alone) == "", done


def test_what_is_edited_renamed_or_deleted_hides_what_the_base_has(
    world: BaseWorld, checkout: Path
) -> None:
    with open_over_base(world, checkout, "over") as over:

        def find_paths(query: str) -> list[str]:
            return [hit.chunk.path for hit in over.find(query).hits]

        assert find_paths("Session is_closed")[0] == "src/session.py"
        over.write("src/session.py", "def is_open():\n    return True\n")
        (checkout / "src/header.py").rename(checkout / "src/head.py")
        (checkout / "README.md").unlink()
        over.wait_until(lambda: over.index.get_status().files == 2, "both are indexed here")
        over.wait_until_idle()
        found = over.find("Session is_closed").hits
        assert not [hit for hit in found if "is_closed" in hit.content]
        assert "src/header.py" not in find_paths("parse_header")
        assert find_paths("parse_header")[0] == "src/head.py"
        with pytest.raises(WrongParam, match="no indexed file"):
            over.find("path:README")


def test_hits_of_the_base_have_the_text_of_the_files_here(world: BaseWorld, checkout: Path) -> None:
    with open_over_base(world, checkout, "over") as over:
        hit = over.find("parse_header").hits[0]
        assert hit.content == API["src/header.py"]
        assert hit.freshness == "fresh"
        over.close_watcher()
        (checkout / "src/header.py").write_text("x = 1\n", encoding="utf-8")
        hit = over.find("parse_header").hits[0]
        assert (hit.content, hit.freshness) == (API["src/header.py"], "changed since indexed")


def test_a_base_that_does_not_answer_in_time_is_named_and_what_is_here_is_the_answer(
    world: BaseWorld, checkout: Path
) -> None:
    with open_over_base(world, checkout, "over", seconds=0.0) as over:
        over.write("src/mine.py", "def parse_header_of_mine():\n    return 1\n")
        over.wait_until_idle()
        over.wait_until(lambda: bool(over.find("parse_header").hits), "mine is found")
        found = over.find("parse_header")
        assert [hit.chunk.path for hit in found.hits] == ["src/mine.py"]
        assert "base all cannot be searched now" in found.gap
        assert found.gap.endswith("Only what you have changed was searched")


def test_a_base_that_is_away_at_the_start_keeps_what_was_known(
    world: BaseWorld, checkout: Path
) -> None:
    with open_over_base(world, checkout, "over"):
        pass
    world.store_folder.rename(world.folder / "unmounted")
    with open_over_base(world, checkout, "over") as over:
        assert over.index.get_status().files == 0
        assert "cannot be searched now" in over.index.get_status().notice
        assert "Only what you have changed is searched" in over.find("parse_header").gap
    (world.folder / "unmounted").rename(world.store_folder)
    with open_over_base(world, checkout, "over") as over:
        assert over.find("parse_header").hits[0].chunk.path == "src/header.py"


def test_a_repository_without_a_base_any_more_is_indexed_here(
    world: BaseWorld, checkout: Path
) -> None:
    with open_over_base(world, checkout, "over"):
        pass
    with open_alone(world, checkout, "over") as alone:
        assert present(search_alone(alone, "parse_header"))[0][0] == ("src/header.py", 0)


def test_a_new_build_replaces_the_one_that_was_known(world: BaseWorld, checkout: Path) -> None:
    with open_over_base(world, checkout, "over"):
        pass
    world.histories["api"].commit("edit", {"src/header.py": "def changed_upstream(): ...\n"})
    world.build()
    with open_over_base(world, checkout, "over") as over:
        assert over.index.get_status().files == 1
        assert over.find("parse_header").hits[0].content == API["src/header.py"]


def test_a_repository_that_the_base_does_not_have_is_indexed_here(
    world: BaseWorld, tmp_path: Path
) -> None:
    world.build()
    root = tmp_path / "unknown"
    root.mkdir()
    (root / "only_here.py").write_text("def only_here(): ...\n", encoding="utf-8")
    with open_over_base(world, root, "over") as over:
        assert "does not have this repository" in over.index.get_status().notice
        assert over.find("only_here").hits[0].chunk.path == "only_here.py"


def test_no_name_of_another_repository_is_found(world: BaseWorld, checkout: Path) -> None:
    with open_over_base(world, checkout, "over") as over:
        assert "app.js" not in [hit.chunk.path for hit in over.find("openSocket WebSocket").hits]


def test_a_base_that_was_never_built_or_is_half_gone_is_explained(
    world: BaseWorld, checkout: Path
) -> None:
    with pytest.raises(BaseUnavailable, match="there is none in the store; is its folder mounted"):
        open_base(find_base_place(world.opened, "another", {}))
    with open_over_base(world, checkout, "over") as over:
        for path in world.store_folder.rglob("*.lance"):
            if path.is_file():
                path.unlink()
        assert "a file of its table is gone" in over.find("unheard_of_word close").gap
    for path in world.store_folder.rglob("_versions/*"):
        path.unlink()
    with pytest.raises(BaseUnavailable, match="it was never built, or has been deleted"):
        open_base(world.place)


def test_who_only_reads_the_index_of_another_process_searches_the_base_too(
    world: BaseWorld, checkout: Path
) -> None:
    with open_over_base(world, checkout, "over") as over:
        session = BaseSession(checkout, over.session._open_base)
        reader = RepositoryIndex(checkout, over.folder, lambda: POOL, elsewhere=session)
        try:
            reader.start(PLAN)
            over.wait_until(lambda: session.is_open, "the base is open")
            assert reader.store.writer is None
            found = session.cover(Searcher(checkout, reader), reader).search("parse_header", 10)
        finally:
            reader.close()
        assert found[0].chunk.path == "src/header.py"


def test_a_search_goes_on_with_the_local_index_that_replaces_a_damaged_one(
    world: BaseWorld, checkout: Path
) -> None:
    with open_over_base(world, checkout, "over") as over:
        searcher = over.session.cover(Searcher(checkout, over.index), over.index)
        damaged = over.index.store
        assert searcher.recover(CatalogDamaged("it is damaged"), searcher.index.store)
        over.wait_until_idle()
        assert over.index.store is not damaged
        assert searcher.search("parse_header", 10)[0].chunk.path == "src/header.py"

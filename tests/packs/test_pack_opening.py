"""A member opens a repository with the index that CI has built, or builds it if that is bad."""

import itertools
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from codekernel.domain.concurrency import CancelToken
from codekernel.errors import Cancelled
from codekernel.indexing import vector_index
from codekernel.indexing.repository_index import RepositoryIndex
from codekernel.packs import index_packs
from codekernel.packs.commits import find_commit
from codekernel.packs.index_packs import IndexPacks, StoreTooSlow
from codekernel.packs.pack_archive import PackRefused
from codekernel.packs.pack_building import PackBuilder
from codekernel.sharing.object_store import StoreUnavailable
from codekernel.storage.catalog.catalog import Catalog
from codekernel.storage.vectors import SEED_SUFFIX
from codekernel.storage.vectors.in_memory_vectors import round_rows
from indexing.harness import static_plan
from packs.packs_world import FILES, PackWorld, count_embedded, expect_notice, search_all

pytestmark = pytest.mark.slow  # each makes a repository and some indexes


def test_a_pack_ranks_to_the_digit_as_ones_own_index_at_another_path(world: PackWorld) -> None:
    root = world.clone("elsewhere/deeper")
    with world.open("alone", root, shares=False) as alone:
        expected = search_all(alone)
    with world.open("ann", root) as ann:
        assert search_all(ann) == expected
        assert all(expected)
        assert count_embedded(ann) == 0
        assert ann.index.get_status().files == len(FILES)
        assert "ready in" in expect_notice(ann, "0 embedded")
    with world.open("ann", root) as again:  # without the store
        assert search_all(again) == expected
        assert again.index.get_status().notice == ""


def test_only_what_differs_from_the_pack_is_embedded(world: PackWorld) -> None:
    world.history.commit("later", {"src/later.py": "def later(): return 'committed after'\n"})
    root = world.clone("ann-root")
    (root / "src/header.py").write_text("def parse_header(line):\n    return 'edited'\n")
    (root / "src/part_3.py").unlink()
    (root / "src/part_4.py").rename(root / "src/moved.py")
    with world.open("ann", root) as ann:
        paths = {path for found in search_all(ann) for path, _, _ in found}
        assert {"src/moved.py", "src/header.py"} <= paths
        assert paths.isdisjoint({"src/part_3.py", "src/part_4.py"})
        assert ann.search_paths("committed after")[0] == "src/later.py"
        assert count_embedded(ann) == 2
        expect_notice(ann, "2 embedded")
        status = ann.index.get_status()
        assert status.files == len(FILES)
    with world.open("alone", root, shares=False) as alone:
        kept = {(path, line) for found in search_all(alone) for path, line, _ in found}
    assert kept >= {("src/moved.py", 0), ("src/header.py", 0)}


def test_the_pack_of_the_nearest_commit_is_taken(world: PackWorld) -> None:
    world.history.commit("second", {"src/second.py": "def second(): ...\n"})
    world.build()
    world.history.commit("third", {"src/third.py": "def third(): ...\n"})
    member = world.join("ann")
    found = member.opener.find(world.root, world.plan)
    assert found
    assert found.nearest.distance == 1
    world.history.git("checkout", "--quiet", "HEAD~2")
    found = member.opener.find(world.root, world.plan)
    assert found
    assert found.nearest.distance == 0


def test_a_folder_of_a_repository_has_packs_of_its_own(world: PackWorld) -> None:
    assert world.join("ann").opener.find(world.root / "src", world.plan) is None


def test_a_pack_of_other_models_is_not_taken(world: PackWorld) -> None:
    assert world.join("ann").opener.find(world.root, static_plan(500)) is None


def test_vectors_become_a_table_in_a_quiet_moment(world: PackWorld) -> None:
    with world.open("ann", world.clone("ann-root")) as ann:
        expected = search_all(ann)
        vectors = ann.folder / "vectors"
        ann.wait_until(lambda: not list(vectors.glob(f"*{SEED_SUFFIX}")), "a table")
        assert search_all(ann) == expected
    with world.open("ann", ann.root) as again:
        assert search_all(again) == expected


def restore(world: PackWorld, staging: Path) -> bool:
    opener = world.join("ann").opener
    return opener.restore(world.root, world.plan, staging, CancelToken(), lambda _: None)


def test_a_store_that_is_too_slow_is_not_waited_for(
    world: PackWorld, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(index_packs, "PIECE_BYTES", 500)
    times = itertools.count(0, 11)
    packs = IndexPacks(world.join("ann").team.open_store(), lambda: next(times))
    (pack,) = packs.list_packs()
    target = tmp_path / "fetched"
    with pytest.raises(StoreTooSlow, match="0 KB a second, which would take"):
        packs.fetch(pack, target, CancelToken(), min_bytes_per_second=80_000)
    packs.fetch(pack, target, CancelToken())  # somebody waits for it
    assert target.stat().st_size == pack.size


def test_vectors_that_this_machine_would_not_make_are_made_again(world: PackWorld) -> None:
    """A member with the salt, and with a machine that computes something else."""
    world.find_file().unlink()
    builder = world.join("ci")
    manifest_of = PackBuilder(builder.team, builder.user_data, world.plan, lambda: world.pool)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vector_index, "round_rows", lambda rows: round_rows(rows[:, ::-1]))
        manifest_of.build(world.root, find_commit(world.root, "HEAD"))
    with world.open("ann", world.clone("clone")) as ann:
        assert count_embedded(ann) == len(FILES)
        found = search_all(ann)
    with world.open("alone", ann.root, shares=False) as alone:
        assert search_all(alone) == found


def test_two_worktrees_take_the_same_pack_one_after_the_other(world: PackWorld) -> None:
    member = world.join("ann")
    done: list[bool] = []

    def take(number: int) -> None:
        staging = world.folder / f"in{number}"
        done.append(
            member.opener.restore(world.root, world.plan, staging, CancelToken(), lambda _: None)
        )

    threads = [threading.Thread(target=take, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert done == [True] * 4


def flip(position: float) -> Callable[[bytes], bytes]:
    def change(content: bytes) -> bytes:
        at = min(int(len(content) * position), len(content) - 1)
        return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]

    return change


@pytest.mark.parametrize(
    "change",
    [
        *(flip(place) for place in (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95, 0.999, 1.0)),
        lambda content: content[: len(content) // 2],
        lambda content: content[:-1],
        lambda content: content + b"x",
        lambda content: content[8:],
        lambda _: b"",
        lambda _: b"PK\x03\x04" * 20,
    ],
)
def test_a_pack_that_was_changed_is_refused(
    world: PackWorld, change: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    world.change(change)
    member = world.join("ann")
    with pytest.raises(PackRefused):
        member.opener.restore(
            world.root, world.plan, tmp_path / "in", CancelToken(), lambda _: None
        )
    assert not list(member.user_data.sharing_folder.glob("fetched/*.part"))


def test_the_index_is_built_from_the_files_if_the_pack_is_refused(
    world: PackWorld, caplog: pytest.LogCaptureFixture
) -> None:
    world.change(flip(0.5))
    with world.open("ann", world.root) as ann:
        assert ann.search_paths("Session.close")[0] == "src/session.py"
        notice = ann.index.get_status().notice
    assert notice.startswith("Your team's index is not used: its part")
    assert notice.endswith("It is built here instead.")
    assert notice in caplog.text
    assert not (ann.folder / "incoming").exists()


def test_a_pack_of_another_salt_is_not_seen(world: PackWorld) -> None:
    member = world.join("ann")
    member.secrets["sharing:salt"] = "the salt of others"
    assert member.opener.find(world.root, world.plan) is None


def test_a_pack_under_the_name_of_another_commit_is_refused(
    world: PackWorld, tmp_path: Path
) -> None:
    wrong = world.find_file()
    content = wrong.read_bytes()
    wrong.unlink()
    world.history.commit("second", {"src/second.py": "def second(): ...\n"})
    world.build()
    world.find_file().write_bytes(content)
    with pytest.raises(PackRefused, match="of another commit than its name says"):
        restore(world, tmp_path / "in")


def test_a_fetch_that_was_interrupted_goes_on(
    world: PackWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_packs, "PIECE_BYTES", 1_000)
    member, cancel = world.join("ann"), CancelToken()
    found = member.opener.find(world.root, world.plan)
    assert found
    with pytest.raises(Cancelled):
        member.opener.fetch(found, cancel, lambda text: cancel.cancel() if text else None)
    monkeypatch.setattr(index_packs, "PARALLEL_PIECES", 1)
    seen: list[int] = []

    def stop(done: int) -> None:
        seen.append(done)
        if len(seen) == 3:
            raise StoreUnavailable("gone")

    with pytest.raises(StoreUnavailable):
        found.packs.fetch(found.nearest.pack, found.path, CancelToken(), stop)
    assert seen == [1_000, 2_000, 3_000]
    assert found.path.stat().st_size == 3_000
    more: list[int] = []
    found.packs.fetch(found.nearest.pack, found.path, CancelToken(), more.append)
    assert more[0] == 4_000
    assert found.path.read_bytes() == world.find_file().read_bytes()
    with world.open("ann", world.root) as ann:
        expect_notice(ann, "0 embedded")


def test_a_store_that_is_away_is_named_and_the_index_built(world: PackWorld) -> None:
    world.settings = type(world.settings)(str(world.folder / "gone"), world.settings.mode)
    with world.open("ann", world.root) as ann:
        assert "is it mounted?" in ann.index.get_status().notice
        assert ann.search_paths("Session.close")[0] == "src/session.py"


def test_closing_does_not_wait_for_a_store_that_hangs(
    world: PackWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = CancelToken()

    def hang(*_: object) -> None:
        token.wait(60)
        raise Cancelled("closed")

    monkeypatch.setattr(IndexPacks, "fetch", hang)
    member = world.join("ann")
    index = RepositoryIndex(
        world.root,
        member.user_data.repo_index_folder(1),
        lambda: world.pool,
        restore_index=member.opener.restore,
    )
    index.start(world.plan)
    index.close()
    assert not token.is_cancelled  # nobody has ended it
    token.cancel()


def test_a_path_of_this_machine_is_not_in_a_pack(world: PackWorld, tmp_path: Path) -> None:
    staging = tmp_path / "in"
    assert restore(world, staging)
    secret = str(world.folder).encode()
    for path in staging.rglob("*"):
        assert not path.is_file() or secret not in path.read_bytes()
    catalog = Catalog(staging / "catalogue.db")
    assert {each.mtime_ns for each in catalog.list_files().values()} == {-1}
    catalog.close()

"""Whatever ends a process while it takes a pack, the index is whole afterwards."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from codekernel.domain.concurrency import CancelToken
from codekernel.indexing.files_elsewhere import NOTHING_ELSEWHERE
from codekernel.indexing.team_index import TeamIndexTaker
from codekernel.packs.pack_opening import PackOpener
from codekernel.storage.index_store import open_empty_index
from packs.packs_world import FILES, PackWorld, search_all
from support.effort import choose_tries
from support.pack_member import NEVER

pytestmark = pytest.mark.slow  # each makes a repository and some indexes

TESTS = Path(__file__).parents[1]


def expect_own(world: PackWorld) -> object:
    with world.open("alone", world.root, shares=False) as alone:
        return search_all(alone)


def fail_at(name: str, original: Callable[..., object]) -> Callable[..., object]:
    def fail(path: Path, *more: object) -> object:
        if "incoming" in path.parts and path.name.startswith(name):
            raise OSError(5, "the disk does not like this")
        return original(path, *more)

    return fail


@pytest.mark.parametrize("name", ["words", "catalogue.db.sums", "catalogue.db"])
def test_a_disk_that_fails_while_the_index_moves_in_costs_an_index_of_ones_own(
    world: PackWorld, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    for method in ("rename", "replace"):
        monkeypatch.setattr(Path, method, fail_at(name, getattr(Path, method)))
    with world.open("ann", world.root) as ann:
        found = search_all(ann)
        assert ann.index.get_status().files == len(FILES)
    monkeypatch.undo()
    assert found == expect_own(world)


def test_what_nobody_has_thought_of_costs_an_index_of_ones_own(
    world: PackWorld, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> bool:
        raise ZeroDivisionError

    monkeypatch.setattr(PackOpener, "restore", fail)
    with world.open("ann", world.root) as ann:
        assert ann.search_paths("Session.close")[0] == "src/session.py"
    assert "the team's index is not used" in caplog.text


def test_an_index_that_is_there_is_not_replaced(world: PackWorld) -> None:
    with world.open("ann", world.root, shares=False):
        pass
    with world.open("ann", world.root) as ann:
        assert ann.index.get_status().notice == ""


def test_a_pack_is_asked_for_once(world: PackWorld) -> None:
    asked: list[Path] = []

    def restore(root: Path, *_: object) -> bool:
        asked.append(root)
        return False

    with world.open("ann", world.root, shares=False) as ann, open_empty_index() as empty:
        taker = TeamIndexTaker(world.root, ann.folder, restore, NOTHING_ELSEWHERE)
        for _ in range(2):
            assert not taker.fetch(empty, world.plan, CancelToken())
        assert not TeamIndexTaker(world.root, ann.folder, restore, NOTHING_ELSEWHERE).fetch(
            ann.index.store, world.plan, CancelToken()
        )
    assert asked == [world.root]


@pytest.mark.skipif(sys.platform == "win32", reason="kill -9 is POSIX")
def test_a_member_who_is_killed_at_any_moment_finds_a_whole_index(world: PackWorld) -> None:
    expected, chance = expect_own(world), Random(5)  # noqa: S311 - repeatable, not secret
    calls = int(open_as_member(world, "whole", NEVER).stdout)
    for number in range(choose_tries(4, 20)):
        name, last = f"killed{number}", chance.randrange(1, calls)
        ended = open_as_member(world, name, last)
        assert ended.returncode in {0, -signal.SIGKILL}, ended.stderr
        with world.open(name, world.root) as again:
            assert search_all(again) == expected, f"killed at call {last} of {calls}"


def open_as_member(world: PackWorld, name: str, last: int) -> "subprocess.CompletedProcess[str]":
    """Open the repository in a process that is killed at its call of that number."""
    places = (world.folder / name, world.root, world.store_folder)
    return subprocess.run(
        [sys.executable, "-m", "support.pack_member", *map(str, places), str(last)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])},
        capture_output=True,
        text=True,
        check=False,
    )

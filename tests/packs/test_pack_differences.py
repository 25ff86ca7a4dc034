"""However the files differ from the pack, the index becomes the one that would be built alone."""

from pathlib import Path
from random import Random

import pytest
from codekernel.domain.index import FileRecord
from codekernel.storage.vectors import SEED_SUFFIX
from indexing.harness import IndexHarness
from packs.packs_world import PackWorld
from support.effort import choose_tries
from support.index_contents import compare

EDITS = 60


def edit(root: Path, chance: Random, number: int) -> None:
    """Change, add, rename or delete a file, or put another one in its place."""
    files = sorted(path for path in root.rglob("*") if path.is_file() and ".git" not in path.parts)
    chosen = chance.choice(files)
    match chance.randrange(5):
        case 0:
            chosen.write_text(f"def renamed_{number}():\n    return {number}\n", encoding="utf-8")
        case 1:
            target = root / f"new/file_{number}.py"
            target.parent.mkdir(exist_ok=True)
            target.write_text(f"class New{number}:\n    value = {number}\n", encoding="utf-8")
        case 2 if len(files) > 3:
            chosen.unlink()
        case 3:
            chosen.rename(chosen.with_name(f"moved_{number}.py"))
        case _:
            chosen.write_bytes(chance.choice(files).read_bytes())


def list_files(harness: IndexHarness) -> dict[str, FileRecord]:
    return harness.index.store.catalog.list_files()


def wait_for_table(harness: IndexHarness) -> None:
    vectors = harness.folder / "vectors"
    harness.wait_until(lambda: not list(vectors.glob(f"*{SEED_SUFFIX}")), "a table")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(choose_tries(2, 10)))
def test_random_edits_over_a_pack_make_the_index_of_the_files(world: PackWorld, seed: int) -> None:
    chance = Random(seed)  # noqa: S311 - repeatable, not secret
    world.history.git("checkout", "--quiet", "-b", "other")
    for number in range(5):
        edit(world.root, chance, 1000 + number)
    world.history.commit("on another branch", {})
    root = world.clone("clone")  # of the other branch, whose nearest commit has the pack
    for number in range(EDITS):
        edit(root, chance, number)
    with world.open("ann", root) as ann:
        assert "Your team's index was found" in ann.index.get_status().notice
        wait_for_table(ann)
        for number in range(EDITS):
            edit(root, chance, 2000 + number)
        world.history.git("-C", str(root), "stash", "--quiet", "--include-untracked")
        world.history.git("-C", str(root), "checkout", "--quiet", "HEAD~1")
    with (
        world.open(f"alone{seed}", root, shares=False) as alone,
        world.open("ann", root) as again,  # which forgets the files that were gone when looked at
    ):
        expected = {path: each.digest for path, each in list_files(alone).items()}
        again.wait_until(
            lambda: {path: each.digest for path, each in list_files(again).items()} == expected,
            "the same files",
        )
        again.wait_until_idle()
    compare(ann.folder, alone.folder)

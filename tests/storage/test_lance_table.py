"""Vectors on a disk that changes them: rows that differ are missing, and no search sees them."""

import os
import random
from pathlib import Path

import numpy as np
import pytest
from codekernel.storage.engines import VectorsDamaged, translate_lance_errors
from codekernel.storage.vectors.lance_table import FINGERPRINTS_FILE, compute_fingerprints
from codekernel.storage.vectors.vector_examination import examine_vectors
from codekernel.storage.vectors.vector_table import VectorTable

DIMENSIONS = 32
ROWS = 300


def make(folder: Path, adds: int = 3) -> None:
    table = VectorTable.open(folder, DIMENSIONS)
    for part in range(adds):
        keys = np.arange(part * ROWS // adds, (part + 1) * ROWS // adds)
        table.add(keys, vectors_of(keys))
    table.close()


def vectors_of(keys: np.ndarray) -> np.ndarray:
    return np.array([np.random.default_rng(int(key)).normal(size=DIMENSIONS) for key in keys])


def check_only_whole_rows(folder: Path) -> VectorTable:
    """Every row that a table has is right, and what is missing can be added again."""
    table = VectorTable.open(folder, DIMENSIONS)
    missing = table.find_missing(np.arange(ROWS))
    for key in np.setdiff1d(np.arange(ROWS), missing):
        found, cosines = table.search(vectors_of(np.array([key]))[0], 1)
        assert found[0] == key
        assert cosines[0] > 0.999
    table.add(missing, vectors_of(missing))
    assert len(table) == ROWS
    table.compact()
    table.close()
    assert examine_vectors(folder) == ""
    return table


def flip(file: Path, place: int, bit: int = 3) -> None:
    content = bytearray(file.read_bytes())
    content[place % len(content)] ^= 1 << bit
    file.write_bytes(content)


@pytest.mark.slow
def test_a_flipped_bit_in_the_data_costs_a_row_and_changes_no_ranking(tmp_path: Path) -> None:
    make(tmp_path / "v")
    chance = random.Random(4)  # noqa: S311
    for _ in range(12):
        data = sorted((tmp_path / "v").glob("rows.lance/data/*.lance"))
        flip(chance.choice(data), chance.randrange(10**6), chance.randrange(8))
        check_only_whole_rows(tmp_path / "v")


@pytest.mark.slow
def test_a_flipped_bit_in_any_manifest_is_survived(tmp_path: Path) -> None:
    make(tmp_path / "v")
    chance = random.Random(5)  # noqa: S311
    count = len(sorted((tmp_path / "v").glob("rows.lance/_versions/*.manifest")))
    assert count > 2  # the newest and older ones
    for number in range(12):
        folder = tmp_path / str(number)
        make(folder)
        manifests = sorted(folder.glob("rows.lance/_versions/*.manifest"))
        flip(manifests[number % count], chance.randrange(10**6), chance.randrange(8))
        check_only_whole_rows(folder)


@pytest.mark.slow
def test_what_can_still_be_read_of_a_damaged_table_is_not_embedded_again(tmp_path: Path) -> None:
    folder = tmp_path / "v"
    make(folder)
    oldest = max(folder.glob("rows.lance/_versions/*.manifest"))
    oldest.write_bytes(b"rubbish")
    table = VectorTable.open(folder, DIMENSIONS)
    assert len(table.find_missing(np.arange(ROWS))) == 0
    assert "moved aside" in table.repair_message
    assert len(list(tmp_path.glob("v.unreadable-*"))) == 1
    table.compact()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
@pytest.mark.parametrize("instead", ["pipe", "folder", "loop", "nothing"])
def test_something_else_in_the_place_of_data_neither_hangs_nor_stays(
    tmp_path: Path, instead: str
) -> None:
    folder = tmp_path / "v"
    make(folder, adds=1)
    (data,) = folder.glob("rows.lance/data/*.lance")
    data.unlink()
    if instead == "pipe":
        os.mkfifo(data)
    elif instead == "folder":
        data.mkdir()
    elif instead == "loop":
        data.symlink_to(data.name)
    check_only_whole_rows(folder)


def test_vectors_from_before_there_were_fingerprints_are_taken_over(tmp_path: Path) -> None:
    folder = tmp_path / "v"
    make(folder)
    (folder / FINGERPRINTS_FILE).unlink()
    table = VectorTable.open(folder, DIMENSIONS)
    assert len(table) == ROWS
    assert table.repair_message == ""
    table.close()
    flip(max(folder.glob("rows.lance/data/*.lance")), 5000)
    assert "differ" in examine_vectors(folder)


def test_fingerprints_that_are_lost_or_cut_short_cost_vectors_and_nothing_else(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "v"
    make(folder)
    file = folder / FINGERPRINTS_FILE
    file.write_bytes(file.read_bytes()[: 8 * 100 + 3])
    check_only_whole_rows(folder)


def test_each_bit_of_a_row_and_of_its_key_changes_the_fingerprint() -> None:
    for dimensions in (7, 8):
        keys, vectors = np.array([5]), np.ones((1, dimensions), np.float16)
        seen = {int(compute_fingerprints(keys, vectors)[0])}
        for place in range(dimensions * 16):
            changed = vectors.copy()
            changed.view(np.uint16)[0, place // 16] ^= 1 << (place % 16)
            seen.add(int(compute_fingerprints(keys, changed)[0]))
        for bit in range(63):
            seen.add(int(compute_fingerprints(keys ^ (1 << bit), vectors)[0]))
        assert len(seen) == 1 + dimensions * 16 + 63


@pytest.mark.parametrize("name", ["PanicException", "RustPanic"])
def test_a_panic_of_either_kind_is_damage(tmp_path: Path, name: str) -> None:
    panic = type(name, (BaseException,), {})
    with pytest.raises(VectorsDamaged), translate_lance_errors(tmp_path):
        raise panic("rust future panicked: unknown error")

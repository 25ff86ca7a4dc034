"""Vectors of other indexes are taken over only if they are as they were written."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from codekernel.storage.vectors.sibling_vectors import SiblingVectors
from codekernel.storage.vectors.vector_snapshot import get_snapshot_path
from codekernel.storage.vectors.vector_table import VectorTable

DIMENSIONS = 16
COUNT = 100


def some(count: int, seed: int = 0) -> npt.NDArray[np.float32]:
    rows = np.random.default_rng(seed).standard_normal((count, DIMENSIONS), np.float32)
    lengths: npt.NDArray[np.float32] = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / lengths


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "other" / "vectors" / "model-950"
    table = VectorTable.open(folder, DIMENSIONS)
    table.add(np.arange(COUNT), some(COUNT))
    table.close()
    return folder


def find(folder: Path) -> dict[int, npt.NDArray[np.float32]]:
    siblings = SiblingVectors([folder], DIMENSIONS)
    return {
        key: vector
        for keys, vectors in siblings.find(np.arange(COUNT + 5))
        for key, vector in zip(keys.tolist(), vectors, strict=True)
    }


def flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0x40
    file.write_bytes(content)


def damage_snapshot(folder: Path) -> None:
    flip(get_snapshot_path(folder))


def damage_rows(folder: Path) -> None:
    file = next(folder.glob("rows.lance/data/*.lance"))
    content = bytearray(file.read_bytes())
    place = content.index(some(COUNT)[50].astype("<f2").tobytes())
    content[place + 1] ^= 0x80  # the sign of the first number
    file.write_bytes(content)


def lose_checksums(folder: Path) -> None:
    damage_rows(folder)
    (folder / "rows.sums").unlink()


def damage_manifest(folder: Path) -> None:
    for manifest in folder.glob("rows.lance/_versions/*.manifest"):
        manifest.write_bytes(b"\xff" * 300)


def test_vectors_are_found_by_the_hash_of_their_text(folder: Path) -> None:
    found = find(folder)
    assert sorted(found) == list(range(COUNT))
    assert np.allclose(found[7], some(COUNT)[7], atol=1e-3)


@pytest.mark.parametrize("damage", [damage_snapshot, damage_rows, lose_checksums, damage_manifest])
def test_what_is_damaged_is_not_taken_over(folder: Path, damage: Callable[[Path], None]) -> None:
    damage(folder)
    found = find(folder)
    assert len(found) < COUNT or damage is damage_snapshot  # then the table itself is read
    for key, vector in found.items():
        assert np.allclose(vector, some(COUNT)[key], atol=1e-3), key

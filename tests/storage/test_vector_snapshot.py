import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from codekernel.storage.vectors.snapshot_files import get_snapshot_path
from codekernel.storage.vectors.vector_snapshot import MAX_DIGESTED_BYTES, read_snapshot
from codekernel.storage.vectors.vector_table import VectorTable

DIMENSIONS = 16
ROWS = 20_000  # more than a block


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "vectors"


def some(count: int, seed: int = 0) -> npt.NDArray[np.float32]:
    return np.random.default_rng(seed).standard_normal((count, DIMENSIONS), np.float32)


def fill(folder: Path, count: int = 100, exact_numbers: int = 10**9) -> None:
    table = VectorTable.open(folder, DIMENSIONS, max_exact_numbers=exact_numbers)
    table.add(np.arange(count), some(count))
    table.close()


def results(table: VectorTable) -> list[list[float]]:
    return [part.tolist() for query in some(5, 1) for part in table.search(query, 50)]


@pytest.mark.parametrize("exact_numbers", [10**9, 0])
@pytest.mark.parametrize("count", [100, ROWS])
def test_a_snapshot_answers_as_the_table_does(folder: Path, count: int, exact_numbers: int) -> None:
    fill(folder, count, exact_numbers)
    snapshot = VectorTable.open(folder, DIMENSIONS, max_exact_numbers=exact_numbers)
    get_snapshot_path(folder).unlink()
    whole = VectorTable.open(folder, DIMENSIONS, max_exact_numbers=exact_numbers)
    assert results(snapshot) == results(whole)
    for table in (snapshot, whole):
        assert table.find_missing(np.arange(count + 5)).tolist() == list(range(count, count + 5))
        assert len(table) == count


def test_rows_can_be_added_after_a_snapshot_was_read(folder: Path) -> None:
    fill(folder, 100)
    table = VectorTable.open(folder, DIMENSIONS)
    table.add(np.arange(100, 110), some(10, 7))
    assert table.search(some(10, 7)[3], 1)[0].tolist() == [103]
    table.close()
    again = VectorTable.open(folder, DIMENSIONS)
    assert len(again) == 110
    assert again.search(some(10, 7)[3], 1)[0].tolist() == [103]


def test_a_snapshot_of_another_version_or_another_model_is_not_used(folder: Path) -> None:
    fill(folder)
    old = get_snapshot_path(folder).read_bytes()
    table = VectorTable.open(folder, DIMENSIONS)
    table.add([500], some(1, 3))
    table.close()
    assert read_snapshot(folder, DIMENSIONS, 10**9) is not None
    get_snapshot_path(folder).write_bytes(old)
    assert read_snapshot(folder, DIMENSIONS, 10**9) is None
    assert len(VectorTable.open(folder, DIMENSIONS)) == 101
    assert read_snapshot(folder, DIMENSIONS + 1, 10**9) is None


@pytest.mark.parametrize("kind", ["flipped", "cut", "empty", "folder", "pipe"])
def test_a_damaged_snapshot_is_left_out_and_made_again(folder: Path, kind: str) -> None:
    fill(folder)
    path = get_snapshot_path(folder)
    content = path.read_bytes()
    if kind in {"folder", "pipe"}:
        path.unlink()
        (path.mkdir if kind == "folder" else lambda: os.mkfifo(path))()
    elif kind == "flipped":
        path.write_bytes(content[:-9] + bytes([content[-9] ^ 4]) + content[-8:])
    else:
        path.write_bytes(content[: len(content) // 2] if kind == "cut" else b"")
    assert read_snapshot(folder, DIMENSIONS, 10**9) is None
    table = VectorTable.open(folder, DIMENSIONS)
    assert len(table) == 100
    table.close()
    assert read_snapshot(folder, DIMENSIONS, 10**9) is not None


def fill_large(folder: Path, count: int = 100) -> None:
    """Fill a table that is too large for a digest of its files, by a file without content."""
    table = VectorTable.open(folder, DIMENSIONS)
    table.add(np.arange(count), some(count))
    (folder / "large").touch()
    os.truncate(folder / "large", MAX_DIGESTED_BYTES + 1)
    table.close()


def flip_byte(path: Path) -> None:
    """Change a byte in the middle, and neither the size nor the date."""
    found, content = path.stat(), bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))


def test_a_flipped_byte_of_a_large_table_changes_no_answer(folder: Path) -> None:
    fill_large(folder, ROWS)
    intact = results(VectorTable.open(folder, DIMENSIONS))
    (data,) = folder.glob("rows.lance/data/*.lance")
    flip_byte(data)
    assert read_snapshot(folder, DIMENSIONS, 10**9) is not None
    table = VectorTable.open(folder, DIMENSIONS)
    assert results(table) == intact
    # Without the snapshot the damaged row is missing, or all rows are: none is wrong.
    get_snapshot_path(folder).unlink()
    whole = VectorTable.open(folder, DIMENSIONS)
    assert whole.repair_message
    missing = whole.find_missing(np.arange(ROWS))
    whole.add(missing, some(ROWS)[missing])
    assert sorted(map(sorted, results(whole))) == sorted(map(sorted, intact))


def test_a_large_table_that_was_added_to_has_another_version(folder: Path) -> None:
    fill_large(folder)
    old = get_snapshot_path(folder).read_bytes()
    table = VectorTable.open(folder, DIMENSIONS)
    table.add([500], some(1, 3))
    table.close()
    get_snapshot_path(folder).write_bytes(old)
    assert read_snapshot(folder, DIMENSIONS, 10**9) is None


@pytest.mark.parametrize("exact_numbers", [10**9, 0])
def test_a_search_can_use_the_rows_of_a_snapshot_without_copying_them(
    folder: Path, exact_numbers: int
) -> None:
    fill(folder, ROWS, exact_numbers)
    vectors = read_snapshot(folder, DIMENSIONS, exact_numbers)
    assert vectors
    # numpy copies a block that is not aligned before each product: 16 MB for each client.
    assert all(column.flags.aligned for block in vectors.rows.blocks for column in block)


def test_searching_needs_no_lancedb(folder: Path) -> None:
    fill(folder)
    script = (
        "import sys, numpy; from pathlib import Path;"
        "from codekernel.storage.vectors.vector_table import VectorTable;"
        f"table = VectorTable.open(Path({str(folder)!r}), {DIMENSIONS});"
        f"assert len(table.search(numpy.ones({DIMENSIONS}), 5)[0]) == 5;"
        "table.save_snapshot(); table.close();"
        "assert not {'lancedb', 'pyarrow'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)

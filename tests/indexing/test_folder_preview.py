"""What would be indexed of a folder, before it is."""

from pathlib import Path

from codekernel.domain.concurrency import CancelToken
from codekernel.domain.index import SkipReason
from codekernel.indexing.folder_preview import preview_folder


def test_a_folder_is_counted_as_the_index_would_take_it(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "b.py").write_text("y = 2\n")
    (tmp_path / "c.png").write_bytes(b"\0" * 10)
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "d.js").write_text("z")
    found = preview_folder(tmp_path, CancelToken())
    assert (found.files, found.size) == (2, 12)
    assert found.languages == {"python": (2, 12)}
    assert found.skipped[SkipReason.BINARY] == 1
    assert sum(found.skipped.values()) == 2
    assert found.is_complete


def test_a_folder_that_takes_too_long_is_told_as_far_as_it_was_seen(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.py").write_text("x")
    found = preview_folder(tmp_path, CancelToken(), timeout_seconds=-1)
    assert found.files == 1
    assert not found.is_complete


def test_a_file_is_judged_by_its_name_alone(tmp_path: Path) -> None:
    (tmp_path / "data.bin").write_bytes(b"\0" * 10)
    found = preview_folder(tmp_path, CancelToken())
    assert found.files == 1
    assert not found.skipped

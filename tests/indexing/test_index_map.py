"""What is indexed and skipped, folder by folder."""

from codekernel.domain.index import FileRecord, SkippedFileRecord
from codekernel.indexing.index_map import build_index_map

FILES = {
    "main.go": 10,
    "src/a.py": 300,
    "src/web/b.ts": 200,
    "docs/c.md": 50,
}


def make_files(prefix: str = "") -> list[tuple[str, FileRecord]]:
    return [
        (path, FileRecord(number, size, 1, b""))
        for number, (path, size) in enumerate(FILES.items())
        if path.startswith(prefix)
    ]


def skip(path: str) -> SkippedFileRecord:
    return SkippedFileRecord(path, "binary", "", 1, 1)


def test_folders_hold_all_that_is_below_them_the_largest_first() -> None:
    found = build_index_map("", make_files(), [skip("src/x.bin"), skip("build/"), skip("y.bin")])
    assert [
        (each.name, each.is_folder, each.files, each.size, each.skipped) for each in found.entries
    ] == [
        ("src", True, 2, 500, 1),
        ("docs", True, 1, 50, 0),
        ("main.go", False, 1, 10, 0),
        ("build", True, 0, 0, 1),
        ("y.bin", False, 0, 0, 1),
    ]
    assert found.entries[0].language == "python"
    assert found.entries[3].language == ""
    assert [each.name for each in found.languages] == ["python", "typescript", "markdown", "go"]


def test_a_folder_is_a_map_of_its_own() -> None:
    found = build_index_map("src", make_files("src/"), [skip("src/web/x.bin"), skip("srcx/y.bin")])
    assert [(each.name, each.size, each.skipped) for each in found.entries] == [
        ("a.py", 300, 0),
        ("web", 200, 1),
    ]

import threading
from pathlib import Path

import pytest
from codekernel.errors import InvalidPath
from codekernel.runtime.repo_folders import is_folder_reachable, list_folders
from support.environ import Environ


def test_a_folder_that_does_not_answer_counts_as_gone(tmp_path: Path) -> None:
    never = threading.Event()

    class Silent(type(tmp_path)):  # type: ignore[misc]  # Path itself has no subclasses in 3.11
        def is_dir(self) -> bool:
            never.wait(60)
            return True

    assert not is_folder_reachable(Silent(tmp_path), timeout_seconds=0.05)
    assert is_folder_reachable(tmp_path)
    never.set()


def test_folders_are_listed_and_files_are_not(tmp_path: Path) -> None:
    for name in ("beta", "Alpha/.git", ".hidden"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "file.txt").write_text("x")
    found = list_folders(str(tmp_path))
    assert [(each.path.name, each.is_repository, each.is_hidden) for each in found.folders] == [
        (".hidden", False, True),
        ("Alpha", True, False),
        ("beta", False, False),
    ]
    assert found.is_complete


def test_without_a_path_it_is_the_home_folder(tmp_path: Path, environ: Environ) -> None:
    environ["HOME"] = str(tmp_path)
    environ["USERPROFILE"] = str(tmp_path)
    assert list_folders("").path == tmp_path


@pytest.mark.parametrize("path", ["demo", "/does/not/exist", "a\0b"])
def test_what_is_no_folder_is_refused(path: str) -> None:
    with pytest.raises(InvalidPath):
        list_folders(path)

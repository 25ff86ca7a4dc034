import os
from pathlib import Path

import pytest
from codekernel.domain.confinement.confined_path import MAX_OPEN_FOLDERS, OpenFolderStack
from codekernel.domain.confinement.folder_handle import FolderHandle

pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX descriptors")


def open_descriptors() -> int:
    return len(list(Path("/dev/fd").iterdir()))


def test_a_tree_of_any_depth_is_walked_with_few_folders_open(tmp_path: Path) -> None:
    depth = MAX_OPEN_FOLDERS * 3
    folder = tmp_path
    for number in range(depth):
        folder /= str(number)
    folder.mkdir(parents=True)
    (folder / "bottom").touch()
    before = open_descriptors()
    with OpenFolderStack(FolderHandle.open(tmp_path)) as levels:
        for number in range(depth):
            last = levels.enter(number, str(number))
        assert [entry.name for entry in last.entries()] == ["bottom"]
        assert open_descriptors() <= before + MAX_OPEN_FOLDERS + 1
        assert [entry.name for entry in levels.enter(1, "1").entries()] == ["2"]
        assert [entry.name for entry in levels.enter(0, "0").entries()] == ["1"]
    assert open_descriptors() == before


def test_a_folder_that_became_a_link_is_not_entered_however_deep_it_lies(tmp_path: Path) -> None:
    folder = tmp_path
    for number in range(MAX_OPEN_FOLDERS + 3):
        folder /= str(number)
    folder.mkdir(parents=True)
    with OpenFolderStack(FolderHandle.open(tmp_path)) as levels:
        for number in range(MAX_OPEN_FOLDERS + 2):
            levels.enter(number, str(number))
        folder.rmdir()
        folder.symlink_to(tmp_path)
        with pytest.raises(NotADirectoryError):
            levels.enter(MAX_OPEN_FOLDERS + 2, folder.name)

import os
from pathlib import Path

import pytest
from codekernel.domain.folder_handle import FolderHandle

pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX links")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path.resolve() / "one" / "two"
    made.mkdir(parents=True)
    (made / "a.py").touch()
    return made


def test_a_folder_whose_path_has_become_a_link_anywhere_is_not_opened(folder: Path) -> None:
    with FolderHandle.open(folder) as held:
        assert [entry.name for entry in held.entries()] == ["a.py"]
    folder.parent.rename(folder.parent.with_name("moved"))
    folder.parent.symlink_to("moved")
    with pytest.raises(OSError, match=r"Not a directory|Too many levels"):
        FolderHandle.open(folder)
    with FolderHandle.open(folder, follow=True) as held:
        assert [entry.name for entry in held.entries()] == ["a.py"]


def test_the_topmost_folder_of_all_can_be_opened() -> None:
    with FolderHandle.open(Path("/")) as held:
        assert held.entries()


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="no paths of open folders")
def test_a_child_process_begins_in_the_folder_that_was_opened(folder: Path) -> None:
    with FolderHandle.open(folder) as held:
        folder.rename(folder.with_name("moved"))
        folder.symlink_to("/")
        path = held.path_for_child(folder)
        assert [entry.name for entry in path.iterdir()] == ["a.py"]

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from codekernel.agent.workspace import atomic_write
from codekernel.agent.workspace.atomic_write import make_temporary_name
from codekernel.domain.folder_handle import FolderHandle

DISKS = (Path("/dev/shm"), Path("/var/tmp"))  # noqa: S108 - one is not that of the test's folder


def move(source: Path, target: Path) -> None:
    with FolderHandle.open(source.parent) as here, FolderHandle.open(target.parent) as there:
        atomic_write.move_entry(here, source.name, there, target.name, make_temporary_name())


@pytest.fixture
def other_disk(tmp_path: Path) -> Iterator[Path]:
    own = tmp_path.stat().st_dev
    other = next((disk for disk in DISKS if disk.is_dir() and disk.stat().st_dev != own), None)
    if other is None:
        pytest.skip("there is no second disk here")
    with tempfile.TemporaryDirectory(dir=other) as folder:
        yield Path(folder)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "run.sh").write_text("#!/bin/sh\n")
    (folder / "sub" / "run.sh").chmod(0o755)
    (folder / "link").symlink_to("sub/run.sh")
    (folder / "dead").symlink_to("/nowhere")
    return folder


def test_a_tree_goes_to_another_disk_and_back(tree: Path, other_disk: Path) -> None:
    move(tree, other_disk / "kept")
    assert not tree.exists()
    move(other_disk / "kept", tree)
    assert list(other_disk.iterdir()) == []
    assert (tree / "sub" / "run.sh").stat().st_mode & 0o777 == 0o755
    assert (tree / "link").readlink() == Path("sub/run.sh")
    assert (tree / "dead").readlink() == Path("/nowhere")
    assert [path.name for path in tree.parent.iterdir()] == ["tree"]


def test_a_file_and_a_link_go_to_another_disk(tree: Path, other_disk: Path) -> None:
    move(tree / "sub" / "run.sh", other_disk / "file")
    move(tree / "link", other_disk / "link")
    assert (other_disk / "file").read_text() == "#!/bin/sh\n"
    assert (other_disk / "link").is_symlink()
    assert sorted(path.name for path in tree.iterdir()) == ["dead", "sub"]
    assert list((tree / "sub").iterdir()) == []


def test_what_cannot_be_copied_whole_stays_where_it_was(tree: Path, other_disk: Path) -> None:
    os.mkfifo(tree / "sub" / "pipe")
    with pytest.raises(OSError, match="pipe"):
        move(tree, other_disk / "kept")
    assert (tree / "sub" / "run.sh").exists()
    assert (tree / "link").is_symlink()
    assert list(other_disk.iterdir()) == []

import errno
import os
from pathlib import Path
from typing import Any

import pytest
from codekernel.domain.confined_path import (
    MAX_OPEN_FOLDERS,
    ConfinedPath,
    OpenFolderStack,
    OutsideRootError,
    resolve_confined,
)
from codekernel.domain.folder_handle import FolderHandle

pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX links and descriptors")


@pytest.fixture
def top(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "demo"
    (folder / "src" / "deep").mkdir(parents=True)
    (folder / "src" / "a.py").write_text("a")
    (folder / "src" / "deep" / "b.py").write_text("b")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.py").write_text("secret")
    return folder


def open_descriptors() -> int:
    return len(list(Path("/dev/fd").iterdir()))


def reached(top: Path, path: str, **how: Any) -> ConfinedPath:
    return resolve_confined(FolderHandle.open(top), top, path, **how)


LINKS = {
    "to-file": "src/a.py",
    "to-folder": "src",
    "src/up": "..",
    "to-link": "to-file",
    "src/deep/far": "../../to-folder/deep",
}
LEADING = {
    "src/a.py": "src/a.py",
    "to-file": "src/a.py",
    "to-link": "src/a.py",
    "to-folder/deep/b.py": "src/deep/b.py",
    "src/up/src/up/to-file": "src/a.py",
    "src/deep/far/far/b.py": "src/deep/b.py",
    "to-folder/..": "",
    "to-folder/../src/deep/..": "src",
    "src/nothing/../a.py": "src/a.py",
    "src/a.py/../a.py": "src/a.py",
    "../demo/src/a.py": "src/a.py",
    "src/../../demo/to-folder": "src",
    ".": "",
}


@pytest.mark.parametrize("path", LEADING)
def test_links_and_dots_lead_where_they_always_did(path: str, top: Path) -> None:
    for link, target in LINKS.items():
        (top / link).symlink_to(target)
    (top / "whole").symlink_to(top / "src")
    with reached(top, path) as place:
        assert place.path == top / LEADING[path] == Path(os.path.realpath(top / path))
        assert place.require_status().st_ino == place.path.stat().st_ino
    with reached(top, "whole/deep/../a.py") as place:
        assert place.parts == ("src", "a.py")


@pytest.mark.parametrize("link", ["../outside", "/etc", "src/../../outside", "chain", "../demo2"])
@pytest.mark.parametrize("rest", ["", "/a.py", "/nothing/new"])
def test_a_link_that_leaves_is_refused_and_meant_itself_only_at_the_end(
    link: str, rest: str, top: Path
) -> None:
    (top / "chain").symlink_to(top.parent / "outside")
    (top / "way").symlink_to(link)
    with pytest.raises(OutsideRootError):
        reached(top, f"way{rest}")
    if rest:
        with pytest.raises(OutsideRootError):
            reached(top, f"way{rest}", follow=False)
    else:
        with reached(top, "way", follow=False) as place:
            assert place.is_link


def test_a_circle_of_links_ends(top: Path) -> None:
    (top / "one").symlink_to("two")
    (top / "two").symlink_to(top / "one")
    for path in ("one", "one/x", "two/../one"):
        with pytest.raises(OSError, match=os.strerror(errno.ELOOP)):
            reached(top, path)


def test_what_is_missing_is_told_apart_from_what_cannot_be_there(top: Path) -> None:
    with reached(top, "src/x/y/z.py") as place:
        assert (place.missing, place.name, place.status, place.error) == (
            ("x", "y"), "z.py", None, None
        )  # fmt: skip
    with reached(top, "src/a.py/x") as place:
        assert place.status is None
        with pytest.raises(NotADirectoryError):
            place.require_status()
        with pytest.raises(NotADirectoryError), place.create_missing_folders():
            pass


def test_folders_that_were_made_for_nothing_are_removed(top: Path) -> None:
    with (
        reached(top, "x/y/z") as place,
        pytest.raises(FileNotFoundError),
        place.create_missing_folders() as folder,
    ):
        folder.remove_file("nothing")
    assert sorted(path.name for path in top.iterdir()) == ["src"]
    with reached(top, "x/y/z") as place, place.create_missing_folders("z"):
        pass
    assert (top / "x" / "y" / "z").is_dir()


def test_a_place_stays_where_it_was_found_when_its_folder_is_swapped_for_a_link(top: Path) -> None:
    with reached(top, "src/a.py") as place:
        (top / "src").rename(top / "moved")
        (top / "src").symlink_to(top.parent / "outside")
        descriptor = place.open_file()
        assert os.read(descriptor, 9) == b"a"
        os.close(descriptor)
        place.parent.remove_file(place.name)
    assert not (top / "moved" / "a.py").exists()
    assert (top.parent / "outside" / "a.py").exists()


def test_a_file_that_became_a_link_or_a_pipe_is_neither_followed_nor_waited_for(top: Path) -> None:
    with reached(top, "src/a.py") as place:
        (top / "src" / "a.py").unlink()
        (top / "src" / "a.py").symlink_to(top.parent / "outside" / "a.py")
        with pytest.raises(OSError, match=os.strerror(errno.ELOOP)):
            place.open_file()
        (top / "src" / "a.py").unlink()
        os.mkfifo(top / "src" / "a.py")
        os.close(place.open_file())


def test_every_folder_on_the_way_is_let_go_of(top: Path) -> None:
    before = open_descriptors()
    for path in ("src/deep/b.py", "src/deep/..", "src/deep/../../src/x/y", "."):
        with reached(top, path):
            pass
    with pytest.raises(OutsideRootError):
        reached(top, "src/deep/../../..")
    assert open_descriptors() == before


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

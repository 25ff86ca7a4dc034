import os
import socket
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.index import FoundFile, SkippedPath, SkipReason
from codekernel.files.skip_rules import MAX_FILE_BYTES, WalkedFolder
from codekernel.files.walk import FileWalker

posix_only = pytest.mark.skipif(os.name == "nt", reason="POSIX files, links and owners")
NOBODY = 65534


def make(root: Path, *paths: str) -> Path:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("x", encoding="utf-8")
    return root


def walked(root: Path) -> dict[str, FoundFile | SkippedPath]:
    """Everything by its path; on the way, that each path alone has the same verdict."""
    walk = FileWalker(root)
    items = list(walk.iterate_files(CancelToken()))
    assert [walk.check_path(item.path) for item in items] == items
    assert len({item.path for item in items}) == len(items)
    return {item.path: item for item in items}


def reason(item: FoundFile | SkippedPath | None) -> str:
    return item.reason if isinstance(item, SkippedPath) else "found"


def test_files_are_found_with_size_and_time_in_an_order_that_stays(tmp_path: Path) -> None:
    make(tmp_path, "b/z", "b/a/c", "a.py", "c", ".hidden/x")
    status = (tmp_path / "a.py").stat()
    assert list(walked(tmp_path)) == ["a.py", "c", ".hidden/x", "b/z", "b/a/c"]
    assert walked(tmp_path)["a.py"] == FoundFile("a.py", 1, status.st_mtime_ns)


def test_one_subtree_is_walked_as_part_of_the_whole(tmp_path: Path) -> None:
    make(tmp_path, "a/b/c.py", "a/b/d.log", "a/e.py", "f/g.py", "a/out/h.py")
    (tmp_path / ".gitignore").write_text("*.log\nout/\n", encoding="utf-8")
    walk = FileWalker(tmp_path)
    everything = list(walk.iterate_files(CancelToken()))
    below = [item for item in everything if item.path.startswith("a/")]
    assert list(walk.iterate_folder("a", CancelToken())) == below
    assert list(walk.iterate_folder("a/", CancelToken())) == below
    assert list(walk.iterate_folder("", CancelToken())) == everything
    assert [item.path for item in walk.iterate_folder("a/e.py", CancelToken())] == ["a/e.py"]
    assert [reason(item) for item in walk.iterate_folder("a/out", CancelToken())] == ["ignored"]
    assert list(walk.iterate_folder("nowhere", CancelToken())) == []
    assert walk.is_skipped_folder("a/out")
    assert not walk.is_skipped_folder("a/b")


def test_a_cancelled_walk_ends(tmp_path: Path) -> None:
    make(tmp_path, *(f"{folder}/{file}" for folder in "abc" for file in "abc"))
    cancel = CancelToken()
    files = FileWalker(tmp_path).iterate_files(cancel)
    assert next(files).path == "a/a"
    cancel.cancel()
    assert list(files) == []


def test_a_path_alone_is_judged_even_if_it_makes_no_sense(tmp_path: Path) -> None:
    make(tmp_path, "a/b.py")
    walk = FileWalker(tmp_path)
    assert reason(walk.check_path("a/b.py")) == "found"
    assert reason(walk.check_path("a")) == "not-a-file"
    for nothing in ("b.py", "a/c", "a/b.py/c", "a\0b", "x/y/z"):
        assert walk.check_path(nothing) is None
    for outside in ("../x", "/etc/passwd", "a//b.py", "a/../a/b.py", "./a"):
        assert reason(walk.check_path(outside)) == "outside"


def test_a_root_that_is_gone_is_not_an_empty_repository(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list(FileWalker(tmp_path / "gone").iterate_files(CancelToken()))


def test_large_files_and_telling_names_are_left_out_unopened(tmp_path: Path) -> None:
    make(tmp_path, "yarn.lock", "a.min.js", "b.js.map", "c.png", "d.py")
    with (tmp_path / "huge.py").open("wb") as file:
        file.truncate(5_000_000_000)  # a sparse file: nothing is stored of it
    with (tmp_path / "data.csv").open("wb") as file:
        file.truncate(MAX_FILE_BYTES - 1)
    assert {path: reason(item) for path, item in walked(tmp_path).items()} == {
        "a.min.js": "minified",
        "b.js.map": "generated",
        "c.png": "binary",
        "d.py": "found",
        "data.csv": "too-large",
        "huge.py": "too-large",
        "yarn.lock": "generated",
    }


@posix_only
def test_links_are_named_and_never_followed(tmp_path: Path) -> None:
    root = make(tmp_path / "root", "real/a.py")
    make(tmp_path, "elsewhere/b.py")
    (root / "file").symlink_to("real/a.py")
    (root / "folder").symlink_to("real")
    (root / "real/loop").symlink_to(root)
    (root / "circle").symlink_to("circle")
    (root / "broken").symlink_to("nothing")
    (root / "out").symlink_to(tmp_path / "elsewhere")
    items = walked(root)
    assert {path: reason(item) for path, item in items.items()} == {
        "broken": "link",
        "circle": "link",
        "file": "link",
        "folder": "link",
        "out": "outside",
        "real/a.py": "found",
        "real/loop": "link",
    }
    assert items["file"] == SkippedPath(
        "file", SkipReason.LINK, "a link to real/a.py; what is there is looked at there"
    )
    walk = FileWalker(root)
    assert reason(walk.check_path("folder/a.py")) == "link"
    assert reason(walk.check_path("out/b.py")) == "outside"
    assert walk.check_path("circle/a.py") is None


@posix_only
def test_a_root_that_is_a_link_is_walked(tmp_path: Path) -> None:
    make(tmp_path / "real", "a.py")
    (tmp_path / "link").symlink_to("real")
    assert list(walked(tmp_path / "link")) == ["a.py"]


@posix_only
def test_pipes_sockets_and_devices_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    monkeypatch.chdir(tmp_path)  # a socket's path may have no more than 100 characters
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket.py")
        make(tmp_path, "a.py")
        items = walked(tmp_path)
    assert items["pipe.py"] == SkippedPath(
        "pipe.py", SkipReason.NOT_A_FILE, "a named pipe, not a file"
    )
    assert items["socket.py"] == SkippedPath(
        "socket.py", SkipReason.NOT_A_FILE, "a socket, not a file"
    )
    device = FileWalker(Path("/dev")).check_path("null")
    assert device == SkippedPath("null", SkipReason.NOT_A_FILE, "a device, not a file")


@posix_only
def test_names_that_are_no_text_go_there_and_back(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9 \xff\n.py")
    try:
        make(tmp_path, name)
    except OSError:
        pytest.skip("this file system takes only names that are text")
    (tmp_path / ".gitignore").write_bytes(b"*.log\n")
    assert reason(walked(tmp_path)[name]) == "found"
    (tmp_path / ".gitignore").write_bytes(b"caf\xe9*\n")
    assert reason(walked(tmp_path)[name]) == "ignored"


CHILD = """
import os, sys
from pathlib import Path
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.index import FoundFile
from codekernel.files.reading import read_source_file
from codekernel.files.walk import FileWalker
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(int(sys.argv[2]))
    os.setuid(int(sys.argv[2]))
root = Path(sys.argv[1])
walk = FileWalker(root)
for item in walk.iterate_files(CancelToken()):
    assert walk.check_path(item.path) == item, (item, walk.check_path(item.path))
    result = read_source_file(root, item) if isinstance(item, FoundFile) else item
    print(item.path, getattr(result, "reason", "read"))
"""


@posix_only
def test_what_the_system_refuses_is_said_and_the_rest_goes_on() -> None:
    with TemporaryDirectory() as name:  # not tmp_path, which nobody else may enter
        root = make(Path(name), "closed/a.py", "listed/b.py", "open/c.py", "open/secret.py")
        modes = {"closed": 0o000, "listed": 0o744, "open/secret.py": 0o000, ".": 0o755}
        for path, mode in modes.items():
            (root / path).chmod(mode)
        done = subprocess.run(
            [sys.executable, "-c", CHILD, str(root), str(NOBODY)],
            cwd=Path(__file__).parents[2],
            capture_output=True,
            text=True,
            check=False,
        )
        for path in modes:
            (root / path).chmod(0o755)
    assert not done.stderr
    # The owner of a folder, unlike a stranger, may also enter what others may only list.
    listed = "unreadable" if os.getuid() == 0 else "read"
    assert done.stdout.splitlines() == [
        "closed/ unreadable",
        f"listed/b.py {listed}",
        "open/c.py read",
        "open/secret.py unreadable",
    ]


@posix_only
@pytest.mark.parametrize("deep", ["", "one/two/"])
def test_a_folder_that_becomes_a_link_during_the_walk_is_not_entered(
    tmp_path: Path, deep: str
) -> None:
    root = make(tmp_path / "repo", "a.py", f"{deep}src/b.py")
    outside = make(tmp_path / "outside", "secret.py", ".gitignore", "src/secret.py")
    files = FileWalker(root).iterate_files(CancelToken())
    assert next(files).path == "a.py"
    swapped = root / (deep or "src/").split("/")[0]
    swapped.rename(tmp_path / "aside")
    swapped.symlink_to(outside)
    met = list(files)
    assert [reason(item) for item in met] == ["vanished"]
    assert not any("secret" in item.path for item in met)


@posix_only
def test_a_folder_that_became_a_link_is_not_walked_when_it_is_asked_for(tmp_path: Path) -> None:
    root = make(tmp_path / "repo", "src/deep/b.py")
    outside = make(tmp_path / "outside", "deep/secret.py")
    walk = FileWalker(root)
    assert walk.is_skipped_folder("src/deep") is False  # its rules are known from now on
    (root / "src").rename(tmp_path / "aside")
    (root / "src").symlink_to(outside)
    assert not any("secret" in item.path for item in walk.iterate_folder("src/deep", CancelToken()))


@posix_only
def test_rules_are_not_read_through_a_folder_that_became_a_link(tmp_path: Path) -> None:
    root = make(tmp_path / "repo", "src/deep/b.py")
    outside = make(tmp_path / "outside", "deep/b.py")
    (outside / "deep" / ".codekernelignore").write_text("b.*\n")

    class Swapping(FileWalker):
        """Swaps the folder once it was found to be one."""

        def _enter_cached(self, parent: WalkedFolder, name: str) -> WalkedFolder | SkippedPath:
            if name == "deep":
                (root / "src").rename(tmp_path / "aside")
                (root / "src").symlink_to(outside)
            return super()._enter_cached(parent, name)

    assert reason(Swapping(root).check_path("src/deep/b.py")) == "unreadable"

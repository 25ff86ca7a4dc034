"""What may lie in a repository or happen to it: each has its reason, and the rest goes on."""

import os
import socket
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from codekernel.domain.index import FRESH
from indexing.followed import Followed, Open, static_plan

HEALTHY = "def heartbeat(value):\n    return value\n"
COLUMNS = 1_000_000
HUGE_BYTES = 5 * 1024**3

pytestmark = [pytest.mark.slow]
on_posix = pytest.mark.skipif(sys.platform == "win32", reason="names and files of POSIX")


def reasons(followed: Followed) -> dict[str, str]:
    refused = followed.index.store.catalog.list_skipped()
    return {path: entry.reason for path, entry in refused.items()}


def see_whole(followed: Followed) -> None:
    """Every text has its words and vectors, nothing is noted as unfinished, nothing crashed."""
    store = followed.index.store
    files, chunks, _ = store.catalog.count_contents()
    assert files > 0
    assert store.lexical.document_count == chunks
    assert store.active_writer.list_pending() == []
    assert followed.index.get_status().trouble == ""
    for arm in followed.index.vector_indexes:
        _, keys = store.catalog.read_chunk_keys(arm.config.max_chunk_chars)
        assert not any(arm.is_missing(key, arm.config.max_chunk_chars) for key in keys.tolist())
    assert followed.crashes == []


def pipe(place: Path) -> None:
    os.mkfifo(place)


def listening_socket(place: Path) -> None:
    here = Path.cwd()
    os.chdir(place.parent)  # the name of a socket may have some hundred bytes at the most
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(place.name)
    finally:
        os.chdir(here)


def device(place: Path) -> None:
    try:
        os.mknod(place, stat.S_IFCHR | 0o600, os.makedev(1, 3))
    except OSError:  # only root may; to everybody else a link to one looks like this
        place.symlink_to("/dev/null")


def sparse(place: Path) -> None:
    with place.open("wb") as file:
        file.truncate(HUGE_BYTES)


def one_line(place: Path) -> None:
    words = "".join(f"var v{number}={number};" for number in range(COLUMNS // 12))
    place.write_text(words, encoding="utf-8")


BAD: dict[str, tuple[Callable[[Path], None], set[str]]] = {
    "pipe.py": (pipe, {"not-a-file"}),
    "socket.py": (listening_socket, {"not-a-file"}),
    "device.py": (device, {"not-a-file", "outside"}),
    "huge.py": (sparse, {"too-large"}),
    "line.js": (one_line, {"minified"}),
    "nul.py": (lambda place: place.write_bytes(b"def a():\0\0\0 pass\n") and None, {"binary"}),
    "loop.py": (lambda place: place.symlink_to(place.name), {"link"}),
}


@on_posix
@pytest.mark.timeout(300)
@pytest.mark.parametrize("live", [False, True], ids=["before", "while-open"])
def test_what_is_no_text_is_refused_with_its_reason_and_the_rest_goes_on(
    open_index: Open, *, live: bool
) -> None:
    followed = open_index(start=False)
    followed.write("healthy.py", HEALTHY)
    if live:
        followed.index.start(static_plan(1500))
        followed.settle()
    for path, (make, _) in BAD.items():
        make(followed.root / path)
    followed.write("z/later.py", "def afterwards(): ...\n")
    followed.index.start(static_plan(1500))
    followed.wait_until(lambda: reasons(followed).keys() >= BAD.keys(), "all refused")
    followed.wait_until(lambda: "z/later.py" in followed.done(), "the last file")
    followed.settle()
    for path, (_, expected) in BAD.items():
        assert reasons(followed)[path] in expected, path
        refusal = followed.index.store.catalog.find_skipped(path)
        assert refusal
        assert refusal.detail
    assert followed.paths("heartbeat")[0] == "healthy.py"
    see_whole(followed)
    for path in BAD:  # and once they are gone, so are the reasons
        (followed.root / path).unlink()
    followed.wait_until(lambda: not reasons(followed), "reasons forgotten")


@on_posix
def test_odd_texts_are_indexed_line_by_line_as_they_are(open_index: Open) -> None:
    followed = open_index(start=False)
    mixed = "first_line = 1\r\nsecond_line = 2\rthird_line = 3\nfourth_line = 4\r\n"
    (followed.root / "mixed.py").write_bytes(mixed.encode())
    (followed.root / "bom.py").write_bytes(b"\xef\xbb\xbf" + HEALTHY.encode())
    (followed.root / "wide.py").write_bytes("\ufeffdef widescreen(): ...\n".encode("utf-16-le"))
    (followed.root / "empty.py").touch()
    followed.index.start(static_plan(1500))
    followed.settle()
    (hit,) = [hit for hit in followed.search("third_line") if hit.chunk.path == "mixed.py"]
    assert hit.content == mixed
    (bom,) = [hit for hit in followed.search("heartbeat") if hit.chunk.path == "bom.py"]
    assert (bom.content, bom.chunk.begin_line) == (HEALTHY, 0)
    assert followed.paths("widescreen")[0] == "wide.py"
    assert sorted(followed.done()) == ["bom.py", "empty.py", "mixed.py", "wide.py"]
    see_whole(followed)


@on_posix
def test_a_name_that_is_no_text_is_indexed_found_renamed_and_forgotten(open_index: Open) -> None:
    followed = open_index(start=False)
    odd = os.fsdecode(b"caf\xe9.py")
    followed.write(odd, HEALTHY)
    followed.index.start(static_plan(1500))
    followed.wait_until(lambda: odd in followed.done(), "indexed")
    followed.settle()
    (hit,) = followed.search("heartbeat")
    assert (hit.chunk.path, hit.content, hit.freshness) == (odd, HEALTHY, FRESH)
    odder = os.fsdecode(b"\xff\xfe/caf\xe9.py")
    (followed.root / odder).parent.mkdir()
    (followed.root / odd).rename(followed.root / odder)
    followed.wait_until(lambda: followed.paths("heartbeat") == [odder], "renamed")
    (followed.root / odder).unlink()
    followed.write("other.py", "other = 1\n")
    followed.wait_until(lambda: followed.words("heartbeat") == [], "forgotten")
    followed.settle()
    see_whole(followed)


def test_a_rename_that_changes_only_the_case_is_followed(open_index: Open) -> None:
    followed = open_index(start=False)
    followed.write("Readme.py", HEALTHY)
    followed.write("other.py", "other = 1\n")
    followed.index.start(static_plan(1500))
    followed.settle()
    before = followed.commits()
    (followed.root / "Readme.py").rename(followed.root / "README.py")
    followed.wait_until(lambda: followed.words("heartbeat") == ["README.py"], "renamed")
    followed.settle()
    assert sorted(followed.index.store.catalog.list_files()) == ["README.py", "other.py"]
    assert followed.commits() == before
    see_whole(followed)


def become(place: Path, what: str) -> None:
    """Replace a file by something else."""
    place.unlink()
    if what == "folder":
        place.mkdir()
    elif what == "pipe":
        os.mkfifo(place)
    elif what == "link":
        place.symlink_to("healthy.py")


@on_posix
@pytest.mark.parametrize("what", ["nothing", "folder", "pipe", "link"])
def test_a_file_replaced_between_being_found_and_being_read_has_its_reason(
    open_index: Open, what: str
) -> None:
    followed = open_index(start=False)
    followed.write("healthy.py", HEALTHY)
    followed.write("victim.py", "def sacrifice(): ...\n")

    def strike(path: str, status: str, progress: float) -> None:
        """Called by the index itself, when it has found the file and before it reads it."""
        if path == "victim.py" and not struck:
            struck.append(path)
            become(followed.root / path, what)

    struck: list[str] = []
    followed.index.subscribe(strike, followed.crashes.append)
    followed.index.start(static_plan(1500))
    followed.wait_until(lambda: "victim.py" in followed.done(), "told to be done")
    followed.settle()
    assert followed.done().count("victim.py") == 1
    assert followed.words("sacrifice") == []
    assert followed.paths("heartbeat")[0] == "healthy.py"
    expected = {"nothing": None, "folder": None, "pipe": "not-a-file", "link": "link"}[what]
    followed.wait_until(lambda: reasons(followed).get("victim.py") == expected, "its reason")
    see_whole(followed)


def test_a_file_that_was_indexed_and_is_left_out_now_has_its_reason(open_index: Open) -> None:
    followed = open_index(start=False)
    followed.write("healthy.py", HEALTHY)
    followed.write("secret.py", "def clandestine(): ...\n")
    followed.index.start(static_plan(1500))
    followed.settle()
    followed.write(".gitignore", "secret.py\n")
    followed.wait_until(lambda: followed.words("clandestine") == [], "left out")
    followed.settle()
    assert reasons(followed) == {"secret.py": "ignored"}
    (followed.root / "healthy.py").write_bytes(b"\0\1\2" * 100)
    followed.wait_until(lambda: reasons(followed).get("healthy.py") == "binary", "refused")
    followed.write("healthy.py", HEALTHY)
    followed.wait_until(lambda: followed.words("heartbeat") == ["healthy.py"], "back")
    followed.settle()
    see_whole(followed)


def test_a_root_that_is_deleted_and_made_again_is_followed_again(open_index: Open) -> None:
    followed = open_index(start=False)
    followed.write("healthy.py", HEALTHY)
    followed.index.start(static_plan(1500))
    followed.settle()
    (followed.root / "healthy.py").unlink()
    followed.root.rmdir()
    followed.wait_until(lambda: "gone" in followed.index.get_status().trouble, "trouble told")
    assert followed.index.get_status().files == 1
    followed.write("fresh.py", "def springtime(): ...\n")
    followed.wait_until(lambda: followed.paths("springtime") == ["fresh.py"], "followed")
    followed.wait_until(lambda: followed.index.get_status().files == 1, "the old file forgotten")
    followed.settle()
    see_whole(followed)

"""What may lie in a repository or happen to it: each has its reason, and the rest goes on."""

import os
import socket
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from codekernel.domain.index import FRESH
from indexing.harness import IndexHarness, Open, static_plan

HEALTHY = "def heartbeat(value):\n    return value\n"
COLUMNS = 1_000_000
HUGE_BYTES = 5 * 1024**3

pytestmark = [pytest.mark.slow]
on_posix = pytest.mark.skipif(sys.platform == "win32", reason="names and files of POSIX")


def reasons(harness: IndexHarness) -> dict[str, str]:
    refused = harness.index.store.catalog.list_skipped()
    return {path: entry.reason for path, entry in refused.items()}


def see_whole(harness: IndexHarness) -> None:
    """Every text has its words and vectors, nothing is noted as unfinished, nothing crashed."""
    store = harness.index.store
    files, chunks, _ = store.catalog.count_contents()
    assert files > 0
    assert store.lexical.document_count == chunks
    harness.wait_until(lambda: not store.active_writer.list_pending(), "committed")
    assert harness.index.get_status().trouble == ""
    for each in harness.index.vector_indexes:
        _, keys = store.catalog.read_chunk_keys(each.config.max_chunk_chars)
        assert not any(each.is_missing(key, each.config.max_chunk_chars) for key in keys.tolist())
    assert harness.crashes == []


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


def nul_bytes(place: Path) -> None:
    place.write_bytes(b"def a():\0\0\0 pass\n")


BAD: dict[str, tuple[Callable[[Path], None], set[str]]] = {
    "pipe.py": (pipe, {"not-a-file"}),
    "socket.py": (listening_socket, {"not-a-file"}),
    "device.py": (device, {"not-a-file", "outside"}),
    "huge.py": (sparse, {"too-large"}),
    "line.js": (one_line, {"minified"}),
    "nul.py": (nul_bytes, {"binary"}),
    "loop.py": (lambda place: place.symlink_to(place.name), {"link"}),
}


@on_posix
@pytest.mark.parametrize("live", [False, True], ids=["before", "while-open"])
def test_what_is_no_text_is_refused_with_its_reason_and_the_rest_goes_on(
    open_index: Open, *, live: bool
) -> None:
    harness = open_index(start=False)
    harness.write("healthy.py", HEALTHY)
    if live:
        harness.index.start(static_plan(1500))
        harness.wait_until_idle()
    for path, (make, _) in BAD.items():
        make(harness.root / path)
    harness.write("z/later.py", "def afterwards(): ...\n")
    harness.index.start(static_plan(1500))
    harness.wait_until(lambda: reasons(harness).keys() >= BAD.keys(), "all refused")
    harness.wait_until(lambda: "z/later.py" in harness.list_done(), "the last file")
    harness.wait_until_idle()
    for path, (_, expected) in BAD.items():
        assert reasons(harness)[path] in expected, path
        refusal = harness.index.store.catalog.find_skipped(path)
        assert refusal
        assert refusal.detail
    assert harness.search_paths("heartbeat")[0] == "healthy.py"
    see_whole(harness)
    for path in BAD:  # and once they are gone, so are the reasons
        (harness.root / path).unlink()
    harness.wait_until(lambda: not reasons(harness), "reasons forgotten")


@on_posix
def test_odd_texts_are_indexed_line_by_line_as_they_are(open_index: Open) -> None:
    harness = open_index(start=False)
    mixed = "first_line = 1\r\nsecond_line = 2\rthird_line = 3\nfourth_line = 4\r\n"
    (harness.root / "mixed.py").write_bytes(mixed.encode())
    (harness.root / "bom.py").write_bytes(b"\xef\xbb\xbf" + HEALTHY.encode())
    (harness.root / "wide.py").write_bytes("\ufeffdef widescreen(): ...\n".encode("utf-16-le"))
    (harness.root / "empty.py").touch()
    harness.index.start(static_plan(1500))
    harness.wait_until_idle()
    (hit,) = [hit for hit in harness.search("third_line") if hit.chunk.path == "mixed.py"]
    assert hit.content == mixed
    (bom,) = [hit for hit in harness.search("heartbeat") if hit.chunk.path == "bom.py"]
    assert (bom.content, bom.chunk.begin_line) == (HEALTHY, 0)
    assert harness.search_paths("widescreen")[0] == "wide.py"
    assert sorted(harness.list_done()) == ["bom.py", "empty.py", "mixed.py", "wide.py"]
    see_whole(harness)


@on_posix
def test_a_name_that_is_no_text_is_indexed_found_renamed_and_forgotten(open_index: Open) -> None:
    harness = open_index(start=False)
    odd = os.fsdecode(b"caf\xe9.py")
    harness.write(odd, HEALTHY)
    harness.index.start(static_plan(1500))
    harness.wait_until(lambda: odd in harness.list_done(), "indexed")
    harness.wait_until_idle()
    (hit,) = harness.search("heartbeat")
    assert (hit.chunk.path, hit.content, hit.freshness) == (odd, HEALTHY, FRESH)
    odder = os.fsdecode(b"\xff\xfe/caf\xe9.py")
    (harness.root / odder).parent.mkdir()
    (harness.root / odd).rename(harness.root / odder)
    harness.wait_until(lambda: harness.search_paths("heartbeat") == [odder], "renamed")
    (harness.root / odder).unlink()
    harness.write("other.py", "other = 1\n")
    harness.wait_until(lambda: harness.search_lexical("heartbeat") == [], "forgotten")
    harness.wait_until_idle()
    see_whole(harness)


def test_a_rename_that_changes_only_the_case_is_followed(open_index: Open) -> None:
    harness = open_index(start=False)
    harness.write("Readme.py", HEALTHY)
    harness.write("other.py", "other = 1\n")
    harness.index.start(static_plan(1500))
    harness.wait_until_idle()
    before = harness.count_commits()
    (harness.root / "Readme.py").rename(harness.root / "README.py")
    harness.wait_until(lambda: harness.search_lexical("heartbeat") == ["README.py"], "renamed")
    harness.wait_until_idle()
    assert sorted(harness.index.store.catalog.list_files()) == ["README.py", "other.py"]
    assert harness.count_commits() == before
    see_whole(harness)


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
    harness = open_index(start=False)
    harness.write("healthy.py", HEALTHY)
    harness.write("victim.py", "def sacrifice(): ...\n")

    def strike(path: str, status: str, progress: float) -> None:
        """Called by the index itself, when it has found the file and before it reads it."""
        if path == "victim.py" and not struck:
            struck.append(path)
            become(harness.root / path, what)

    struck: list[str] = []
    harness.index.subscribe(strike, harness.crashes.append)
    harness.index.start(static_plan(1500))
    harness.wait_until(lambda: "victim.py" in harness.list_done(), "told to be done")
    harness.wait_until_idle()
    assert harness.list_done().count("victim.py") == 1
    assert harness.search_lexical("sacrifice") == []
    assert harness.search_paths("heartbeat")[0] == "healthy.py"
    expected = {"nothing": None, "folder": None, "pipe": "not-a-file", "link": "link"}[what]
    harness.wait_until(lambda: reasons(harness).get("victim.py") == expected, "its reason")
    see_whole(harness)


def test_a_file_that_was_indexed_and_is_left_out_now_has_its_reason(open_index: Open) -> None:
    harness = open_index(start=False)
    harness.write("healthy.py", HEALTHY)
    harness.write("secret.py", "def clandestine(): ...\n")
    harness.index.start(static_plan(1500))
    harness.wait_until_idle()
    harness.write(".gitignore", "secret.py\n")
    harness.wait_until(lambda: harness.search_lexical("clandestine") == [], "left out")
    harness.wait_until_idle()
    assert reasons(harness) == {"secret.py": "ignored"}
    (harness.root / "healthy.py").write_bytes(b"\0\1\2" * 100)
    harness.wait_until(lambda: reasons(harness).get("healthy.py") == "binary", "refused")
    harness.write("healthy.py", HEALTHY)
    harness.wait_until(lambda: harness.search_lexical("heartbeat") == ["healthy.py"], "back")
    harness.wait_until_idle()
    see_whole(harness)


def test_a_root_that_is_deleted_and_made_again_is_followed_again(open_index: Open) -> None:
    harness = open_index(start=False)
    harness.write("healthy.py", HEALTHY)
    harness.index.start(static_plan(1500))
    harness.wait_until_idle()
    (harness.root / "healthy.py").unlink()
    harness.root.rmdir()
    harness.wait_until(lambda: "gone" in harness.index.get_status().trouble, "trouble told")
    assert harness.index.get_status().files == 1
    harness.write("fresh.py", "def springtime(): ...\n")
    harness.wait_until(lambda: harness.search_paths("springtime") == ["fresh.py"], "harness")
    harness.wait_until(lambda: harness.index.get_status().files == 1, "the old file forgotten")
    harness.wait_until_idle()
    see_whole(harness)

"""The checksums that tantivy writes are ours to compare: any flipped bit is noticed."""

import random
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from codekernel.domain.lexical_tokenizer import tokenize_query
from codekernel.errors import StorageError
from codekernel.storage.engines import LexicalIndexDamaged
from codekernel.storage.lexical_documents import LexicalDocument, stem_text
from codekernel.storage.lexical_index import (
    MAX_QUERY_TERMS,
    LexicalIndex,
    hash_path,
    read_opstamp,
    verify_lexical,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.effort import FULL

MAPS = Path("/proc/self/maps")


def document(chunk_id: int, body: str, *, symbols: str = "", path: str = "") -> LexicalDocument:
    return LexicalDocument(chunk_id, body, symbols, path)


def found(index: LexicalIndex, query: str, k: int = 10) -> list[int]:
    return [chunk_id for chunk_id, _ in index.search(tokenize_query(query), k)]


@pytest.fixture
def index(tmp_path: Path) -> LexicalIndex:
    return LexicalIndex.open(tmp_path / "words", writable=True)


def test_what_was_committed_is_found_and_the_best_comes_first(index: LexicalIndex) -> None:
    index.replace(
        "a.py",
        [
            document(1, "def parse_header(line): return line.split(':')"),
            document(2, "parse the header, then parse the header again: parseHeader()"),
            document(3, "nothing of the kind"),
        ],
    )
    index.commit()
    hits = index.search(tokenize_query("parseHeader"), 10)
    assert {chunk_id for chunk_id, _ in hits} == {1, 2}
    assert [score for _, score in hits] == sorted((score for _, score in hits), reverse=True)
    assert all(score > 0 for _, score in hits)
    assert index.document_count == 3


def test_chunks_of_a_file_are_replaced_while_the_others_stay(index: LexicalIndex) -> None:
    index.replace("a.py", [document(1, "first needle"), document(2, "second needle")])
    index.replace("b.py", [document(3, "third needle")])
    index.commit()
    index.update("a.py", [2], [document(4, "fourth needle")])
    index.commit()
    assert sorted(found(index, "needle")) == [1, 3, 4]
    assert found(index, "second") == []
    index.update("a.py", [4], [document(4, "fourth, with other names", symbols="needle")])
    index.commit()
    assert sorted(found(index, "needle")) == [1, 3, 4]
    index.replace("a.py", [])
    index.commit()
    assert found(index, "needle") == [3]


def test_stems_that_are_given_are_those_that_would_be_made(index: LexicalIndex) -> None:
    body = "def parseHeaders(lines): return [parse(line) for line in lines]"
    index.replace("a.py", [document(1, body)])
    index.replace("b.py", [document(2, body)._replace(body_stems=stem_text(body))])
    index.commit()
    for query in ("parseHeaders", "line", "parsing", "return"):
        ((first, score), (second, other)) = index.search(tokenize_query(query), 10)
        assert ({first, second}, score) == ({1, 2}, other)


def test_nothing_is_seen_before_the_commit(index: LexicalIndex) -> None:
    index.replace("a.py", [document(1, "needle")])
    assert found(index, "needle") == []
    index.commit()
    assert found(index, "needle") == [1]


def test_replace_forgets_what_the_path_had_and_nothing_else(index: LexicalIndex) -> None:
    index.replace("a.py", [document(1, "needle"), document(2, "needle")])
    index.replace("b.py", [document(3, "needle")])
    index.commit()
    index.replace("a.py", [document(4, "needle")])
    index.commit()
    assert sorted(found(index, "needle")) == [3, 4]
    index.replace("a.py", [])
    index.commit()
    assert found(index, "needle") == [3]
    assert index.document_count == 1


def test_a_path_replaced_twice_before_a_commit_has_only_its_last_content(
    index: LexicalIndex,
) -> None:
    index.replace("a.py", [document(1, "needle")])
    index.replace("a.py", [document(2, "needle")])
    index.commit()
    assert found(index, "needle") == [2]


@pytest.mark.parametrize(
    ("path", "neighbour"),
    [
        ("src/a.py", "src/a.pyi"),
        ("src/a.py", "src/A.py"),
        ("src/a.py", "src"),
        ("", "a"),
        ("caf\u00e9.py", "cafe\u0301.py"),
        ("na\udcffme", "na\udcfeme"),
        ("登录.py", "登.py"),
        ("with blank.py", "with  blank.py"),
        ('a" OR b:*', "a"),
        ("x" * 70_000, "x" * 70_001),
        ("a\0b", "a"),
        ("line\nbreak", "line"),
    ],
)
def test_a_path_is_deleted_exactly(index: LexicalIndex, path: str, neighbour: str) -> None:
    index.replace(path, [document(1, "needle", path=path)])
    index.replace(neighbour, [document(2, "needle", path=neighbour)])
    index.commit()
    index.replace(path, [])
    index.commit()
    assert found(index, "needle") == [2]


@given(st.text(st.characters()), st.text(st.characters()))
def test_different_paths_have_different_keys(one: str, other: str) -> None:
    assert (hash_path(one) == hash_path(other)) == (one == other)
    hash_path(one).encode("ascii")


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25, deadline=None
)
@given(st.text(st.characters()), st.integers(-(2**63), 2**63 - 1))
def test_any_text_can_be_indexed_and_any_query_asked(
    index: LexicalIndex, text: str, chunk_id: int
) -> None:
    index.replace("a", [document(chunk_id, text, symbols=text, path=text)])
    index.commit()
    assert found(index, text) == ([chunk_id] if tokenize_query(text) else [])


@pytest.mark.parametrize(
    "query", ['body:needle AND "', "needle) OR (", "*", "[a TO z]", "-needle", "needle^9", "\\"]
)
def test_no_query_is_syntax(index: LexicalIndex, query: str) -> None:
    index.replace("a.py", [document(1, "needle"), document(2, "hay")])
    index.commit()
    assert found(index, query) == ([1] if "needle" in query else [])


def test_any_word_may_match_and_english_endings_do_not_matter(index: LexicalIndex) -> None:
    index.replace("a.py", [document(1, "open connections"), document(2, "a queue")])
    index.commit()
    assert found(index, "connection") == [1]
    assert sorted(found(index, "connecting queues")) == [1, 2]


def test_chinese_is_found_by_two_neighbours(index: LexicalIndex) -> None:
    index.replace("a.py", [document(1, "# 用户登录验证流程"), document(2, "# 数据库连接")])
    index.commit()
    assert found(index, "登录验证login") == [1]
    assert found(index, "连接") == [2]


def test_the_whole_identifier_beats_its_parts(index: LexicalIndex) -> None:
    index.replace(
        "a.py", [document(1, "user name get user name get"), document(2, "getUserName = other one")]
    )
    index.replace("b.py", [document(3 + n, f"get user name filler{n}") for n in range(20)])
    index.commit()
    assert found(index, "getUserName")[0] == 2


def test_weights_decide_between_the_fields(index: LexicalIndex) -> None:
    index.replace(
        "a.py",
        [
            document(1, "needle filler", symbols="x y", path="z w"),
            document(2, "filler filler", symbols="needle y", path="z w"),
            document(3, "filler filler", symbols="x y", path="needle w"),
        ],
    )
    index.commit()

    scores = dict(index.search(["needle"], 10))
    assert scores[2] < scores[1]
    assert scores[2] < scores[3]


def test_a_search_answers_no_more_than_was_asked_for(index: LexicalIndex) -> None:
    index.replace("a.py", [document(number, "needle") for number in range(30)])
    index.commit()
    assert len(found(index, "needle", 7)) == 7
    assert found(index, "needle", 0) == []
    assert found(index, "needle", -1) == []
    assert len(found(index, "needle", 10**9)) == 30


def test_of_a_pasted_page_only_so_many_words_are_looked_up(index: LexicalIndex) -> None:
    index.replace("a.py", [document(1, "needle")])
    index.commit()
    page = " ".join(f"filler{number}" for number in range(10_000))
    assert found(index, f"needle {page}") == [1]
    terms = tokenize_query(page)[:MAX_QUERY_TERMS]
    assert index.search([*terms, "needle"], 10) == []


def test_clear_forgets_everything_also_after_it_was_closed(tmp_path: Path) -> None:
    index = LexicalIndex.open(tmp_path, writable=True)
    index.replace("a.py", [document(1, "needle")])
    index.commit()
    index.clear()
    assert (found(index, "needle"), index.document_count) == ([], 0)
    index.close()
    again = LexicalIndex.open(tmp_path, writable=True)
    assert again.document_count == 0
    again.replace("a.py", [document(1, "needle")])
    again.commit()
    assert found(again, "needle") == [1]


def test_an_index_is_there_when_it_is_opened_again(tmp_path: Path) -> None:
    index = LexicalIndex.open(tmp_path, writable=True)
    index.replace("a.py", [document(-(2**63), "needle"), document(2**63 - 1, "needle")])
    index.commit()
    index.replace("b.py", [document(2, "needle")])
    index.close()
    again = LexicalIndex.open(tmp_path, writable=True)
    assert sorted(found(again, "needle")) == [-(2**63), 2**63 - 1]


# A commit waits for the disk some twenty times.
@pytest.mark.parametrize("commits", [30, 120] if FULL else [30])
def test_compact_keeps_what_is_found_and_few_files(tmp_path: Path, commits: int) -> None:
    index = LexicalIndex.open(tmp_path, writable=True)
    for number in range(commits):
        index.replace(f"{number % 5}.py", [document(number, "needle")])
        index.commit()
    index.compact()
    assert sorted(found(index, "needle")) == [*range(commits - 5, commits)]
    assert len(list(tmp_path.iterdir())) < 120
    index.replace("0.py", [])
    index.commit()
    assert sorted(found(index, "needle")) == [*range(commits - 4, commits)]


def test_an_index_open_for_reading_refuses_to_change(tmp_path: Path) -> None:
    LexicalIndex.open(tmp_path, writable=True).close()
    reader = LexicalIndex.open(tmp_path, writable=False)
    with pytest.raises(StorageError, match="reading only"):
        reader.replace("a.py", [])


def test_a_closed_index_refuses_to_change(index: LexicalIndex) -> None:
    index.close()
    index.close()
    with pytest.raises(StorageError, match="closed"):
        index.commit()
    with pytest.raises(StorageError, match="closed"):
        found(index, "needle")


@pytest.mark.skipif(not MAPS.exists(), reason="only Linux says what is mapped")
def test_a_closed_index_keeps_none_of_its_files_in_memory(
    index: LexicalIndex, tmp_path: Path
) -> None:
    index.replace("a.py", [document(1, "needle")])
    index.commit()
    assert found(index, "needle") == [1]
    assert str(tmp_path) in MAPS.read_text()
    index.close()
    assert str(tmp_path) not in MAPS.read_text()


@pytest.mark.slow
def test_threads_search_while_another_writes_and_see_whole_commits(index: LexicalIndex) -> None:
    """Every commit puts one more document under the path; no search sees a count in between."""
    done = threading.Event()
    counts: list[list[int]] = [[] for _ in range(3)]
    failures: list[BaseException] = []

    def search(seen: list[int]) -> None:
        try:
            while not done.is_set():
                hits = found(index, "needle", 100)
                assert len(set(hits)) == len(hits)
                seen.append(len(hits))
        except BaseException as error:  # for the assertion below
            failures.append(error)
            raise

    threads = [threading.Thread(target=search, args=(seen,)) for seen in counts]
    for thread in threads:
        thread.start()
    try:
        for size in range(1, 12):
            index.replace("a.py", [document(number, "needle") for number in range(size)])
            index.commit()
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert failures == []
    assert all(seen == sorted(seen) for seen in counts)


FOOTER = -95  # where at the earliest it begins


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    index = LexicalIndex.open(tmp_path, writable=True)
    for number in range(40):
        document = LexicalDocument(number, f"body of number {number}", "name", f"f{number}.py")
        index.replace(f"f{number}.py", [document])
    index.commit()
    index.replace("f1.py", [])  # so that there is a list of deletions too
    stamp = index.commit()
    index.close()
    assert read_opstamp(tmp_path) == stamp
    return tmp_path


def live_files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.iterdir() if file.suffix not in {".lock", ".json"})


def test_a_whole_index_is_found_to_be_whole(folder: Path) -> None:
    verify_lexical(folder)
    assert {file.suffix for file in live_files(folder)} >= {".idx", ".term", ".fast", ".del"}


def test_any_flipped_bit_is_noticed(folder: Path) -> None:
    chance = random.Random(3)  # noqa: S311
    for file in live_files(folder):
        content = file.read_bytes()
        for _ in range(20):
            damaged = bytearray(content)
            damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
            file.write_bytes(damaged)
            try:
                verify_lexical(folder)
            except LexicalIndexDamaged:
                continue
            # The version of tantivy stands in the footer, and nothing is read by it.
            assert damaged[:FOOTER] == content[:FOOTER]
        file.write_bytes(content)
    verify_lexical(folder)


@pytest.mark.parametrize("deed", ["missing", "short", "empty", "meta"])
def test_what_is_missing_or_short_is_noticed(folder: Path, deed: str) -> None:
    file = live_files(folder)[0]
    if deed == "missing":
        file.unlink()
    elif deed == "meta":
        (folder / "meta.json").write_text('{"segments": [{"segment_id": 5}]}', encoding="utf-8")
    else:
        file.write_bytes(file.read_bytes()[:-20] if deed == "short" else b"")
    with pytest.raises(LexicalIndexDamaged):
        verify_lexical(folder)


ROOT = Path(__file__).parents[2]
KILLS = 24
PATHS = 7

# Commit number n puts document n under path n % PATHS, and nothing else.
WRITER = """
import os, signal, sys, threading
from pathlib import Path
from codekernel.storage.lexical_index import LexicalIndex
from codekernel.storage.lexical_documents import LexicalDocument
folder, paths, first, seconds = Path(sys.argv[1]), *map(float, sys.argv[2:])
index = LexicalIndex.open(folder, writable=True)
if seconds:
    threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGKILL)).start()
print("open", flush=True)
number = int(first)
while seconds or sys.stdin.readline():
    index.replace(str(number % int(paths)), [LexicalDocument(number, "needle", "", "")])
    if not seconds:
        print("replaced", flush=True)
        sys.stdin.readline()
    index.commit()
    print(number, flush=True)
    number += 1
"""


def writer(folder: Path, *, first: int, seconds: float) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(folder), str(PATHS), str(first), str(seconds)],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def tell(process: subprocess.Popen[str]) -> str:
    assert process.stdin
    process.stdin.write("\n")
    process.stdin.flush()
    return heard(process)


def heard(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return process.stdout.readline().strip()


def find_ids(index: LexicalIndex) -> set[int]:
    return {chunk_id for chunk_id, _ in index.search(["needle"], 1000)}


def after(commits: int) -> set[int]:
    return set(range(max(0, commits - PATHS), commits))


@pytest.mark.slow
def test_another_process_reads_while_one_writes_and_a_second_writer_is_refused(
    tmp_path: Path,
) -> None:
    with writer(tmp_path, first=0, seconds=0) as process:
        try:
            assert heard(process) == "open"
            assert [tell(process), tell(process)] == ["replaced", "0"]
            reader = LexicalIndex.open(tmp_path, writable=False)
            assert find_ids(reader) == {0}
            assert tell(process) == "replaced"
            assert find_ids(reader) == {0}
            assert tell(process) == "1"
            assert find_ids(reader) == {0, 1}
            with pytest.raises(StorageError, match="another program"):
                LexicalIndex.open(tmp_path, writable=True)
            assert tell(process) == "replaced"
        finally:
            process.kill()
    mine = LexicalIndex.open(tmp_path, writable=True)
    assert find_ids(mine) == {0, 1}


@pytest.mark.slow
def test_a_kill_at_any_moment_loses_only_what_was_not_committed(tmp_path: Path) -> None:
    chance = random.Random(2026)  # noqa: S311  # moments to be killed at
    commits = 0
    for _ in range(KILLS):
        with writer(tmp_path, first=commits, seconds=chance.uniform(0.01, 0.6)) as process:
            output, complaints = process.communicate()
        # A writer that cannot commit after its predecessor's death says so before its own.
        assert complaints == ""
        said = output.split()
        confirmed = int(said[-1]) + 1 if len(said) > 1 else commits
        index = LexicalIndex.open(tmp_path, writable=True)
        assert find_ids(index) in (after(confirmed), after(confirmed + 1))
        assert index.document_count == len(find_ids(index))
        commits = max(find_ids(index), default=-1) + 1
        index.close()
    assert commits > 0
    index = LexicalIndex.open(tmp_path, writable=True)
    index.compact()
    files_of_a_segment = 7
    most_segments = 10
    assert len(list(tmp_path.iterdir())) < files_of_a_segment * most_segments

from collections.abc import Iterator
from pathlib import Path

import pytest
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.index import Chunk, IndexedFile, detect_language
from codekernel.errors import Cancelled
from codekernel.search.query_syntax import parse_search_expression
from codekernel.search.text_scan import ScanResult, find_regex_matches, scan_texts
from codekernel.storage.index_store import IndexStore, open_index
from codekernel.storage.lexical_documents import LexicalDocument
from support.polling import TIMEOUT_SECONDS

LENGTH, LONGER = 100, 200
CHUNK_LINES = 2

LOGIN = """def parse_header(line):
    return line.split(":")
class Session:
    def close(self): pass
x = parse_header("a")
y = 2
"""
TEST = """def test_parse_header():
    assert parse_header("a: b")
"""
USES = """import login
login.parse_header_lines()
PARSE_HEADER = 1
# 路由 parse
"""


def split(text: str, lines_each: int) -> list[tuple[Chunk, int]]:
    lines = text.splitlines(keepends=True)
    found, begin = [], 0
    for first in range(0, len(lines), lines_each):
        part = lines[first : first + lines_each]
        names = tuple(line.split()[1].split("(")[0].rstrip(":") for line in part if "def " in line)
        end = begin + sum(map(len, part))
        chunk = Chunk(
            first, first + len(part), begin, end, signature=part[0].strip(), defined_names=names
        )
        found.append((chunk, hash((text, first)) % 2**40))
        begin = end
    return found


def put(store: IndexStore, path: str, text: str) -> None:
    chunks_by_size = {LENGTH: split(text, CHUNK_LINES), LONGER: split(text, 2 * CHUNK_LINES)}
    file = IndexedFile(
        path, len(text), 5, b"", detect_language(path), "utf-8", text, chunks_by_size
    )
    with store.active_writer.begin_batch() as batch:
        batch.put_file(file)
    chunks = store.catalog.list_chunks(store.catalog.list_files()[path].id)
    store.lexical.replace(
        path,
        [LexicalDocument(it.id, text[it.begin : it.end], "", path) for it in chunks],
    )
    store.lexical.commit()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[IndexStore]:
    store = open_index(tmp_path / "index")
    put(store, "src/login.py", LOGIN)
    put(store, "src/zz.go", USES)
    put(store, "a/test_login.py", TEST)
    yield store
    store.close()


def scan(
    store: IndexStore, query: str, limit: int = 10, budget_seconds: float = TIMEOUT_SECONDS
) -> ScanResult:
    expression = parse_search_expression(query)
    return scan_texts(store, expression, limit, CancelToken(), budget_seconds=budget_seconds)


def places(scanned: ScanResult) -> list[tuple[str, int]]:
    return [(chunk.path, chunk.begin_line) for chunk in scanned.chunks]


def test_an_exact_string_is_found_definitions_first_and_tests_last(store: IndexStore) -> None:
    scanned = scan(store, '"parse_header("')
    assert scanned.is_complete
    assert places(scanned) == [("src/login.py", 0), ("src/login.py", 4), ("a/test_login.py", 0)]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ('"arse_head" -path:login.py', {("src/zz.go", 0)}),
        ('"arse_head" path:src', {("src/login.py", 0), ("src/login.py", 4), ("src/zz.go", 0)}),
        ('"PARSE_HEADER"', {("src/zz.go", 2)}),
        ('"路由"', {("src/zz.go", 2)}),
        ('"return line.split("', {("src/login.py", 0)}),
        ('"parse_header" "close"', set()),
        ('"y = 2" "x ="', {("src/login.py", 4)}),
        ('"nowhere at all"', set()),
        (r"/parse_\w+_lines/", {("src/zz.go", 0)}),
        (r"/^PARSE.*1$/", {("src/zz.go", 2)}),
        ("/parse_HEADER =/i", {("src/zz.go", 2)}),
        (r"/def \w+\(self\)/ symbol:close", {("src/login.py", 2)}),
        (r"/line\)\W+return/", set()),
        ('"parse_header" lang:go', {("src/zz.go", 0)}),
        ('"parse_header(" -path:src', {("a/test_login.py", 0)}),
        ('"parse_header" /lines/', {("src/zz.go", 0)}),
    ],
)  # fmt: skip
def test_exactly_the_chunks_are_found_that_contain_everything(
    store: IndexStore, query: str, expected: set[tuple[str, int]]
) -> None:
    scanned = scan(store, query)
    assert set(places(scanned)) == expected
    assert scanned.is_complete


def test_no_lines_come_twice_although_there_are_two_chunk_sizes(store: IndexStore) -> None:
    assert {it.max_chunk_chars for it in scan(store, '"parse"').chunks} == {LENGTH}


def test_with_a_limit_the_first_are_given_and_it_is_said(store: IndexStore) -> None:
    scanned = scan(store, '"parse_header("', 1)
    assert places(scanned) == [("src/login.py", 0)]
    assert not scanned.is_complete
    assert scan(store, '"parse_header("', 0).chunks == []


def test_a_scan_that_runs_out_of_time_says_so(store: IndexStore) -> None:
    scanned = scan(store, '"parse_header("', budget_seconds=0.0)
    assert (scanned.chunks, scanned.is_complete) == ([], False)


def test_a_cancelled_scan_ends(store: IndexStore) -> None:
    cancel = CancelToken()
    cancel.cancel()
    with pytest.raises(Cancelled):
        scan_texts(store, parse_search_expression('"parse"'), 10, cancel)
    assert scan(store, '"parse_header("').chunks


def test_every_word_must_be_in_the_chunk(store: IndexStore) -> None:
    one = store.lexical.search_all(["parse", "line"], 100)
    paths = {chunk.path for chunk in store.catalog.find_chunks(one).values()}
    assert "src/login.py" in paths
    assert "a/test_login.py" not in paths
    assert store.lexical.search_all([], 10) == []
    assert store.lexical.search_all(["parse", "nowhere"], 10) == []
    assert len(store.lexical.search_all(["parse"], 1)) == 1


def test_documents_come_by_path_as_far_as_they_are_wanted(store: IndexStore) -> None:
    every = list(store.catalog.iterate_documents(lambda _path, _language: True))
    assert [path for _, path, _ in every] == ["a/test_login.py", "src/login.py", "src/zz.go"]
    assert every[1][2] == LOGIN
    go = list(store.catalog.iterate_documents(lambda _path, language: language == "go"))
    assert [path for _, path, _ in go] == ["src/zz.go"]
    assert (
        list(store.catalog.iterate_documents(lambda _path, _language: True, {every[0][0]}))
        == every[:1]
    )


def test_files_are_found_by_name(store: IndexStore) -> None:
    assert set(store.catalog.find_files_named({"LOGIN.py", "zz"})) == {"src/login.py", "src/zz.go"}
    assert store.catalog.find_files_named(set()) == {}


def test_capitals_beyond_ascii_do_not_hide_a_match(store: IndexStore) -> None:
    put(store, "turkish.py", "\u0130STANBUL\nDER STRASSE \u00c4RGER\r\n\u212aelvin\n")
    assert places(scan(store, "/stanbul/i")) == [("turkish.py", 0)]
    assert places(scan(store, "/stra.* \u00e4rger\\s*$/i")) == [("turkish.py", 0)]
    assert places(scan(store, "/kelvin/i")) == [("turkish.py", 2)]


def test_files_are_named_whatever_their_capitals_and_marks(store: IndexStore) -> None:
    put(store, "src/Größe_1.py", "x = 1\n")
    put(store, "src/a%b.py", "x = 1\n")
    named = store.catalog.find_files_named
    assert set(named({"GRÖSSE_1", "größe_1"})) == {"src/Größe_1.py"}
    assert set(named({"a%b"})) == {"src/a%b.py"}
    assert set(named({"A%B.PY", "Login"})) == {"src/a%b.py", "src/login.py"}
    assert named({"%", "_"}) == {}


def test_what_a_regex_matches_is_found_again_to_be_marked() -> None:
    expression = parse_search_expression("/parse_\\w+/i")
    assert find_regex_matches(expression, [LOGIN, USES]) == [
        "parse_header",
        "parse_header_lines",
        "PARSE_HEADER",
    ]
    assert find_regex_matches(parse_search_expression('"parse_header"'), [LOGIN]) == []

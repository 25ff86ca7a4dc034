import pytest
from codekernel.domain.index import IndexedChunk
from codekernel.search.boosts import (
    MENTIONED_FILE_BOOST,
    MENTIONED_LINE_BOOST,
    PARTIAL_MENTION_BOOST,
    apply_boosts,
    boost_mention,
)
from codekernel.search.query_parser import parse_query
from support.indexed_chunks import indexed_chunk


@pytest.mark.parametrize(
    ("query", "path", "value"),
    [
        ("src/foo/bar.py", "src/foo/bar.py", MENTIONED_FILE_BOOST),
        ("foo/bar.py", "src/foo/bar.py", MENTIONED_FILE_BOOST),
        ("bar.py", "src/foo/bar.py", MENTIONED_FILE_BOOST),
        ("foo/bar", "src/foo/bar.py", MENTIONED_FILE_BOOST),
        ("foo/bar", "src/foo/bar/baz.py", PARTIAL_MENTION_BOOST),
        ("/home/me/project/src/foo/bar.py", "src/foo/bar.py", MENTIONED_FILE_BOOST),
        ("other/bar.py", "src/foo/bar.py", PARTIAL_MENTION_BOOST / 2),
        ("Foo/Bar.py", "src/foo/bar.py", MENTIONED_FILE_BOOST),
        ("bar.py", "src/foo/rebar.py", 0.0),
        ("how are bars closed", "src/foo/bar.py", 0.0),
        ("bar.py:5", "src/bar.py", MENTIONED_FILE_BOOST + MENTIONED_LINE_BOOST),
        ("bar.py:10", "src/bar.py", MENTIONED_FILE_BOOST + MENTIONED_LINE_BOOST),
        ("bar.py:11", "src/bar.py", MENTIONED_FILE_BOOST),
    ],
)
def test_a_mentioned_file_boosts_its_chunks(query: str, path: str, value: float) -> None:
    assert boost_mention(parse_query(query), indexed_chunk(path, end_line=10)) == pytest.approx(
        value
    )


def test_the_innermost_frame_counts_most() -> None:
    query = parse_query(
        'Traceback (most recent call last):\n  File "/a/main.py", line 3, in run\n'
        '  File "/a/db/session.py", line 42, in close\nValueError: no\n'
    )
    inner = boost_mention(query, indexed_chunk("db/session.py", begin_line=40, end_line=50))
    outer = boost_mention(query, indexed_chunk("main.py", end_line=10))
    elsewhere = boost_mention(query, indexed_chunk("db/session.py", end_line=10))
    assert inner > outer > elsewhere


def rank_paths(query: str, *chunks: IndexedChunk) -> list[str]:
    """The paths of chunks with equal lexical scores, best first."""
    fused = {chunk.id: (0.5, 0.5) for chunk in chunks}
    found = apply_boosts(parse_query(query), fused, {chunk.id: chunk for chunk in chunks})
    return [chunk.path for chunk, _, _ in sorted(found, key=lambda each: -each[1])]


@pytest.mark.parametrize("query", ["FakeClient", "how does FakeClient send a request"])
def test_a_file_named_like_a_test_is_not_held_back_from_what_it_defines(query: str) -> None:
    tested = indexed_chunk("app/test_client.py", 1, defined_names=("FakeClient",))
    user = indexed_chunk("app/server.py", 2, defined_names=("Server",))
    other = indexed_chunk("app/test_server.py", 3, defined_names=("ServerTest",))
    assert rank_paths(query, other, user, tested) == [tested.path, user.path, other.path]


def test_a_definition_in_code_comes_before_the_one_of_a_test() -> None:
    code = indexed_chunk("app/client.py", 1, defined_names=("Fake",))
    test = indexed_chunk("tests/client.py", 2, defined_names=("Fake",))
    assert rank_paths("Fake", test, code) == [code.path, test.path]


def test_a_question_is_answered_by_code_before_documents() -> None:
    code, document = indexed_chunk("app/pool.py", 1), indexed_chunk("docs/retries.md", 2)
    assert rank_paths("how do retries work", document, code) == [code.path, document.path]
    assert rank_paths("retries of requests", document, code) == [code.path, document.path]


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("the thread pool of workers", "app/threadpool.py"),
        ("the threadpool of workers", "app/thread_pool.py"),
        ("parse the arguments", "app/args.py"),
        ("where is composition done", "app/compose.py"),
        ("a class of files", "app/class.py"),
    ],
)
def test_forms_of_a_word_meet_in_the_name_of_a_file(query: str, path: str) -> None:
    named, other = indexed_chunk(path, 1), indexed_chunk("app/other.py", 2)
    assert rank_paths(query, other, named) == [named.path, other.path]


@pytest.mark.parametrize(
    ("query", "name"), [("read the file name", "filename"), ("format arguments", "FormatterArgs")]
)
def test_forms_of_a_word_meet_in_a_defined_name(query: str, name: str) -> None:
    named = indexed_chunk("app/a.py", 1, defined_names=(name,))
    other = indexed_chunk("app/b.py", 2, defined_names=("other",))
    assert rank_paths(query, other, named) == [named.path, other.path]

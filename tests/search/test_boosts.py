import pytest
from codekernel.search.boosts import (
    MENTIONED_FILE_BOOST,
    MENTIONED_LINE_BOOST,
    PARTIAL_MENTION_BOOST,
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

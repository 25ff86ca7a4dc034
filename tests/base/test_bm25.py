"""Our BM25 is tantivy's, so that scores of a base and of a local index can be compared."""

from pathlib import Path

import pytest
from base.overlay_world import Chance
from codekernel.base.bm25 import Bm25Scorer
from codekernel.base.term_statistics import (
    TermStatistics,
    add_statistics,
    count_terms,
    make_term_columns,
    parse_term_columns,
)
from codekernel.errors import StorageError
from codekernel.storage.base.base_rows import join_terms
from codekernel.storage.lexical_documents import LexicalDocument
from codekernel.storage.lexical_index import LexicalIndex, stem_terms
from codekernel.storage.recent_words import round_length

WORDS = [
    "session",
    "closing",
    "fooBar",
    "write_file",
    "x1",
    *(f"w{number}" for number in range(50)),
]
LENGTHS = (1, 5, 39, 40, 41, 60, 200, 900)


def make_documents(count: int) -> list[tuple[str, str, str]]:
    chance = Chance(3)
    return [
        (
            " ".join(chance.pick_several(WORDS, chance.pick(LENGTHS))),
            " ".join(chance.pick_several(WORDS, chance.number(0, 4))),
            f"src/{chance.pick(WORDS)}.py",
        )
        for _ in range(count)
    ]


@pytest.mark.parametrize("query", [["session", "clos"], ["fooBar", "w1", "src"], ["nothing"]])
def test_scores_are_those_of_tantivy(tmp_path: Path, query: list[str]) -> None:
    documents = make_documents(200)
    index = LexicalIndex.open(tmp_path, writable=True)
    for number, (body, symbols, path) in enumerate(documents):
        index.replace(f"{number}", [LexicalDocument(number, body, symbols, path)])
    index.commit()
    terms = [join_terms(*document) for document in documents]
    scorer = Bm25Scorer(stem_terms(query), count_terms(terms))
    expected = dict(index.search(query, len(documents)))
    index.close()
    for number, each in enumerate(terms):
        assert scorer.score(each) == pytest.approx(expected.get(number, 0.0), abs=1e-5)


def test_lengths_are_rounded_down_as_tantivy_does() -> None:
    assert [round_length(length) for length in (0, 40, 41, 42, 57, 91, 10_000)] == [
        *(0, 40, 40, 42, 56, 88, 9_240)
    ]


def test_statistics_are_added_written_and_read() -> None:
    terms = [join_terms(*document) for document in make_documents(20)]
    whole = count_terms(terms)
    parts = add_statistics([count_terms(terms[:7]), count_terms(terms[7:])])
    assert parts == whole
    read = parse_term_columns(make_term_columns(whole), 20)
    assert (read.documents, read.tokens, dict(read.counts)) == (20, whole.tokens, whole.counts)
    assert read.get_counts("nothing") == (0, 0, 0)
    assert add_statistics([]) == TermStatistics()


def test_damaged_statistics_are_named() -> None:
    with pytest.raises(StorageError, match="damaged"):
        parse_term_columns({"term": []}, 0)

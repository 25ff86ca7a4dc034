"""Words of saved chunks are found before the lexical index is committed, and as after it."""

from pathlib import Path

import pytest
from codekernel.domain.lexical_tokenizer import tokenize_query
from codekernel.storage.lexical_documents import LexicalDocument
from codekernel.storage.lexical_index import LexicalIndex
from codekernel.storage.recent_words import MAX_RECENT_CHUNKS

TEXTS = {
    1: "def parse_header(line): return line.split(':')",
    2: "parse the header, then parse the header again: parseHeader()",
    3: "close the session and write what is left of the journal",
}

OTHERS = 200


def document(chunk_id: int, body: str, symbols: str = "") -> LexicalDocument:
    return LexicalDocument(chunk_id, body, symbols, "src/first.py")


def search(index: LexicalIndex, query: str, k: int = 10) -> dict[int, float]:
    return dict(index.search(tokenize_query(query), k))


@pytest.fixture
def index(tmp_path: Path) -> LexicalIndex:
    opened = LexicalIndex.open(tmp_path / "words", writable=True)
    opened.replace("src/first.py", [document(number, text) for number, text in TEXTS.items()])
    for number in range(OTHERS):
        text = f"the header {'and a word ' * (number % 9)}" if number % 2 else "of a session"
        opened.replace(f"src/{number}.py", [document(100 + number, text.replace("header", "foot"))])
    opened.commit()
    return opened


def save(index: LexicalIndex, removed: list[int], documents: list[LexicalDocument]) -> bool:
    index.update("src/first.py", removed, documents)
    return index.show(removed, documents)


def test_a_saved_chunk_is_found_and_the_one_it_replaces_is_not(index: LexicalIndex) -> None:
    assert save(index, [2], [document(4, "write the header of a reply")])
    assert search(index, "header").keys() == {1, 4}
    assert search(index, "header", 1).keys() <= {1, 4}
    assert index.search_all(["header", "reply"], 10) == [4]
    assert index.search_all(["parse", "header"], 10) == [1]
    assert index.document_count == OTHERS + 3
    index.commit()
    assert search(index, "header").keys() == {1, 4}
    assert index.document_count == OTHERS + 3


def test_scores_are_those_of_the_commit(index: LexicalIndex) -> None:
    save(index, [3], [document(4, "the header of a reply"), document(5, "header, header, header")])
    before = search(index, "header of the foot", 400)
    index.commit()
    after = search(index, "header of the foot", 400)
    for saved in (4, 5):  # the averages are those of the last commit
        assert before[saved] == pytest.approx(after[saved], rel=0.02)


def test_a_chunk_with_new_names_is_there_once(index: LexicalIndex) -> None:
    save(index, [1], [document(1, TEXTS[1], symbols="splitter")])
    assert search(index, "splitter").keys() == {1}
    assert list(index.search_all(["parse", "header"], 10)).count(1) == 1
    assert index.document_count == OTHERS + 3
    assert index.count_terms(["splitter"]).chunks["symbols", "splitter"] == 1
    save(index, [1], [])
    assert search(index, "splitter") == {}
    assert index.document_count == OTHERS + 2
    index.commit()
    assert index.document_count == OTHERS + 2


def test_chunks_that_are_gone_take_no_place_of_others(index: LexicalIndex) -> None:
    save(index, [1, 2], [])
    save(index, [], [document(9, "one header")])
    assert search(index, "header parse", 1).keys() == {9}


def test_so_many_that_a_search_would_be_slow_are_to_be_committed(index: LexicalIndex) -> None:
    documents = [document(1000 + number, "needle") for number in range(MAX_RECENT_CHUNKS)]
    assert save(index, [], documents)
    assert not save(index, [1], [])
    index.commit()
    assert save(index, [], [document(10_000, "needle")])

from pathlib import Path

import pytest
from codekernel.conversation.retriever import MAX_MENTIONS, expand_hit, find_mentions
from codekernel.domain.index import FRESH, Hit
from support.lexical_index import open_lexical_index


@pytest.fixture
def long_method(repo: Path) -> str:
    body = "".join(f"        self.value_{n} = compute_{n}({n})\n" for n in range(60))
    text = f'class Machine(Base):\n    """A machine."""\n\n    def run(self) -> None:\n{body}\n'
    text += "    def other(self) -> None:\n        pass\n"
    (repo / "machine.py").write_text(text, encoding="utf-8")
    return text


def test_a_piece_of_a_definition_grows_to_more_of_it_and_tells_what_is_around(
    repo: Path, tmp_path: Path, long_method: str
) -> None:
    with open_lexical_index(repo, tmp_path / "index") as index:
        catalogue = index.store.catalog
        file = catalogue.find_file("machine.py")
        assert file
        chunks = catalogue.list_chunks(file.id)
        pieces = [each for each in chunks if each.symbols == ("Machine", "run")]
        assert len(pieces) > 2
        middle = pieces[1]
        content = long_method[middle.begin : middle.end]
        hit = Hit(middle, content, 0.5, FRESH)
        alone, grown = (
            expand_hit(hit, catalogue, expand=False),
            expand_hit(hit, catalogue, expand=True),
        )
        assert alone.excerpt.content == content
        assert grown.excerpt.begin_line <= pieces[0].begin_line
        assert grown.excerpt.end_line > middle.end_line
        lines = long_method.splitlines(keepends=True)
        assert (
            "".join(lines[grown.excerpt.begin_line : grown.excerpt.end_line])
            == grown.excerpt.content
        )
        assert "def other" not in grown.excerpt.content
        assert alone.location == "Machine>run; in class Machine(Base):"
        assert grown.location == "Machine>run"  # the class begins within it


def test_a_hit_is_shown_as_it_is_while_the_index_is_replaced(
    repo: Path, tmp_path: Path, long_method: str
) -> None:
    with open_lexical_index(repo, tmp_path / "index") as index:
        catalogue = index.store.catalog
        file = catalogue.find_file("machine.py")
        assert file
        chunk = catalogue.list_chunks(file.id)[1]
        content = long_method[chunk.begin : chunk.end]
        catalogue.close()
        shown = expand_hit(Hit(chunk, content, 0.5, FRESH), catalogue, expand=True)
        assert shown.excerpt.content == content


@pytest.mark.parametrize(
    ("question", "queries"),
    [
        ("What does @src/a.py do?", ("src/a.py",)),
        ("Compare @src/a.py:3-9, and @Session.close.", ("src/a.py:3", "Session.close")),
        ("@说明.md 是什么, @说明.md", ("说明.md",)),
        ("mail me@example.com, or (@x)", ()),
        ("no mention @ all", ()),
    ],
)
def test_each_name_is_a_query_once(question: str, queries: tuple[str, ...]) -> None:
    assert find_mentions(question) == queries


def test_a_pasted_text_is_no_flood_of_searches() -> None:
    text = " ".join(f"@name{number}" for number in range(50))
    assert len(find_mentions(text)) == MAX_MENTIONS

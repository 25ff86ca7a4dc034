"""What a question names with an @."""

import pytest
from codekernel.conversation.mentions import MAX_MENTIONS, find_mentions


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

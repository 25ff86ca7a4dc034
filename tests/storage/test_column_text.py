from hypothesis import given
from hypothesis import strategies as st

from kernel.storage.column_text import from_column, to_column


@given(st.text(st.characters(codec=None, exclude_categories=())))
def test_every_string_comes_back(text: str) -> None:
    assert from_column(to_column(text)) == text


def test_ordinary_text_is_stored_as_text() -> None:
    assert to_column("pl\u00e4tze") == "pl\u00e4tze"
    assert isinstance(to_column("caf\udce9"), bytes)

from codekernel.storage.vault.encrypted_database import decode_column, encode_column
from hypothesis import given
from hypothesis import strategies as st


@given(st.text(st.characters(codec=None, exclude_categories=())))
def test_every_string_comes_back(text: str) -> None:
    assert decode_column(encode_column(text)) == text


def test_ordinary_text_is_stored_as_text() -> None:
    assert encode_column("pl\u00e4tze") == "pl\u00e4tze"
    assert isinstance(encode_column("caf\udce9"), bytes)

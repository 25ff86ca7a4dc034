"""Any Python string as a SQLite value.

A folder name that is not valid Unicode reaches Python with lone surrogates in it, which SQLite's
TEXT refuses. Such a string, and only such a string, is stored as a BLOB; equal strings are stored
alike, so UNIQUE and lookups keep their meaning.
"""


def to_column(text: str) -> str | bytes:
    """Return the value to store for ``text``."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def from_column(value: str | bytes) -> str:
    """Return the text that ``to_column`` was given."""
    return value.decode("utf-8", "surrogatepass") if isinstance(value, bytes) else value

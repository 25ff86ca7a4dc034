from pathlib import Path

import pytest
from codekernel.errors import StorageError, VaultUnavailable
from codekernel.storage.vault.encrypted_database import explain_sqlcipher_error, is_unreadable_error
from sqlcipher3 import dbapi2

PATH = Path("/data/db/kernel.db")


def refusal(code: int) -> dbapi2.Error:
    error = dbapi2.OperationalError("near sk-secret")
    error.sqlite_errorcode = code
    error.sqlite_errorname = "SQLITE_SOMETHING"
    return error


@pytest.mark.parametrize(
    ("code", "phrase"),
    [
        (dbapi2.SQLITE_FULL, "the disk is full: free some space"),
        (dbapi2.SQLITE_BUSY, "another process is writing"),
        (dbapi2.SQLITE_LOCKED, "another process is writing"),
        (dbapi2.SQLITE_READONLY, "read-only"),
        (dbapi2.SQLITE_CANTOPEN, "must be able to read and write in"),
        (dbapi2.SQLITE_IOERR, "the disk failed"),
        (dbapi2.SQLITE_IOERR | 3 << 8, "the disk failed"),
        (dbapi2.SQLITE_SCHEMA, "SQLITE_SOMETHING"),
    ],
)
def test_each_refusal_names_the_vault_and_never_quotes(code: int, phrase: str) -> None:
    message = str(explain_sqlcipher_error(refusal(code), PATH))
    assert str(PATH) in message
    assert phrase in message
    assert "sk-secret" not in message


@pytest.mark.parametrize("code", [dbapi2.SQLITE_NOTADB, dbapi2.SQLITE_CORRUPT])
def test_a_file_that_cannot_be_read_says_how_to_go_on(code: int) -> None:
    assert is_unreadable_error(refusal(code))
    error = explain_sqlcipher_error(refusal(code), PATH)
    assert isinstance(error, VaultUnavailable)
    assert "Nothing was overwritten" in str(error)


def test_an_error_without_a_code_is_a_sentence_too() -> None:
    error = dbapi2.ProgrammingError("closed")
    assert not is_unreadable_error(error)
    assert isinstance(explain_sqlcipher_error(error, PATH), StorageError)
    assert "ProgrammingError" in str(explain_sqlcipher_error(error, PATH))

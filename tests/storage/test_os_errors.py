import errno
from pathlib import Path

import pytest
from codekernel.storage.os_errors import explain_os_error

PATH = Path("/data/db/kernel.key")


@pytest.mark.parametrize(
    ("code", "phrase"),
    [
        (errno.ENOSPC, "the disk is full: free some space"),
        (errno.EDQUOT, "the disk is full: free some space"),
        (errno.EACCES, "must be able to read and write in"),
        (errno.EPERM, "must be able to read and write in"),
        (errno.EROFS, "read-only disk"),
        (errno.EFBIG, "ulimit -f"),
        (errno.ENOTDIR, "is a file where a folder is needed"),
        (errno.EIO, "check the disk"),
    ],
)
def test_each_refusal_names_the_path_and_says_what_to_do(code: int, phrase: str) -> None:
    message = str(explain_os_error(OSError(code, "refused"), PATH))
    assert str(PATH) in message
    assert phrase in message


def test_an_error_without_a_number_is_explained_too() -> None:
    assert str(PATH) in str(explain_os_error(OSError("odd"), PATH))

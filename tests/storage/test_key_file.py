import os
import stat
from pathlib import Path

import pytest
from codekernel.errors import StorageError, VaultUnavailable
from codekernel.storage.vault.vault_key import create_key_file, parse_hex_key, read_key_file

KEY = bytes(range(32))

posix_only = pytest.mark.skipif(os.name == "nt", reason="POSIX modes")


def test_only_64_hexadecimal_characters_are_a_key() -> None:
    assert parse_hex_key(KEY.hex()) == KEY
    assert parse_hex_key(KEY.hex().upper()) == KEY
    for wrong in ("", KEY.hex()[:-1], KEY.hex() + "0", KEY.hex() + "\n", "g" * 64, "0 " * 32):
        assert parse_hex_key(wrong) is None


def test_a_key_comes_back_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / "kernel.key"
    assert read_key_file(path) is None
    assert create_key_file(path, KEY)
    assert read_key_file(path) == KEY


def test_a_second_key_never_replaces_the_first(tmp_path: Path) -> None:
    path = tmp_path / "kernel.key"
    assert create_key_file(path, KEY)
    assert not create_key_file(path, bytes(32))
    assert read_key_file(path) == KEY


@posix_only
def test_only_the_owner_may_read_it(tmp_path: Path) -> None:
    path = tmp_path / "kernel.key"
    before = os.umask(0)
    try:
        create_key_file(path, KEY)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@posix_only
def test_a_file_open_to_others_is_closed_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "kernel.key"
    create_key_file(path, KEY)
    path.chmod(0o644)
    assert read_key_file(path) == KEY
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "was open to other accounts" in caplog.text


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", KEY.hex()[:40].encode(), b"z" * 64])
def test_a_damaged_file_is_refused_and_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "kernel.key"
    path.write_bytes(content)
    with pytest.raises(VaultUnavailable, match="is damaged") as refusal:
        read_key_file(path)
    assert path.read_bytes() == content
    assert KEY.hex()[:40] not in str(refusal.value)


def test_a_file_that_cannot_be_read_is_explained(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"folder where a file is needed|must be able to read"):
        read_key_file(tmp_path)

import os
import ssl
import stat
from pathlib import Path

import pytest
from codekernel.adapters.hub.certificate import TlsFiles, open_own_certificate
from codekernel.errors import StorageError

NAMES = ("localhost", "127.0.0.1", "::1")


def test_a_certificate_is_made_once(tmp_path: Path) -> None:
    first = open_own_certificate(tmp_path, "passphrase", NAMES)
    again = open_own_certificate(tmp_path, "passphrase", NAMES)
    assert first.read_fingerprint() == again.read_fingerprint()
    assert len(first.read_fingerprint().split(":")) == 32
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(first.certificate, first.key, "passphrase")


def test_the_key_is_encrypted_and_private(tmp_path: Path) -> None:
    files = open_own_certificate(tmp_path, "passphrase", NAMES)
    assert b"ENCRYPTED PRIVATE KEY" in files.key.read_bytes()
    if os.name != "nt":
        assert stat.S_IMODE(files.key.stat().st_mode) == 0o600
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with pytest.raises(ssl.SSLError):
        context.load_cert_chain(files.certificate, files.key, "wrong")


def test_a_lost_passphrase_means_a_new_certificate(tmp_path: Path) -> None:
    before = open_own_certificate(tmp_path, "passphrase", NAMES).read_fingerprint()
    assert open_own_certificate(tmp_path, "another", NAMES).read_fingerprint() != before


def test_what_is_no_certificate_is_said(tmp_path: Path) -> None:
    file = tmp_path / "cert.pem"
    file.write_text("no")
    with pytest.raises(StorageError, match="no certificate"):
        TlsFiles(file, file).read_fingerprint()

"""Certificates of a real CA of our own; nothing is pretended."""

import contextlib
import socket
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import trustme
from llm.loopback import HOST, endpoint, raw_server
from llm.trying import attempt, failure


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def trusted(authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = tmp_path / "company.pem"
    authority.cert_pem.write_to_path(str(bundle))
    monkeypatch.setenv("SSL_CERT_FILE", str(bundle))


def server_side(certificate: trustme.LeafCert) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    certificate.configure_cert(context)
    return context


def test_an_authority_named_by_ssl_cert_file_is_trusted(
    authority: trustme.CA, trusted: None
) -> None:
    with endpoint(tls=server_side(authority.issue_cert(HOST))) as served:
        attempt(served.url)
        assert len(served.seen) == 1


def test_an_empty_ssl_cert_dir_trusts_nobody(
    authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    with endpoint(tls=server_side(authority.issue_cert(HOST))) as served:
        assert "was issued by nobody" in failure(served.url)
        assert served.seen == []


def test_a_certificate_of_an_unknown_authority_is_explained(authority: trustme.CA) -> None:
    with endpoint(tls=server_side(authority.issue_cert(HOST))) as served:
        sentence = failure(served.url)
        assert served.seen == []
    assert f"The certificate of {HOST}:{served.port} was issued by nobody" in sentence
    assert "set SSL_CERT_FILE" in sentence


def test_a_self_signed_certificate_is_explained(authority: trustme.CA, tmp_path: Path) -> None:
    both = tmp_path / "self-signed.pem"
    authority.private_key_pem.write_to_path(str(both))
    authority.cert_pem.write_to_path(str(both), append=True)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(both)
    with endpoint(tls=context) as served:
        sentence = failure(served.url)
    assert "is self-signed" in sentence
    assert "set SSL_CERT_FILE" in sentence


def test_an_expired_certificate_is_explained(authority: trustme.CA, trusted: None) -> None:
    yesterday = datetime.now(UTC) - timedelta(days=1)
    expired = authority.issue_cert(
        HOST, not_before=yesterday - timedelta(days=1), not_after=yesterday
    )
    with endpoint(tls=server_side(expired)) as served:
        assert "has expired" in failure(served.url)


def test_a_certificate_from_the_future_is_explained(authority: trustme.CA, trusted: None) -> None:
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    early = authority.issue_cert(HOST, not_before=tomorrow, not_after=tomorrow + timedelta(days=1))
    with endpoint(tls=server_side(early)) as served:
        assert "is not valid yet" in failure(served.url)


@pytest.mark.parametrize("name", ["other.example", "127.0.0.2"])
def test_a_certificate_of_another_host_is_explained(
    authority: trustme.CA, trusted: None, name: str
) -> None:
    with endpoint(tls=server_side(authority.issue_cert(name))) as served:
        sentence = failure(served.url)
    assert f"The certificate of {HOST}:{served.port} belongs to another host name" in sentence


def test_tls_spoken_to_a_plain_port_is_explained() -> None:
    with raw_server(lambda connection: connection.sendall(b"HTTP/1.1 400 Bad\r\n\r\n")) as port:
        sentence = failure(f"https://{HOST}:{port}/v1")
    assert f"{HOST}:{port} does not speak TLS on this port" in sentence
    assert "http:// instead of https://" in sentence


def test_plain_http_spoken_to_a_tls_port_is_explained(authority: trustme.CA) -> None:
    context = server_side(authority.issue_cert(HOST))

    def expect_tls(connection: socket.socket) -> None:
        with contextlib.suppress(ssl.SSLError):
            context.wrap_socket(connection, server_side=True).close()

    with raw_server(expect_tls) as port:
        sentence = failure(f"http://{HOST}:{port}/v1")
    assert "did not answer in HTTP" in sentence or "closed the connection" in sentence


def test_a_server_that_wants_an_older_tls_is_explained(
    authority: trustme.CA, trusted: None
) -> None:
    context = server_side(authority.issue_cert(HOST))
    context.set_ciphers("AES256-SHA256")  # no client offers it by default
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with endpoint(tls=context) as served:
        assert "could not agree on a secure connection" in failure(served.url)

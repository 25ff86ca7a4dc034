"""Failures below HTTP, each made by a real socket."""

import contextlib
import socket
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
import trustme
from llm.loopback import (
    HOST,
    Reply,
    endpoint,
    proxy,
    raw_server,
    read_request,
    reset,
    speak_socks,
    wait_for_hang_up,
)
from llm.trying import attempt, failure
from support.environ import Environ

BRIEF = httpx.Timeout(connect=0.2, read=0.2, write=5, pool=5)


def free_port() -> int:
    with socket.create_server((HOST, 0)) as listener:
        return int(listener.getsockname()[1])


def test_a_host_name_nobody_knows_is_explained() -> None:
    sentence = failure("http://no-such-host.invalid/v1")
    assert "no-such-host.invalid has a host name that could not be found (DNS)" in sentence
    assert "check the spelling" in sentence


def test_a_refused_connection_is_explained() -> None:
    port = free_port()
    sentence = failure(f"http://{HOST}:{port}/v1")
    assert f"{HOST}:{port} refused the connection" in sentence
    assert "that the server is running" in sentence


def test_a_handshake_that_never_ends_is_a_connect_timeout() -> None:
    with raw_server(wait_for_hang_up) as port:
        sentence = failure(f"https://{HOST}:{port}/v1", timeouts=BRIEF)
    assert f"{HOST}:{port} did not accept a connection in time" in sentence


def test_an_answer_that_never_comes_is_a_read_timeout() -> None:
    with raw_server(wait_for_hang_up) as port:
        sentence = failure(f"http://{HOST}:{port}/v1", timeouts=BRIEF)
    assert f"{HOST}:{port} accepted the request but did not answer in time" in sentence


def test_an_answer_that_stalls_in_its_middle_is_a_read_timeout() -> None:
    def begin_only(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{")
        wait_for_hang_up(connection)

    with raw_server(begin_only) as port:
        assert "did not answer in time" in failure(f"http://{HOST}:{port}/v1", timeouts=BRIEF)


def test_an_answer_that_ends_in_its_middle_is_explained() -> None:
    def half(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{")

    with raw_server(half) as port:
        assert "broke off in the middle" in failure(f"http://{HOST}:{port}/v1")


def test_an_answer_that_cannot_be_decompressed_is_explained() -> None:
    with endpoint(Reply(200, "no gzip", {"Content-Encoding": "gzip"})) as served:
        assert "could not be decompressed" in failure(served.url)


def test_a_connection_reset_is_explained() -> None:
    def read_then_reset(connection: socket.socket) -> None:
        read_request(connection)
        reset(connection)

    with raw_server(read_then_reset) as port:
        sentence = failure(f"http://{HOST}:{port}/v1")
    assert f"{HOST}:{port} closed the connection without an answer" in sentence


def test_a_connection_closed_without_an_answer_is_explained() -> None:
    with raw_server(read_request) as port:
        sentence = failure(f"http://{HOST}:{port}/v1")
    assert f"{HOST}:{port} closed the connection without an answer" in sentence


def test_a_server_that_does_not_speak_http_is_explained() -> None:
    def speak_ssh(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(b"SSH-2.0-OpenSSH_9.9\r\n\r\n")

    with raw_server(speak_ssh) as port:
        sentence = failure(f"http://{HOST}:{port}/v1")
    assert f"{HOST}:{port} did not answer in HTTP" in sentence
    assert "https://" in sentence


@pytest.fixture
def secure(tmp_path: Path, environ: Environ) -> ssl.SSLContext:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "company.pem"))
    environ["SSL_CERT_FILE"] = str(tmp_path / "company.pem")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert(HOST).configure_cert(context)
    return context


def test_a_plain_request_goes_through_http_proxy(environ: Environ) -> None:
    with endpoint() as served, proxy() as between:
        environ["HTTP_PROXY"] = between.url
        attempt(served.url)
        assert between.asked == [f"POST {served.url}/chat/completions"]
        assert len(served.seen) == 1


def test_a_secure_request_is_tunnelled_through_https_proxy(
    environ: Environ, secure: ssl.SSLContext
) -> None:
    with endpoint(tls=secure) as served, proxy() as between:
        environ["HTTPS_PROXY"] = between.url
        attempt(served.url)
        assert between.asked == [f"CONNECT {HOST}:{served.port}"]
        assert len(served.seen) == 1


def test_a_socks_proxy_is_spoken_to(environ: Environ) -> None:
    with endpoint() as served, raw_server(speak_socks) as port:
        environ["ALL_PROXY"] = f"socks5://{HOST}:{port}"
        attempt(served.url)
        assert len(served.seen) == 1


def test_no_proxy_goes_around_the_proxy(environ: Environ) -> None:
    with endpoint() as served, proxy() as between:
        environ["HTTP_PROXY"] = between.url
        environ["NO_PROXY"] = HOST
        attempt(served.url)
        assert between.asked == []


def test_a_status_that_came_through_a_proxy_names_it(environ: Environ) -> None:
    with endpoint(Reply(404)) as served, proxy() as between:
        environ["HTTP_PROXY"] = between.url
        sentence = failure(served.url)
    assert f"asked through the proxy {between.host}" in sentence


def test_a_proxy_that_refuses_the_tunnel_is_explained(environ: Environ) -> None:
    with proxy(refusal=Reply(403)) as between:
        environ["HTTPS_PROXY"] = between.url
        sentence = failure("https://api.example.invalid/v1")
    assert f"The proxy {between.host} on the way to api.example.invalid refused" in sentence
    assert "(403)" in sentence
    assert "NO_PROXY" in sentence


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_that_wants_a_login_is_explained(environ: Environ, scheme: str) -> None:
    with proxy(refusal=Reply(407)) as between:
        environ[f"{scheme.upper()}_PROXY"] = between.url
        sentence = failure(f"{scheme}://api.example.invalid/v1")
    assert f"The proxy {between.host} wants a user name and password" in sentence


def test_a_proxy_that_is_not_running_is_blamed_instead_of_the_host(
    environ: Environ,
) -> None:
    with socket.create_server((HOST, 0)) as listener:
        port = listener.getsockname()[1]
    environ["HTTPS_PROXY"] = f"http://user:hunter22@{HOST}:{port}"
    sentence = failure("https://api.example.invalid/v1")
    assert f"The proxy {HOST}:{port} on the way to api.example.invalid refused" in sentence
    assert "hunter22" not in sentence


def test_a_proxy_wrongly_called_secure_is_blamed_instead_of_the_host(
    environ: Environ,
) -> None:
    with proxy() as between:
        environ["HTTPS_PROXY"] = f"https://{between.host}"
        sentence = failure("https://api.example.invalid/v1")
    assert f"he proxy {between.host} does not speak TLS" in sentence


def test_a_certificate_refused_inside_a_tunnel_is_that_of_the_host(
    environ: Environ, secure: ssl.SSLContext
) -> None:
    del environ["SSL_CERT_FILE"]
    with endpoint(tls=secure) as served, proxy() as between:
        environ["HTTPS_PROXY"] = between.url
        sentence = failure(served.url)
    assert f"The certificate of {HOST}:{served.port} was issued by nobody" in sentence


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def trusted(authority: trustme.CA, tmp_path: Path, environ: Environ) -> None:
    bundle = tmp_path / "company.pem"
    authority.cert_pem.write_to_path(str(bundle))
    environ["SSL_CERT_FILE"] = str(bundle)


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
    authority: trustme.CA, tmp_path: Path, environ: Environ
) -> None:
    environ["SSL_CERT_DIR"] = str(tmp_path)
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

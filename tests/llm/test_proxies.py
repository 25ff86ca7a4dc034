"""Proxies from the environment, with a real one in a thread."""

import socket
import ssl
from pathlib import Path

import pytest
import trustme
from llm.loopback import HOST, Reply, endpoint, proxy, raw_server, speak_socks
from llm.trying import attempt, failure


@pytest.fixture
def secure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "company.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "company.pem"))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert(HOST).configure_cert(context)
    return context


def test_a_plain_request_goes_through_http_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    with endpoint() as served, proxy() as between:
        monkeypatch.setenv("HTTP_PROXY", between.url)
        attempt(served.url)
        assert between.asked == [f"POST {served.url}/chat/completions"]
        assert len(served.seen) == 1


def test_a_secure_request_is_tunnelled_through_https_proxy(
    monkeypatch: pytest.MonkeyPatch, secure: ssl.SSLContext
) -> None:
    with endpoint(tls=secure) as served, proxy() as between:
        monkeypatch.setenv("HTTPS_PROXY", between.url)
        attempt(served.url)
        assert between.asked == [f"CONNECT {HOST}:{served.port}"]
        assert len(served.seen) == 1


def test_a_socks_proxy_is_spoken_to(monkeypatch: pytest.MonkeyPatch) -> None:
    with endpoint() as served, raw_server(speak_socks) as port:
        monkeypatch.setenv("ALL_PROXY", f"socks5://{HOST}:{port}")
        attempt(served.url)
        assert len(served.seen) == 1


def test_no_proxy_goes_around_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    with endpoint() as served, proxy() as between:
        monkeypatch.setenv("HTTP_PROXY", between.url)
        monkeypatch.setenv("NO_PROXY", HOST)
        attempt(served.url)
        assert between.asked == []


def test_a_status_that_came_through_a_proxy_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with endpoint(Reply(404)) as served, proxy() as between:
        monkeypatch.setenv("HTTP_PROXY", between.url)
        sentence = failure(served.url)
    assert f"asked through the proxy {between.host}" in sentence


def test_a_proxy_that_refuses_the_tunnel_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    with proxy(refusal=Reply(403)) as between:
        monkeypatch.setenv("HTTPS_PROXY", between.url)
        sentence = failure("https://api.example.invalid/v1")
    assert f"The proxy {between.host} on the way to api.example.invalid refused" in sentence
    assert "(403)" in sentence
    assert "NO_PROXY" in sentence


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_that_wants_a_login_is_explained(
    monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    with proxy(refusal=Reply(407)) as between:
        monkeypatch.setenv(f"{scheme.upper()}_PROXY", between.url)
        sentence = failure(f"{scheme}://api.example.invalid/v1")
    assert f"The proxy {between.host} wants a user name and password" in sentence


def test_a_proxy_that_is_not_running_is_blamed_instead_of_the_host(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with socket.create_server((HOST, 0)) as listener:
        port = listener.getsockname()[1]
    monkeypatch.setenv("HTTPS_PROXY", f"http://user:hunter22@{HOST}:{port}")
    sentence = failure("https://api.example.invalid/v1")
    assert f"The proxy {HOST}:{port} on the way to api.example.invalid refused" in sentence
    assert "hunter22" not in sentence


def test_a_proxy_wrongly_called_secure_is_blamed_instead_of_the_host(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with proxy() as between:
        monkeypatch.setenv("HTTPS_PROXY", f"https://{between.host}")
        sentence = failure("https://api.example.invalid/v1")
    assert f"he proxy {between.host} does not speak TLS" in sentence


def test_a_certificate_refused_inside_a_tunnel_is_that_of_the_host(
    monkeypatch: pytest.MonkeyPatch, secure: ssl.SSLContext
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    with endpoint(tls=secure) as served, proxy() as between:
        monkeypatch.setenv("HTTPS_PROXY", between.url)
        sentence = failure(served.url)
    assert f"The certificate of {HOST}:{served.port} was issued by nobody" in sentence

import json
import logging
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from codekernel import __version__
from codekernel.errors import NetworkError
from codekernel.llm.http_client import DEFAULT_TIMEOUTS, build_chat_request, make_http_client
from llm.loopback import HOST, Reply, endpoint
from llm.trying import KEY, failure


def test_the_room_and_its_pure_modules_do_not_import_httpx() -> None:
    program = "import sys, codekernel.llm, codekernel.llm.model_pool; print('httpx' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.strip() == b"False"


def test_the_client_names_itself_and_limits_each_phase() -> None:
    with make_http_client() as client:
        assert client.headers["User-Agent"] == f"codekernel/{__version__}"
        assert client.timeout == DEFAULT_TIMEOUTS
        assert client.timeout.as_dict() == {"connect": 10, "read": 30, "write": 10, "pool": 10}


def test_redirects_are_not_followed() -> None:
    with endpoint() as other, endpoint(Reply(307, headers={"Location": other.url})) as first:
        with make_http_client() as client:
            assert client.post(first.url).status_code == 307
        assert len(first.seen) == 1
        assert other.seen == []


def test_a_key_in_the_query_string_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with endpoint() as served, make_http_client() as client:
        client.post(served.url, params={"key": KEY})
        assert "key=" in served.seen[0].path
    assert "key=" not in caplog.text


def test_an_empty_key_sends_no_authorization() -> None:
    with make_http_client() as client:
        request = build_chat_request(client, "http://h/", api_key="", payload={})
    assert "Authorization" not in request.headers


def test_a_model_name_with_half_a_surrogate_pair_can_be_sent() -> None:
    with make_http_client() as client:
        request = build_chat_request(client, "http://h/", api_key="", payload={"model": "\ud800"})
    assert json.loads(request.content) == {"model": "\ud800"}


@pytest.mark.parametrize("url", ["http://\u2603\u2060.example/", "http://xn--a.invalid/"])
def test_a_host_that_no_name_rule_allows_is_explained(url: str) -> None:
    with make_http_client() as client, pytest.raises(NetworkError, match="cannot exist"):
        build_chat_request(client, url, api_key="", payload={})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HTTP_PROXY", "http://user:hunter22@host:port"),
        ("https_proxy", "ftp://user:hunter22@127.0.0.1:1"),
        ("NO_PROXY", "[::1]"),
    ],
)
def test_a_malformed_proxy_variable_is_named_but_not_quoted(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    sentence = failure(f"http://{HOST}:1/v1")
    assert name.upper() in sentence
    assert "hunter22" not in sentence
    assert "http://host:port" in sentence


def test_a_ca_file_that_is_missing_or_no_pem_is_explained(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "missing.pem"))
    assert "SSL_CERT_FILE does not name" in failure(f"http://{HOST}:1/v1")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path))
    assert "SSL_CERT_FILE does not name" in failure(f"http://{HOST}:1/v1")
    nonsense = tmp_path / "nonsense.pem"
    nonsense.write_text("no certificate", encoding="utf-8")
    monkeypatch.setenv("SSL_CERT_FILE", str(nonsense))
    assert "SSL_CERT_FILE does not name" in failure(f"http://{HOST}:1/v1")


def test_a_ca_folder_that_is_missing_is_explained(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path / "missing"))
    assert "SSL_CERT_DIR does not name a folder" in failure(f"http://{HOST}:1/v1")


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        (KEY + "\n", "line break"),
        ("sk\x00live", "invisible"),
        (" " + KEY, "space at its beginning"),
        ("sk-密钥", "cannot be sent"),
        ("sk-\ud800", "cannot be sent"),
    ],
)
def test_a_key_that_no_header_can_carry_is_explained(key: str, reason: str) -> None:
    sentence = failure(f"http://{HOST}:1/v1", api_key=key)
    assert reason in sentence
    assert "a character no key has" in sentence


def test_a_key_in_latin_1_is_sent_as_it_is() -> None:
    with make_http_client() as client:
        request = build_chat_request(client, "http://h/", api_key="clé", payload={})
    assert isinstance(request, httpx.Request)
    assert (b"Authorization", "Bearer clé".encode("latin-1")) in request.headers.raw

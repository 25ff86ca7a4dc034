import json
import time

import pytest
from codekernel.domain.concurrency import CancelToken
from codekernel.errors import NetworkError, WrongParam
from codekernel.llm.http_client import build_chat_request, make_http_client, resolve_chat_url
from codekernel.llm.http_request import MAX_BODY_BYTES, read_response, send_with_retry
from llm.loopback import HOST, Reply, endpoint
from llm.trying import KEY, attempt, failure


@pytest.mark.parametrize(
    "url",
    [
        "https://api.deepseek.com/v1/chat/completions",
        "https://api.deepseek.com/v1/chat/completions/",
        "http://localhost:11434/v1/chat/completions?api-version=2024-02-01",
        "HTTPS://Api.Example.com/chat/completions",
    ],
)
def test_a_full_endpoint_is_used_verbatim(url: str) -> None:
    assert resolve_chat_url(url) == url


@pytest.mark.parametrize(
    ("url", "endpoint"),
    [
        ("https://api.deepseek.com", "https://api.deepseek.com/chat/completions"),
        ("https://api.deepseek.com/", "https://api.deepseek.com/chat/completions"),
        ("https://api.example.com/v1//", "https://api.example.com/v1/chat/completions"),
        (
            "http://127.0.0.1:8080/v1?key=a%20b",
            "http://127.0.0.1:8080/v1/chat/completions?key=a%20b",
        ),
        ("http://[::1]:8080/v1", "http://[::1]:8080/v1/chat/completions"),
        ("http://h/xchat/completions", "http://h/xchat/completions/chat/completions"),
        ("http://h/v1?to=/chat/completions", "http://h/v1/chat/completions?to=/chat/completions"),
        ("https://例子.example/v1", "https://例子.example/v1/chat/completions"),
    ],
)
def test_any_other_url_is_completed_and_keeps_its_port_and_query(url: str, endpoint: str) -> None:
    assert resolve_chat_url(url) == endpoint


@pytest.mark.parametrize(
    "url",
    [
        "",
        "api.deepseek.com/v1",
        "ftp://api.deepseek.com/v1",
        "file:///etc/passwd",
        "https:///v1",
        "https://:8080/v1",
        "https\uff1a//api.deepseek.com",
        " https://api.deepseek.com",
        "https://api.deepseek.com/v1\n",
        "https://api.deep\tseek.com/v1",
        "https://api.deepseek.com/v1\u200b",
        "https://api.deepseek.com/\ud800",
        "https://api.deepseek.com\\@elsewhere.example/v1",
        "https://user:password@api.deepseek.com/v1",
        "https://api.deepseek.com:port/v1",
        "https://api.deepseek.com:65536/v1",
        "https://api.deepseek.com:0/v1",
        "https://[::1/v1",
        "https://api..deepseek.com/v1",
        f"https://{'a' * 64}.example/v1",
    ],
)
def test_what_cannot_be_an_endpoint_is_refused_with_a_sentence(url: str) -> None:
    with pytest.raises(WrongParam, match=r"^The url .+\.$"):
        resolve_chat_url(url)


def test_the_refusal_does_not_repeat_what_was_typed() -> None:
    with pytest.raises(WrongParam) as raised:
        resolve_chat_url("sk-a-key-in-the-wrong-field")
    assert "sk-a-key" not in str(raised.value)


def test_the_smallest_chat_request_is_posted_with_the_key() -> None:
    with endpoint() as served:
        attempt(served.url)
    (seen,) = served.seen
    assert seen.path == "/v1/chat/completions"
    assert seen.headers["Authorization"] == f"Bearer {KEY}"
    assert seen.headers["Content-Type"] == "application/json"
    assert json.loads(seen.body) == {
        "model": "some-model",
        "max_tokens": 1,
        "stream": False,
        "messages": [{"role": "user", "content": "Hello"}],
    }


def test_a_url_that_cannot_be_one_fails_the_test_with_its_sentence() -> None:
    assert "must begin with http://" in failure("api.example.com/v1")


@pytest.mark.parametrize(
    ("status", "says"),
    [
        (400, "did not understand the request (400)"),
        (401, "refused the key (401)"),
        (402, "wants to be paid first (402)"),
        (403, "refused the key (403)"),
        (404, "does not know this url or model (404)"),
        (405, "takes no chat requests at this url (405)"),
        (418, "gave an answer that no model endpoint gives (418)"),
        (429, "too many requests, or the quota is used up (429)"),
        (500, "has trouble of its own (500)"),
        (529, "has trouble of its own (529)"),
    ],
)
def test_each_status_is_explained_with_the_host_and_the_servers_own_message(
    status: int, says: str
) -> None:
    body = json.dumps({"error": {"message": "No such\n thing.", "type": "x"}})
    with endpoint(Reply(status, body)) as served:
        sentence = failure(served.url)
    assert f"{HOST}:{served.port} " in sentence
    assert says in sentence
    assert 'it said: "No such thing."' in sentence


@pytest.mark.parametrize(
    ("body", "quoted"),
    [
        ('{"error": "plain"}', 'it said: "plain"'),
        ('{"message": "on top"}', 'it said: "on top"'),
        ('{"detail": "of FastAPI"}', 'it said: "of FastAPI"'),
        ('{"error": {"code": 7}}', 'it said: "{"error": {"code": 7}}"'),
        ("just\r\n\twords \x1b[31m", 'it said: "just words [31m"'),
        ("<!DOCTYPE html><title>Sign\n in</title>", 'a web page titled "Sign in"'),
        ("<html><body>x", "(a web page)"),
        ("[" * 100_000, 'it said: "[[['),
        ("", "check the url and the model name."),
    ],
)
def test_what_the_server_said_is_quoted_on_one_line(body: str, quoted: str) -> None:
    with endpoint(Reply(404, body)) as served:
        assert quoted in failure(served.url)


def test_a_long_message_is_cut() -> None:
    with endpoint(Reply(400, "x" * 5000)) as served:
        sentence = failure(served.url)
    assert "x" * 299 + "…" in sentence
    assert "x" * 300 not in sentence


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_names_the_new_host_and_is_not_followed(status: int) -> None:
    elsewhere = Reply(status, headers={"Location": "https://user@elsewhere.invalid/v1?key=1"})
    with endpoint(elsewhere) as served:
        sentence = failure(served.url)
    assert f"sends requests on to elsewhere.invalid ({status})" in sentence


@pytest.mark.parametrize(
    ("location", "place"),
    [
        ("/v2/", "another path"),
        ("", "another path"),
        ("https://127.0.0.1:{port}/v1", "https://127.0.0.1:{port}"),
    ],
)
def test_a_redirect_on_the_same_host_says_what_changes(location: str, place: str) -> None:
    with endpoint() as served:
        headers = {"Location": location.format(port=served.port)}
        served.on_request = lambda _: Reply(302, headers=headers)
        assert f"sends requests on to {place.format(port=served.port)} (" in failure(served.url)


@pytest.mark.parametrize("location", ["http://[", "http://a:b/", "https://exa mple/", "//", "é"])
def test_a_redirect_to_nonsense_is_still_a_sentence(location: str) -> None:
    with endpoint(Reply(302, headers={"Location": location})) as served:
        assert failure(served.url).startswith("Test failed: ")


@pytest.mark.parametrize(
    "body",
    [
        "",
        "<html><title>Welcome</title></html>",
        '{"object": "list"}',
        '["choices"]',
        "null",
        '{"error": {"message": "wrong key"}}',
        'data: {"choices": []}',
    ],
)
def test_a_200_that_is_no_chat_completion_is_explained(body: str) -> None:
    with endpoint(Reply(200, body)) as served:
        assert "answered, but not with a chat completion" in failure(served.url)


def test_an_endless_answer_is_not_read_to_its_end() -> None:
    with endpoint(Reply(200, "x" * (MAX_BODY_BYTES * 3))) as served:
        assert "not with a chat completion" in failure(served.url)


def test_a_stop_and_the_deadline_end_the_reading_of_an_answer() -> None:
    stop = CancelToken()
    with endpoint() as served, make_http_client() as client:
        for cancel, seconds, says in (
            (stop, 5, "was stopped"),
            (CancelToken(), 0, "did not answer in time"),
        ):
            request = build_chat_request(client, served.url, api_key="", payload={})
            response = send_with_retry(
                client, request, cancel=CancelToken(), ends_at=time.monotonic() + 5
            )
            stop.cancel()
            with pytest.raises(NetworkError, match=says):
                read_response(response, cancel=cancel, ends_at=time.monotonic() + seconds)

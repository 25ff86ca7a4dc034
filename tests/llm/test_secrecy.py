"""A server that repeats the key must not get it into an error or a log.

``failure`` looks for the key in each sentence and traceback, and ``conftest`` in each log record,
so every other test of a failure checks the same.
"""

import base64
import html
import json
from urllib.parse import quote

import pytest
from llm.loopback import Reply, endpoint
from llm.trying import KEY, failure

BASIC = base64.b64encode(f"user:{KEY}".encode()).decode()
BEARER = base64.b64encode(f"Bearer {KEY}".encode()).decode()

ECHOES = {
    "text": f"bad key {KEY}",
    "encoded": f"bad key {quote(KEY, safe='')}",
    "base64": f"Authorization: Basic {BASIC} {BEARER}",
    "message": json.dumps({"error": {"message": f"bad key {KEY}"}}),
    "other json": json.dumps({"headers": {"authorization": f"Bearer {KEY}"}}),
    "escaped json": '{"x": "' + "".join(f"\\u{ord(letter):04x}" for letter in KEY) + '"}',
    "split": "bad key " + "\u200b".join(KEY),
    "page": f"<html><title>bad key {html.escape(KEY)}</title></html>",
    "cut": "x" * (300 - len(KEY) // 2) + KEY,
}


@pytest.mark.parametrize("echo", ECHOES.values(), ids=ECHOES.keys())
@pytest.mark.parametrize(
    "status",
    [
        200,
        401,
        500,
        *(
            pytest.param(status, marks=pytest.mark.slow)
            for status in (400, 402, 403, 404, 405, 407, 418, 429, 503)
        ),
    ],
)
def test_an_echoed_key_is_not_shown(status: int, echo: str) -> None:
    with endpoint(Reply(status, echo)) as served:
        sentence = failure(served.url)
        assert served.seen[-1].headers["Authorization"] == f"Bearer {KEY}"
    assert KEY[:12] not in sentence


@pytest.mark.parametrize(
    "location",
    [
        f"https://elsewhere.invalid/?key={quote(KEY)}",
        f"https://{quote(KEY)}@elsewhere.invalid/",
        f"https://{quote(KEY, safe='')}.invalid/",
        f"/{KEY}",
        f"https://[{KEY}",
    ],
)
def test_a_key_in_a_redirect_is_not_shown(location: str) -> None:
    with endpoint(Reply(302, headers={"Location": location})) as served:
        assert KEY[:12] not in failure(served.url)


def test_a_key_in_the_query_string_is_not_shown_either() -> None:
    secret = "AIza-invented-0123456789"
    with endpoint(Reply(404, f"no such path: /v1?key={secret}")) as served:
        sentence = failure(f"{served.url}?key={secret}")
        assert secret in served.seen[0].path
    assert secret not in sentence
    assert "no such path" in sentence

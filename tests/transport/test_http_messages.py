"""Request heads: what is understood, and that everything else is refused with a status."""

import contextlib
import random
from http import HTTPStatus

import pytest
from codekernel.transport.http_messages import (
    MAX_HEAD_BYTES,
    MAX_HEADERS,
    MAX_TARGET_BYTES,
    BadRequest,
    RequestHead,
    check_head_size,
    find_head_end,
    parse_head,
    reject_body,
)

GOOD = b"GET /a%20b?c=%C3%A9 HTTP/1.1\r\nHost: 127.0.0.1:80\r\nCookie:  a=b \r\n\r\n"


def status_of(head: bytes) -> HTTPStatus | None:
    try:
        parse_head(head)
    except BadRequest as error:
        return error.status
    return None


def test_a_whole_head_is_parsed() -> None:
    head = parse_head(GOOD)
    assert (head.method, head.path, head.query) == ("GET", "/a%20b", "c=%C3%A9")
    assert head.target == "/a%20b?c=%C3%A9"
    assert head.get_header("cookie") == "a=b"
    assert head.get_header("Origin") is None


@pytest.mark.parametrize(
    "target",
    [
        "", "a", "*", "//", "//host/x", "http://127.0.0.1/", "HTTP://127.0.0.1", "127.0.0.1:80",
        "/%", "/%4", "/%zz", "/%00", "/\0", "/\x7f", "/\x1b[2J", "/é", "/a#b", "/a\tb", "/\ud800",
    ],
)  # fmt: skip
def test_a_target_of_another_form_is_a_bad_request(target: str) -> None:
    line = f"GET {target} HTTP/1.1\r\nHost: a\r\n\r\n".encode("utf-8", "surrogatepass")
    assert status_of(line) == HTTPStatus.BAD_REQUEST


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"\r\n\r\n", 400),
        (b"GET / HTTP/1.1\n\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\n folded: b\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\x00\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nnothing\r\n\r\n", 400),
        (b"GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (b"GET / x HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (b"G\xffT / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\r\n\r\n", 400),
        (b"GET / HTTP/1.0\r\nHost: a\r\n\r\n", 505),
        (b"PRI * HTTP/2.0\r\n\r\n", 505),
        (b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nContent-Length: 5\r\n\r\n", 400),
        (
            b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
            400,
        ),
        (b"GET /" + b"a" * MAX_TARGET_BYTES + b" HTTP/1.1\r\nHost: a\r\n\r\n", 414),
        (b"GET / HTTP/1.1\r\nHost: a\r\n" + b"a: b\r\n" * MAX_HEADERS + b"\r\n", 431),
        (b"GET / HTTP/1.1\r\nHost: a\r\nb: " + b"c" * MAX_HEAD_BYTES + b"\r\n\r\n", 431),
    ],
)
def test_whatever_is_ambiguous_or_too_long_is_refused(head: bytes, status: int) -> None:
    assert status_of(head) == status


def test_a_body_is_refused_where_there_is_none() -> None:
    reject_body(parse_head(GOOD), 0)
    with pytest.raises(BadRequest):
        reject_body(parse_head(GOOD), 1)
    for header in (b"Content-Length: 5", b"Content-Length: x", b"Transfer-Encoding: chunked"):
        head = b"GET / HTTP/1.1\r\nHost: a\r\n" + header + b"\r\n\r\n"
        with pytest.raises(BadRequest):
            reject_body(parse_head(head), 0)


def test_a_head_is_passed_on_as_it_was_understood() -> None:
    assert parse_head(parse_head(GOOD).render()) == parse_head(GOOD)


def test_a_head_without_end_is_refused_while_it_grows() -> None:
    check_head_size(b"x" * 100)
    with pytest.raises(BadRequest):
        check_head_size(b"x" * (MAX_TARGET_BYTES + 100))
    with pytest.raises(BadRequest):
        check_head_size(b"GET / HTTP/1.1\r\n" + b"x" * MAX_HEAD_BYTES)


def test_the_end_is_found_across_pieces() -> None:
    for at in range(1, len(GOOD)):
        assert find_head_end(GOOD[:at]) == -1
        assert find_head_end(GOOD, at) == len(GOOD)


def test_arbitrary_bytes_are_a_head_or_a_bad_request() -> None:
    chance = random.Random(18)  # noqa: S311 - repeatable, not secret
    for _ in range(2000):
        wounded = bytearray(GOOD)
        for _ in range(chance.randint(1, 4)):
            wounded[chance.randrange(len(wounded))] = chance.randrange(256)
        with contextlib.suppress(BadRequest):
            assert isinstance(parse_head(bytes(wounded)), RequestHead)

import socket
import threading
from http import HTTPStatus
from itertools import pairwise

import pytest
from codekernel.transport.http_messages import (
    END_OF_CHUNKS,
    BadRequest,
    RequestHead,
    encode_chunk,
    get_body_length,
    read_body,
)
from hypothesis import given
from hypothesis import strategies as st

MAX_BYTES = 1000
CHUNKED = RequestHead("POST", "/", "", (("Transfer-Encoding", "chunked"),))


def with_length(length: str) -> RequestHead:
    return RequestHead("POST", "/", "", (("Content-Length", length),))


def read(head: RequestHead, received: bytes, *rest: bytes) -> bytes:
    ours, theirs = socket.socketpair()

    def send() -> None:
        for piece in rest:
            theirs.sendall(piece)
        theirs.shutdown(socket.SHUT_WR)

    with ours, theirs:
        sending = threading.Thread(target=send)
        sending.start()
        try:
            return read_body(ours, head, received, MAX_BYTES)
        finally:
            sending.join()


@given(st.lists(st.binary(min_size=1, max_size=50), max_size=5), st.lists(st.integers(0, 400)))
def test_a_body_is_the_same_however_it_is_cut(pieces: list[bytes], cuts: list[int]) -> None:
    body = b"".join(pieces)
    chunks = b"".join(map(encode_chunk, pieces)) + END_OF_CHUNKS
    for head, sent in ((CHUNKED, chunks), (with_length(str(len(body))), body)):
        places = sorted({0, *(min(cut, len(sent)) for cut in cuts), len(sent)})
        parts = [sent[one:two] for one, two in pairwise(places)]
        assert read(head, *parts or [b""]) == body


def test_what_follows_a_body_is_not_part_of_it() -> None:
    assert read(with_length("2"), b"{}GET /") == b"{}"
    assert read(RequestHead("POST", "/", "", ()), b"") == b""


@pytest.mark.parametrize(
    ("head", "sent", "status"),
    [
        (with_length("1001"), b"", HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
        (with_length("+1"), b"", HTTPStatus.BAD_REQUEST),
        (with_length("\u0663"), b"", HTTPStatus.BAD_REQUEST),
        (CHUNKED, b"3e8\r\n" + b"x" * 1000 + b"\r\n1\r\n", HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
        (CHUNKED, b"-1\r\n", HTTPStatus.BAD_REQUEST),
        (CHUNKED, b"\r\n", HTTPStatus.BAD_REQUEST),
        (CHUNKED, b"1\r\nab\r\n", HTTPStatus.BAD_REQUEST),
        (CHUNKED, b"1" * 2000, HTTPStatus.BAD_REQUEST),
    ],
)
def test_what_is_too_large_or_malformed_is_refused(
    head: RequestHead, sent: bytes, status: HTTPStatus
) -> None:
    with pytest.raises(BadRequest) as refused:
        read(head, sent)
    assert refused.value.status is status


@pytest.mark.parametrize(("head", "sent"), [(with_length("3"), b"ab"), (CHUNKED, b"3\r\nab")])
def test_a_body_that_is_cut_off_is_no_body(head: RequestHead, sent: bytes) -> None:
    with pytest.raises(ConnectionResetError):
        read(head, sent)


def test_an_encoding_that_is_unknown_is_refused() -> None:
    head = RequestHead("POST", "/", "", (("Transfer-Encoding", "gzip, chunked"),))
    with pytest.raises(BadRequest):
        get_body_length(head, MAX_BYTES)

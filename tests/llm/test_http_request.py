import socket
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from codekernel.domain.concurrency import CancelToken
from codekernel.errors import NetworkError
from codekernel.llm.http_client import build_chat_request, make_http_client
from codekernel.llm.http_request import (
    RETRY_BACKOFF_SECONDS,
    parse_retry_after,
    send_with_retry,
)
from llm.loopback import COMPLETION, HOST, Reply, endpoint, raw_server, read_request, reset
from llm.trying import attempt, failure


class CountingToken(CancelToken):
    """Never sleeps; keeps how long it was asked to."""

    __slots__ = ("asked",)

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[float] = []

    def wait(self, timeout_seconds: float) -> bool:
        self.asked.append(timeout_seconds)
        return self.is_cancelled


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_trouble_that_may_pass_is_tried_again_after_growing_waits(status: int) -> None:
    cancel = CountingToken()
    with endpoint(Reply(status), Reply(status), Reply(status), COMPLETION) as served:
        attempt(served.url, cancel=cancel, waits=RETRY_BACKOFF_SECONDS)
        assert len(served.seen) == 4
    assert cancel.asked == [0.5, 1, 2]


def test_trouble_that_stays_is_reported_after_three_retries() -> None:
    with endpoint(Reply(503)) as served:
        assert "(503)" in failure(served.url)
        assert len(served.seen) == 4


@pytest.mark.parametrize("status", [301, 400, 401, 402, 403, 404, 501])
def test_trouble_that_stays_by_its_nature_is_not_tried_again(status: int) -> None:
    with endpoint(Reply(status)) as served:
        failure(served.url)
        assert len(served.seen) == 1


def test_a_dropped_connection_is_tried_again() -> None:
    connections = []

    def drop_twice(connection: socket.socket) -> None:
        connections.append(connection)
        read_request(connection)
        if len(connections) == 1:
            reset(connection)
        elif len(connections) == 3:
            connection.sendall(b'HTTP/1.0 200 OK\r\n\r\n{"choices": []}')

    with raw_server(drop_twice) as port:
        attempt(f"http://{HOST}:{port}/v1")
    assert len(connections) == 3


def test_a_refused_connection_is_not_tried_again() -> None:
    cancel = CountingToken()
    with socket.create_server((HOST, 0)) as listener:
        port = listener.getsockname()[1]
    failure(f"http://{HOST}:{port}/v1", cancel=cancel)
    assert cancel.asked == []


def test_a_server_is_left_alone_for_as_long_as_it_asks() -> None:
    cancel = CountingToken()
    busy = Reply(429, headers={"Retry-After": "7"})
    with endpoint(busy, COMPLETION) as served:
        attempt(served.url, cancel=cancel, waits=RETRY_BACKOFF_SECONDS)
    assert cancel.asked == [7]


def test_a_server_may_ask_with_a_date() -> None:
    cancel = CountingToken()
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    with endpoint(Reply(503, headers={"Retry-After": soon}), COMPLETION) as served:
        attempt(served.url, cancel=cancel, waits=(0,))
    assert len(cancel.asked) == 1
    assert 0 < cancel.asked[0] <= 30


def test_a_server_that_asks_for_longer_than_the_deadline_is_not_tried_again() -> None:
    cancel = CountingToken()
    with endpoint(Reply(429, headers={"Retry-After": "3600"})) as served:
        sentence = failure(served.url, cancel=cancel)
        assert len(served.seen) == 1
    assert cancel.asked == []
    assert "it asks to wait 3600 seconds" in sentence


def test_after_the_deadline_nothing_is_tried_again() -> None:
    with endpoint(Reply(503)) as served, make_http_client() as client:
        request = build_chat_request(client, served.url, api_key="", payload={})
        response = send_with_retry(
            client, request, cancel=CancelToken(), ends_at=time.monotonic() + 0
        )
        response.close()
        assert response.status_code == 503
        assert len(served.seen) == 1


def test_the_phases_of_an_attempt_are_cut_to_the_deadline() -> None:
    with endpoint() as served, make_http_client() as client:
        request = build_chat_request(client, served.url, api_key="", payload={})
        send_with_retry(client, request, cancel=CancelToken(), ends_at=time.monotonic() + 5).close()
    assert all(1 <= limit <= 5 for limit in request.extensions["timeout"].values())


def test_a_stop_ends_the_wait_between_two_attempts() -> None:
    cancel = CancelToken()
    with endpoint(Reply(503)) as served:
        served.on_request = lambda _: cancel.cancel()
        sentence = failure(served.url, cancel=cancel, waits=(40,))
        assert len(served.seen) == 1
    assert f"The request to {HOST}:{served.port} was stopped" in sentence


def test_a_stop_before_the_first_attempt_sends_nothing() -> None:
    cancel = CancelToken()
    cancel.cancel()
    with endpoint() as served, make_http_client() as client:
        request = build_chat_request(client, served.url, api_key="", payload={})
        with pytest.raises(NetworkError, match="was stopped"):
            send_with_retry(client, request, cancel=cancel, ends_at=time.monotonic() + 5)
        assert served.seen == []


NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0),
        (" 7 ", 7),
        ("1.5", 1.5),
        ("Fri, 02 Jan 2026 03:04:15 GMT", 10),
        ("Fri, 02 Jan 2026 03:04:15 -0000", 10),
        ("Fri, 02 Jan 2026 03:00:00 GMT", 0),
    ],
)
def test_seconds_and_http_dates_are_understood(value: str, seconds: float) -> None:
    assert parse_retry_after(value, NOW) == seconds


@pytest.mark.parametrize(
    "value",
    ["", "soon", "-1", "nan", "inf", "1e9", "٣", "9" * 5000, "Fri, 99 Jan 2026 03:04:15 GMT"],
)
def test_anything_else_is_as_if_it_were_not_there(value: str) -> None:
    assert parse_retry_after(value, NOW) is None

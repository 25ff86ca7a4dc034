"""Failures below HTTP, each made by a real socket."""

import socket

import httpx
from llm.loopback import (
    HOST,
    Reply,
    endpoint,
    raw_server,
    read_request,
    reset,
    wait_for_hang_up,
)
from llm.trying import failure

BRIEF = httpx.Timeout(connect=0.2, read=0.2, write=5, pool=5)


def free_port() -> int:
    with socket.create_server((HOST, 0)) as listener:
        return listener.getsockname()[1]


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

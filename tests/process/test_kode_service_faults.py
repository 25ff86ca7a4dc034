"""Clients of the Kode service that leave, do not read, come in crowds or speak nonsense."""

import contextlib
import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from support.chat_server import (
    SetEvent,
    WaitForDisconnect,
    WaitForEvent,
    delta,
    end_reply,
    reply_text,
)
from support.command_line import TIMEOUT_SECONDS
from support.hostile_connections import open_half_connections, parse_status, send_raw_request
from support.kode_service import SECRET, SKIP, KodeWorld, call_tools, kinds
from support.polling import wait_until

MAX_RUNNING_TURNS = 16
CHAT = b"POST /api/chat/stream HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nX-API-Key: %b\r\n"


def get_outcomes(kode: KodeWorld, task: str) -> list[str]:
    """How the turns of a task ended, as the history has it."""
    found = (kode.shared.user_data / "conversations").glob("conversation-*.json")
    turns = [turn for path in found for turn in json.loads(path.read_bytes())["history"]]
    return [turn["outcome"] for turn in turns if turn["query"] == task]


def raw_chat(kode: KodeWorld, rest: bytes) -> bytes:
    return send_raw_request(kode.client.port, CHAT % (kode.client.port, SECRET.encode()) + rest)


def is_served(kode: KodeWorld) -> bool:
    kode.script(reply_text("Still here."))
    return kinds(kode.client.ask("hi")) == ["start", "text", "done"]


def test_a_client_that_leaves_stops_its_turn_and_no_other(kode: KodeWorld) -> None:
    half, go_on, before = threading.Event(), threading.Event(), len(kode.server.received)
    kode.script(
        [delta("Half"), SetEvent(half), WaitForDisconnect()],
        [delta("Whole"), WaitForEvent(go_on), *end_reply()],
    )
    leaving = kode.client.open({"message": "leave"})
    agent_id = leaving.read_until("start")["agentId"]
    assert half.wait(TIMEOUT_SECONDS)
    staying = kode.client.open({"message": "stay"})
    kode.server.wait_for_request(before + 2)
    leaving.close()
    assert kode.server.received[before].hung_up.wait(TIMEOUT_SECONDS)
    wait_until(lambda: get_outcomes(kode, "leave") == ["stopped"])
    go_on.set()
    assert staying.read_until("text")["content"] == "Whole"
    assert staying.read_until("done")
    wait_until(lambda: "backend" not in [it["name"] for it in kode.shared.status()["clients"]])
    kode.script(reply_text("Again."))
    start, text, _ = kode.client.ask("go on", agentId=agent_id)
    assert (start["isNewSession"], text["content"]) == (False, "Again.")


def test_a_client_that_reads_late_gets_everything_and_holds_up_nobody(kode: KodeWorld) -> None:
    line = "0123456789abcde\n"
    (kode.first / "large.txt").write_text(line * 60_000, encoding="utf-8")
    # More than the buffers of both sides take.
    reads = [(f"toolu_{n}", "read_file", {"path": "large.txt"}) for n in range(1, 9)]
    kode.script(call_tools(SKIP, *reads), reply_text("Read."))
    body = json.dumps({"message": "read"}).encode()
    with socket.socket() as slow:
        slow.settimeout(TIMEOUT_SECONDS)
        slow.connect(("127.0.0.1", kode.client.port))
        head = CHAT % (kode.client.port, SECRET.encode())
        slow.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        # The whole turn is done while nothing of it is read.
        wait_until(lambda: get_outcomes(kode, "read") == ["done"])
        assert is_served(kode)
        received = b""
        while piece := slow.recv(1 << 20):
            received += piece
    assert received.endswith(b"0\r\n\r\n")
    assert received.count(b"0123456789abcde\\n") >= 60_000 * len(reads)
    assert b'"type":"done"' in received


def test_a_session_that_is_at_work_takes_no_second_task(kode: KodeWorld) -> None:
    go_on = threading.Event()
    kode.script([delta("Busy"), WaitForEvent(go_on), *end_reply()])
    first = kode.client.open({"message": "first"})
    agent_id = first.read_until("start")["agentId"]
    assert kinds(kode.client.ask("second", agentId=agent_id)) == ["start", "error"]
    go_on.set()
    assert first.read_until("done")["metadata"]["agentId"] == agent_id


def test_too_many_at_once_are_told_when_to_come_again(kode: KodeWorld) -> None:
    go_on = threading.Event()
    kode.script([delta("Busy"), WaitForEvent(go_on), *end_reply()])
    streams = [kode.client.open({"message": f"n{n}"}) for n in range(MAX_RUNNING_TURNS)]
    ids = {stream.read_until("start")["agentId"] for stream in streams}
    assert len(ids) == MAX_RUNNING_TURNS
    refused = kode.client.open({"message": "one more"}).response
    assert (refused.status, json.loads(refused.read())["error"]) == (429, "RATE_LIMITED")
    assert int(refused.headers["Retry-After"]) > 0
    go_on.set()
    for stream in streams:
        assert stream.read_until("done")
    assert is_served(kode)


def test_a_thousand_half_open_connections_block_nobody(kode: KodeWorld) -> None:
    with open_half_connections(kode.client.port, 1000):
        assert is_served(kode)
        healthy = kode.client.open("", method="GET", path="/health").response
        assert healthy.status == 200
    assert is_served(kode)


def test_a_thousand_requests_are_all_answered(kode: KodeWorld) -> None:
    def ask(number: int) -> int:
        if number % 2:
            return kode.client.open({"message": "a"}, key="wrong").response.status
        return kode.client.open("", method="GET", path="/health").response.status

    with ThreadPoolExecutor(50) as pool:
        answered = list(pool.map(ask, range(1000)))
    assert (answered.count(200), answered.count(401)) == (500, 500)
    assert is_served(kode)


@pytest.mark.parametrize(
    ("rest", "status"),
    [
        (b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n{}", 400),
        (b"Content-Length: -1\r\n\r\n", 400),
        (b"Content-Length: 1e3\r\n\r\n", 400),
        (b"Content-Length: 99999999999999999999\r\n\r\n", 400),
        (b"Content-Length: 999999999\r\n\r\n", 413),
        (b"Transfer-Encoding: gzip\r\n\r\n", 501),
        (b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
        (b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}{}\r\n0\r\n\r\n", 400),
        (b"Transfer-Encoding: chunked\r\n\r\nffffffff\r\n", 413),
        (b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        (b"\r\n", 400),
    ],
)
def test_nonsense_is_refused(kode: KodeWorld, rest: bytes, status: int) -> None:
    assert parse_status(raw_chat(kode, rest)) == status


def test_bytes_that_are_no_request_harm_nobody(kode: KodeWorld) -> None:
    for noise in (b"\0" * 5000, b"GET\r\n\r\n", b"\x16\x03\x01\x02\x00\x01", b"{}\n" * 1000):
        with contextlib.suppress(TimeoutError), socket.socket() as connection:
            connection.connect(("127.0.0.1", kode.client.port))
            connection.sendall(noise)
    assert is_served(kode)


def test_a_body_in_chunks_and_one_that_waits_for_a_go_are_read(kode: KodeWorld) -> None:
    kode.script(reply_text("ok"))
    chunks = b'4;a=b\r\n{"me\r\n' + b'e\r\nssage":"hey"} \r\n' + b"0\r\nTrailer: x\r\n\r\n"
    answered = raw_chat(kode, b"Transfer-Encoding: chunked\r\n\r\n" + chunks)
    assert answered.startswith(b"HTTP/1.1 200 OK\r\n")
    assert kode.server.received[-1].json["messages"][-1]["content"] == "hey"
    body = b'{"message":"hey"}'
    waits = b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(body)
    answered = raw_chat(kode, waits + body)
    assert answered.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n")


def test_a_body_that_is_cut_off_begins_no_turn(kode: KodeWorld) -> None:
    before = len(kode.server.received)
    with socket.create_connection(("127.0.0.1", kode.client.port)) as connection:
        head = CHAT % (kode.client.port, SECRET.encode())
        connection.sendall(head + b'Content-Length: 100\r\n\r\n{"message":"a"}')
    assert is_served(kode)
    assert len(kode.server.received) == before + 1


def test_a_kernel_that_dies_ends_the_turn_in_an_error_and_the_next_is_served(
    kode: KodeWorld,
) -> None:
    half = threading.Event()
    kode.script([delta("Half"), SetEvent(half), WaitForDisconnect()])
    stream = kode.client.open({"message": "die"})
    agent_id = stream.read_until("start")["agentId"]
    assert half.wait(TIMEOUT_SECONDS)
    kode.shared.kill()
    frames = [frame for frame in stream if frame["type"] != "heartbeat"]
    assert kinds(frames)[-1] == "error"
    assert frames[-1]["error"] == "INTERNAL_ERROR"
    kode.script(reply_text("Alive."))
    start, text, _ = kode.client.ask("again", agentId=agent_id)
    assert (start["isNewSession"], text["content"]) == (False, "Alive.")

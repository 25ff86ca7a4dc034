import json

import pytest
from codekernel.client.mcp_relay_state import McpRelayState
from codekernel.client.relay_state import MAX_HEAD_BYTES, MAX_READ_REPLY_BYTES


def call(request_id: int | str) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": request_id, "method": "tools/call"}).encode()


def reply(request_id: int | str, text: str = "") -> bytes:
    """As the server writes it."""
    message = {"jsonrpc": "2.0", "id": request_id, "result": {"text": text}}
    return json.dumps(message, separators=(",", ":")).encode()


def carry(state: McpRelayState, line: bytes) -> bool:
    """Whether a line of the kernel is forwarded; a relay keeps none that is too long."""
    is_forwarded, is_read = state.classify_head(line[:MAX_HEAD_BYTES])
    if is_read and len(line) <= MAX_READ_REPLY_BYTES:
        state.note_line(line)
    state.note_end()
    return is_forwarded


@pytest.mark.parametrize("request_id", [7, -1, "seven", 'a "quoted" \\ id'])
@pytest.mark.parametrize("text", ["short", "long " * MAX_READ_REPLY_BYTES])
def test_a_call_that_was_answered_is_not_sent_again_however_long_the_answer(
    request_id: int | str, text: str
) -> None:
    state = McpRelayState()
    state.note_request(call(request_id))
    state.note_request(call(99))
    assert carry(state, reply(request_id, text))
    assert state.restart() == ([call(99)], [])


def test_a_reply_in_another_order_is_known_by_its_id() -> None:
    state = McpRelayState()
    state.note_request(call(7))
    assert carry(state, b'{"result":{},"id":7,"jsonrpc":"2.0"}')
    assert state.restart() == ([], [])


def test_a_reply_that_was_torn_is_asked_for_again() -> None:
    state = McpRelayState()
    state.note_request(call(7))
    assert state.classify_head(reply(7)[:MAX_HEAD_BYTES]) == (True, False)
    assert state.restart() == ([call(7)], [])
    assert carry(state, b'{"jsonrpc":"2.0","method":"notifications/message","params":{}}')
    assert state.restart() == ([call(7)], [])


def test_the_handshake_is_repeated_without_the_client() -> None:
    state = McpRelayState()
    hello = b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}'
    state.note_request(hello)
    assert carry(state, reply(0))
    state.note_request(call(7))
    assert state.restart() == ([hello], [])
    assert not carry(state, reply(0))
    assert not state.is_holding
    assert state.release_held() == [call(7)]


def test_of_a_batch_only_what_was_not_answered_is_sent_again() -> None:
    state = McpRelayState()
    state.note_request(b"[%b,%b,5]" % (call(7), call("eight")))
    assert carry(state, reply(7))
    assert state.restart() == ([call("eight")], [])

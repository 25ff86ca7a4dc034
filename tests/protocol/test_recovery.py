import pytest
from codekernel.protocol.codec import recover_envelope


@pytest.mark.parametrize(
    ("line", "callback"),
    [
        (b'{"callbackId":42,"isReply":false,', 42),
        (b'{"isReply": false , "callbackId" : 42 }garbage', 42),
        (b'{"callbackId":42.0,"isReply":false,"message":{}}', 42),
        (b'{"callbackId":0,"message":{"type":', 0),
        (b'{"callbackId":4', -1),
        (b'{"message":{"text":"\\"callbackId\\":7,"', -1),
        (b'{"message":{"callbackId":7,"', -1),
        (b'{"callbackId":true,"message":{}}', -1),
        (b'{"callbackId":[1],"message":{}}', -1),
        (b'{"callbackId":1e400,"message":{}}', -1),
        (b"", -1),
    ],
)
def test_the_callback_id_is_found_if_it_can_be_known(line: bytes, callback: int) -> None:
    envelope = recover_envelope(line)
    assert envelope
    assert envelope.callback_id == callback


@pytest.mark.parametrize(
    "line",
    [
        b'{"callbackId":42,"isReply":true,"message":{"type":',
        b'{"callbackId":42,"isReply":true}',
        b'{"callbackId":-1,"isReply":false}',
        b'{"callbackId":-1,"isReply":false,',
    ],
)
def test_a_broken_reply_or_a_request_nobody_waits_for_needs_no_answer(line: bytes) -> None:
    assert recover_envelope(line) is None


def test_what_was_readable_is_repeated() -> None:
    envelope = recover_envelope(
        b'{"sessionId":7,"toMain":false,"callbackId":1,"message":{"type":"search"}}'
    )
    assert envelope
    assert (envelope.session_id, envelope.to_main) == (7, False)
    assert envelope.message == {"type": "search"}


def test_what_was_not_readable_has_its_usual_value() -> None:
    envelope = recover_envelope(b'{"sessionId":"x","toMain":1,"callbackId":1,"message":[]}')
    assert envelope
    assert (envelope.session_id, envelope.to_main) == (-1, True)
    assert envelope.message == {"type": ""}

import json
from typing import Any

import msgspec
import pytest
from codekernel.errors import InvalidSettings, WrongParam
from codekernel.protocol import READY_CALLBACK_ID, READY_LINE
from codekernel.protocol.envelope import (
    Envelope,
    build_failure,
    build_reply,
    build_request,
    decode_envelope,
    decode_message,
    encode_ascii_json,
    recover_envelope,
)
from codekernel.protocol.messages.repos import CreateRepo, Ready, SessionPrepared
from hypothesis import given
from hypothesis import strategies as st

any_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=4),
    max_leaves=10,
)  # fmt: skip


def request(message: dict[str, Any]) -> Envelope:
    return Envelope(session_id=-1, to_main=True, callback_id=3, is_reply=False, message=message)


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), any_json, max_size=5))
def test_a_reply_repeats_any_message_in_ascii(fields: dict[str, Any]) -> None:
    message = {name: value for name, value in fields.items() if "api" not in name.lower()}
    message["type"] = "getRepos"
    line = json.dumps(
        {
            "sessionId": -1,
            "toMain": True,
            "callbackId": 3,
            "isReply": False,
            "message": message,
        }
    )
    answered = encode_ascii_json(build_reply(decode_envelope(line.encode())))
    assert answered.isascii()
    assert b"\n" not in answered
    assert json.loads(answered)["message"] == json.loads(line)["message"]


def test_the_ready_line_is_what_the_codec_would_write() -> None:
    assert encode_ascii_json(build_request(-1, READY_CALLBACK_ID, Ready())) == READY_LINE


def test_a_failure_carries_the_code_and_the_sentence_and_no_data() -> None:
    line = json.loads(
        encode_ascii_json(build_failure(request({"type": "x"}), InvalidSettings("because")))
    )
    assert line["status"] == {"code": "INVALID_SETTINGS", "message": "because"}
    assert "data" not in line


def test_a_success_without_data_has_no_data() -> None:
    line = json.loads(encode_ascii_json(build_reply(request({"type": "x"}))))
    assert line["status"] == {"code": "SUCCESS", "message": ""}
    assert "data" not in line


def test_a_path_that_is_not_unicode_can_still_be_sent() -> None:
    line = encode_ascii_json(build_request(1, 2, SessionPrepared(repo_name="a", path="/r/\udcff")))
    assert json.loads(line)["message"]["path"] == "/r/\udcff"
    assert line.isascii()


def test_a_number_that_json_lacks_is_sent_as_null() -> None:
    line = encode_ascii_json(build_reply(request({"type": "x"}), {"score": float("nan")}))
    assert json.loads(line)["data"] == {"score": None}


@pytest.mark.parametrize("name", ["api", "apiKey", "apikey", "APIKEY", "api_key"])
@pytest.mark.parametrize("value", ["sk-1", ["sk-1"], {"key": "sk-1"}])
def test_a_key_is_masked_whatever_it_is_called_and_whatever_it_is(name: str, value: object) -> None:
    message = {"type": "setApiKey", name: value}
    for outgoing in (
        build_reply(request(message)),
        build_failure(request(message), WrongParam("no")),
    ):
        assert json.loads(encode_ascii_json(outgoing))["message"] == {
            "type": "setApiKey",
            name: "***",
        }
    assert message[name] == value


@pytest.mark.parametrize(
    ("message", "named"),
    [
        ({"type": "createRepo", "repoName": "x"}, "path"),
        ({"type": "createRepo", "repoName": None, "path": "/x"}, "repoName"),
        ({"type": "createRepo", "repoName": "x", "path": 5}, "path"),
        ({"type": "other", "repoName": "x", "path": "/x"}, "other"),
    ],
)
def test_a_wrong_field_is_named(message: dict[str, Any], named: str) -> None:
    with pytest.raises(WrongParam, match=named):
        decode_message(CreateRepo, message)


def test_unknown_fields_are_no_error() -> None:
    message = {"type": "createRepo", "repoName": "x", "path": "/x", "windowId": 3}
    assert decode_message(CreateRepo, message) == CreateRepo(repo_name="x", path="/x")


@given(st.binary())
def test_any_bytes_are_an_envelope_or_a_wrong_param(line: bytes) -> None:
    try:
        envelope = decode_envelope(line)
    except WrongParam:
        return
    assert isinstance(envelope.message["type"], str)


def test_messages_cannot_be_changed_after_they_were_read() -> None:
    message = CreateRepo(repo_name="x", path="/x")
    with pytest.raises(AttributeError):
        message.path = "/y"  # type: ignore[misc]  # it is what the test is about
    assert issubclass(CreateRepo, msgspec.Struct)


def test_no_control_character_stands_raw_in_a_line() -> None:
    path = "/r/\x1b[2J\x7f\x9b\u2028\u202e"
    line = encode_ascii_json(build_request(1, 2, SessionPrepared(repo_name="\x7f", path=path)))
    assert json.loads(line)["message"]["path"] == path
    assert all(0x20 <= byte < 0x7F for byte in line)


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

"""Events of the platform, parsed; whatever is in them, nothing fails."""

from typing import Any

from codekernel.adapters.lark.inbox import IncomingClick, IncomingMessage, parse_event
from hypothesis import given
from hypothesis import strategies as st

HEADER = {"event_id": "e1", "event_type": "im.message.receive_v1"}
SENDER = {"sender_id": {"open_id": "ou_1"}, "sender_type": "user"}
MESSAGE = {
    "message_id": "om_1", "chat_id": "oc_1", "message_type": "text",
    "content": '{"text": "@_user_1 hello "}', "mentions": [{"key": "@_user_1"}],
}  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=8,
)


def make_event(**changes: Any) -> dict[str, Any]:
    return {"header": HEADER, "event": {"sender": SENDER, "message": {**MESSAGE, **changes}}}


def test_a_message_is_its_text_without_the_mention_of_the_bot() -> None:
    expected = IncomingMessage("e1", "om_1", "oc_1", "ou_1", "text", "hello")
    assert parse_event(make_event()) == expected


def test_a_picture_has_no_text() -> None:
    parsed = parse_event(make_event(message_type="image", content='{"image_key": "k"}'))
    assert isinstance(parsed, IncomingMessage)
    assert parsed.text is None


def test_what_a_bot_says_is_no_message() -> None:
    event = make_event()
    event["event"]["sender"] = {"sender_id": {"open_id": "ou_b"}, "sender_type": "app"}
    assert parse_event(event) is None


def test_a_click_has_the_id_of_its_button() -> None:
    event = {
        "header": {"event_id": "e2", "event_type": "card.action.trigger"},
        "event": {
            "operator": {"open_id": "ou_1"},
            "action": {"value": {"button": "b1"}},
            "context": {"open_chat_id": "oc_1"},
        },
    }
    assert parse_event(event) == IncomingClick("e2", "oc_1", "ou_1", "b1")


@given(st.sampled_from(["message", "sender", "header"]), JSON)
def test_an_event_that_is_damaged_is_none(part: str, value: Any) -> None:
    event = make_event()
    (event if part == "header" else event["event"])[part] = value
    assert parse_event(event) is None


@given(JSON)
def test_content_that_is_damaged_is_none_or_a_message(value: Any) -> None:
    for event in (
        make_event(content=value),
        make_event(message_type="post", content=f'{{"content": {value!r}}}'),
    ):
        parsed = parse_event(event)
        assert parsed is None or isinstance(parsed, IncomingMessage)

"""The other shape in which messages travel: role ``agent``, the message inside an output.

    {"role": "agent", "content": {"type": "output", "data": {"type": "assistant", "message": ...}}}

``data.type`` is assistant or user around a message, result or summary at the end; ``type`` may be
event. The document knows only plain messages; its implementation sends these too.
"""

from typing import Any

from kernel.domain.agent_message import AGENT, ASSISTANT, USER, AgentMessage
from kernel.domain.content_blocks import Json, Text
from kernel.doors.uap.reading import content_of, message_of
from kernel.errors import WrongParam

# In ``meta``: nothing comes after this message; what kind of event it is.
ENDS, EVENT = "ends", "event"


def opened(value: object) -> AgentMessage:
    """A message in either shape. Raises WrongParam."""
    if not isinstance(value, dict) or value.get("role") != AGENT:
        return message_of(value)
    content = value.get("content")
    if not isinstance(content, dict):
        return message_of(value)
    if content.get("type") == "event":
        data = content.get("data")
        return AgentMessage(AGENT, (), {EVENT: data if isinstance(data, dict) else {}})
    data = content.get("data")
    if content.get("type") != "output" or not isinstance(data, dict):
        raise WrongParam("An agent's content must be of type output, with data, or an event.")
    return _of_output(data)


def enveloped(message: AgentMessage) -> Json:
    """The same message for a client that expects the other shape."""
    role = USER if message.role == USER else ASSISTANT
    plain = AgentMessage(role, message.content).as_json()
    return _output({"type": role, "message": plain})


def ended(text: str, *, is_error: bool = False) -> Json:
    """The last envelope of a turn: clients finish their card when it comes."""
    return _output({"type": "result", ("error" if is_error else "result"): text})


def _output(data: Json) -> Json:
    return {"role": AGENT, "content": {"type": "output", "data": data}}


def _of_output(data: dict[str, Any]) -> AgentMessage:
    kind = data.get("type")
    if kind in {ASSISTANT, USER}:
        inner = data.get("message")
        content = inner.get("content") if isinstance(inner, dict) else inner
        return AgentMessage(str(kind), content_of(content))
    if kind == "summary":
        return _last(data.get("summary"))
    if kind == "result":
        failure = data.get("error")
        if failure:
            return _last(failure, is_error=True)
        return _last(data.get("result"))
    raise WrongParam("`data.type` must be assistant, user, result or summary.")


def _last(text: object, *, is_error: bool = False) -> AgentMessage:
    blocks = (Text(text),) if isinstance(text, str) and text else ()
    failed = {"is_error": True} if is_error else {}
    return AgentMessage(ASSISTANT, blocks, {ENDS: True, **failed})

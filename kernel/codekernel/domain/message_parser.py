"""Parse the agent messages of document 004 from JSON values."""

from codekernel.domain import chat
from codekernel.domain.chat import AgentMessage, ContentBlock, JsonObject, TextContent
from codekernel.errors import WrongParam


def parse_message(value: object) -> AgentMessage:
    """Parse a message whose content is a list of blocks or a text. Raises WrongParam.

    Blocks of unknown types are left out.
    """
    if not isinstance(value, dict):
        raise WrongParam("A message must be a JSON object.")
    role, meta = value.get("role"), value.get("meta")
    if role not in chat.AGENT_MESSAGE_ROLES:
        raise WrongParam(f"`role` must be one of {', '.join(chat.AGENT_MESSAGE_ROLES)}.")
    return AgentMessage(
        str(role), parse_content(value.get("content")), meta if isinstance(meta, dict) else {}
    )


def parse_content(content: object) -> tuple[ContentBlock, ...]:
    """Parse the blocks of a content. Raises WrongParam."""
    if isinstance(content, str):
        return (TextContent(content),)
    if not isinstance(content, list):
        raise WrongParam("`content` must be a list of blocks, or a text.")
    blocks = map(parse_block, content)
    return tuple(block for block in blocks if block is not None)


def parse_block(value: object) -> ContentBlock | None:
    """Parse a block; None for an unknown type.

    Raises WrongParam for a known type with wrong fields.
    """
    if not isinstance(value, dict):
        raise WrongParam("A content block must be a JSON object.")
    match value.get("type"):
        case "text":
            return TextContent(_require_text(value, "text"))
        case "thinking":
            signature = value.get("signature")
            return chat.ThinkingContent(
                _require_text(value, "thinking"), signature if isinstance(signature, str) else None
            )
        case "tool_use":
            given = value.get("input", {})
            if not isinstance(given, dict):
                raise WrongParam("`input` of a tool_use must be an object.")
            return chat.ToolUseContent(
                _require_text(value, "id"), _require_text(value, "name"), given
            )
        case "tool_result":
            failed, diff = value.get("is_error") is True, value.get("diff")
            return chat.ToolResultContent(
                _require_text(value, "tool_use_id"),
                _parse_result(value.get("content", "")),
                failed,
                diff if isinstance(diff, str) else "",
            )
        case "redacted":
            return chat.RedactedContent(_require_text(value, "data"))
        case _:
            return None


def _parse_result(content: object) -> str | tuple[TextContent, ...]:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise WrongParam("`content` of a tool_result must be a text or a list of text blocks.")
    blocks = map(parse_block, content)
    return tuple(block for block in blocks if isinstance(block, TextContent))


def _require_text(value: JsonObject, name: str) -> str:
    text = value.get(name)
    if not isinstance(text, str):
        raise WrongParam(f"`{name}` of a {value['type']} block is missing or not a text.")
    return text

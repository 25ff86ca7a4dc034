"""What is wrong with a refused chat request: whether it can be mended, or a sentence about it."""

import re
from typing import Any

import httpx

from kernel.errors import ContextTooLong, NetworkError, ToolsRefused
from kernel.llm.answer import Answer, quotation
from kernel.llm.context_limit import is_too_long, limit_in
from kernel.llm.refusals import refusal, who
from kernel.llm.traits import Traits

# 500 and 501 too: the server of llama.cpp calls a template without tools its own trouble.
_CANNOT = frozenset({400, 404, 405, 415, 422, 500, 501})
_OF_TOOLS = re.compile(r"\btools?\b|tool[_ -]?(use|call|choice)|function[_ -]?call", re.IGNORECASE)
_UNABLE = re.compile(r"support|require|enable|jinja", re.IGNORECASE)
_STOP_REFUSED = re.compile(
    r"(unsupported|not supported|unknown)[^.]{0,40}\bstop\b|"
    r"\bstop\b[^.]{0,40}(unsupported|not supported)",
    re.IGNORECASE,
)
_QUOTA = re.compile(
    r"insufficient[_ ](quota|balance|credit|funds)|exceeded your current quota|credit balance|"
    r"billing|out of credits|余额不足|欠费",
    re.IGNORECASE,
)
_MODEL_UNKNOWN = re.compile(
    r"model_not_found|model[^.]{0,120}(not (be )?found|does ?n[o']t exist|not exist|unknown|"
    r"not a valid|not available|no such)|(unknown|invalid|no such|unsupported) model",
    re.IGNORECASE,
)
_KEY_WRONG = re.compile(r"(invalid|incorrect|wrong|expired|not valid)[^.]{0,30}api.?key|"
                        r"api.?key[^.]{0,30}(invalid|incorrect|wrong|expired|not valid)",
                        re.IGNORECASE)  # fmt: skip
_LOOKED_AT = 4000


def learn(answer: Answer, payload: dict[str, Any], traits: Traits) -> bool:
    """Note what of ``payload`` the endpoint does not take; true if asking without it may help."""
    if answer.status not in _CANNOT or is_too_long(answer.status, answer.text):
        return False
    text = answer.text[:_LOOKED_AT]
    if "stream_options" in payload and "stream_options" in text:
        traits.counts_in_stream = False
    elif "max_tokens" in payload and "max_completion_tokens" in text:
        traits.answer_limit_name = "max_completion_tokens"
    elif "stop" in payload and _STOP_REFUSED.search(text):
        traits.takes_stop_words = False
    else:
        return False
    return True


def complaint(
    answer: Answer, secrets: tuple[str, ...], *, traits: Traits, had_tools: bool
) -> NetworkError:
    """Say what is wrong; an answer of 200 is one that reported an error in its body."""
    text = answer.text[:_LOOKED_AT]
    said = quotation(answer, secrets)
    may_be_cannot = answer.status in _CANNOT or answer.status == httpx.codes.OK
    if (may_be_cannot or answer.status == httpx.codes.REQUEST_ENTITY_TOO_LARGE) and is_too_long(
        answer.status, text
    ):
        traits.context_tokens = limit_in(text) or traits.context_tokens
        return ContextTooLong(
            f"{who(answer)} was sent more than its model can read at once: ask a shorter question, "
            f"lower historyLength, or choose a model with a larger context{said}."
        )
    if had_tools and may_be_cannot and _is_about_tools(answer.status, text):
        traits.calls_tools = False
        return ToolsRefused(f"{who(answer)} cannot be given tools to search with{said}.")
    return NetworkError(_sentence(answer, text, said, secrets))


def _is_about_tools(status: int, text: str) -> bool:
    if not _OF_TOOLS.search(text):
        return False
    # A server that has trouble may well mention tools; one that cannot use them says so.
    return status < httpx.codes.INTERNAL_SERVER_ERROR or _UNABLE.search(text) is not None


def _sentence(answer: Answer, text: str, said: str, secrets: tuple[str, ...]) -> str:
    shown = "" if answer.status == httpx.codes.OK else f" ({answer.status})"
    if _QUOTA.search(text):
        return (
            f"{who(answer)} has no quota or balance left for this key{shown}: "
            f"check the account it belongs to{said}."
        )
    if answer.status in _CANNOT and _MODEL_UNKNOWN.search(text):
        return f"{who(answer)} does not know this model{shown}: check the model name{said}."
    if answer.status in _CANNOT and _KEY_WRONG.search(text):
        return f"{who(answer)} refused the key{shown}: check that it is right and complete{said}."
    if answer.status == httpx.codes.OK:
        return f"{who(answer)} reported an error instead of an answer: try again{said}."
    return refusal(answer, secrets)

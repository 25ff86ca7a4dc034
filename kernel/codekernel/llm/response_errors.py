"""Explain an error response in one sentence.

Tables of words and statuses recognize context overflow, unsupported tools or parameters, an
unknown model, a wrong key and an exhausted quota.
"""

import json
import re
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx

from codekernel.errors import ContextTooLong, NetworkError, ToolsRefused
from codekernel.llm.http_request import EndpointResponse, parse_retry_after
from codekernel.llm.network_errors import explain_proxy_login
from codekernel.llm.providers.base import EndpointCapabilities
from codekernel.masking.masker import redact_secrets

MAX_QUOTE_CHARS = 300

_TITLE = re.compile(r"<title[^>]*>(.*?)</title", re.IGNORECASE | re.DOTALL)

_MARKUP_START = re.compile(r"\s*<(!doctype|html|head|body|\?xml)", re.IGNORECASE)


def quote_response(response: EndpointResponse, secrets: tuple[str, ...]) -> str:
    """Return a quote of the body as the end of a sentence; empty if there is no body."""
    if _MARKUP_START.match(response.text):
        title = _TITLE.search(response.text)
        said = sanitize_line(title.group(1), secrets) if title else ""
        return f' (a web page titled "{said}")' if said else " (a web page)"
    said = sanitize_line(_extract_error_message(response), secrets)
    return f' (it said: "{said}")' if said else ""


def sanitize_line(text: str, secrets: tuple[str, ...]) -> str:
    """Make text of a server fit to show: no secrets, no line breaks, not too long."""
    # Cleaned before it is redacted, so that nothing invisible can split a key, and cut last, so
    # that no cut can.
    visible = "".join(each for each in text if each.isprintable() or each.isspace())
    clean = redact_secrets(" ".join(visible.split()), secrets)
    return clean if len(clean) <= MAX_QUOTE_CHARS else clean[: MAX_QUOTE_CHARS - 1] + "…"


def _extract_error_message(response: EndpointResponse) -> str:
    body = response.json()
    if body is None:
        return response.text
    if isinstance(body, dict):
        error = body.get("error")
        places = (error.get("message") if isinstance(error, dict) else error, body.get("message"))
        for place in (*places, body.get("detail")):
            if isinstance(place, str) and place.strip():
                return place
    # Serialized again, because escapes in the original could spell a key.
    return json.dumps(body, ensure_ascii=False)


_CONTEXT_OVERFLOW_WORDS = (
    r"context_length_exceeded|exceed_context_size|context_window_exceeded",
    r"(maximum|max|available|model'?s?) context (length|size|window)",  # OpenAI, vLLM
    r"exceed\w*[^.]{0,40} context",  # llama.cpp, Ollama
    r"context (the )?overflow|context length of only",  # LM Studio
    r"prompt is too long|prompt (tokens )?too long",  # Anthropic, Baidu
    r"input token count[^.]*exceeds",  # Gemini
    r"maximum prompt length",  # xAI
    r"longer than the maximum model length",  # vLLM
    r"`?inputs`? tokens \+ `?max_new_tokens",  # TGI, Together
    r"range of input length",  # DashScope
    r"exceeded model token limit",  # Moonshot
    r"prompt exceeds max length",  # Zhipu
    r"reduce (the|your) (length|message size)",  # Groq
    r"too many (input )?tokens",  # Cohere
)

_CONTEXT_OVERFLOW_PATTERN = re.compile("|".join(_CONTEXT_OVERFLOW_WORDS), re.IGNORECASE)

_PAYLOAD_TOO_LARGE = 413

# "context length is 8192", "maximum prompt length is 131072", "(1024 tokens)", "> 200000 maximum".
_CONTEXT_LIMIT_PATTERNS = (
    re.compile(r'"n_ctx":\s*(\d+)'),
    re.compile(
        r"(?:context (?:length|size|window)|prompt length|model length|token limit|tokens allowed)"
        r"\D{0,20}(\d{3,9})",
        re.IGNORECASE,
    ),
    re.compile(r"(\d{3,9})\s+maximum", re.IGNORECASE),
)

# Errors quote what was sent; the words that matter stand at the beginning.
_MAX_ERROR_CHARS = 4000


def is_context_overflow(status: int, text: str) -> bool:
    """Return whether an error means that the request was too long for the model."""
    return (
        status == _PAYLOAD_TOO_LARGE
        or _CONTEXT_OVERFLOW_PATTERN.search(text[:_MAX_ERROR_CHARS]) is not None
    )


def parse_context_limit(text: str) -> int | None:
    """Return the context size that an error names; None if it names none."""
    for pattern in _CONTEXT_LIMIT_PATTERNS:
        found = pattern.search(text[:_MAX_ERROR_CHARS])
        if found:
            return int(found.group(1))
    return None


_PROXY_LOGIN_REQUIRED = 407

_REDIRECTS = frozenset({301, 302, 303, 307, 308})

_STATUS_EXPLANATIONS = {
    400: ("did not understand the request", "check the model name and the url"),
    401: ("refused the key", "check that the key is right, complete and meant for this host"),
    402: ("wants to be paid first", "check the balance of the account"),
    403: ("refused the key", "check that the key may use this model, and that the url is right"),
    404: ("does not know this url or model", "check the url and the model name"),
    405: ("takes no chat requests at this url", "the url should end in /chat/completions"),
    429: ("has had too many requests, or the quota is used up", "wait, or check the account"),
}


def explain_status(response: EndpointResponse, secrets: tuple[str, ...]) -> str:
    """Explain an answer whose status is not 200."""
    if response.status == _PROXY_LOGIN_REQUIRED:
        return explain_proxy_login(response.route)
    if response.status in _REDIRECTS:
        return _explain_redirect(response, secrets)
    if httpx.codes.is_server_error(response.status):
        problem, advice = "has trouble of its own", "try again later"
    else:
        problem, advice = _STATUS_EXPLANATIONS.get(
            response.status, ("gave an answer that no model endpoint gives", "check the url")
        )
    advice += _format_retry_after(response) + quote_response(response, secrets)
    return f"{format_host(response)} {problem} ({response.status}): {advice}."


def explain_unexpected_body(response: EndpointResponse, secrets: tuple[str, ...]) -> str:
    """Explain a 200 that holds something else."""
    return (
        f"{format_host(response)} answered, but not with a chat completion: "
        f"check that the url is the one of its API{quote_response(response, secrets)}."
    )


def explain_unexpected_list(response: EndpointResponse, secrets: tuple[str, ...]) -> str:
    """Explain a 200 that is no list of models."""
    return (
        f"{format_host(response)} gives no list of its models: "
        f"enter the name of the model yourself{quote_response(response, secrets)}."
    )


def format_host(response: EndpointResponse) -> str:
    """Return the host, and the proxy in between."""
    proxy = response.route.proxy
    through = "" if proxy is None else f", asked through the proxy {proxy},"
    return f"{response.route.host}{through}"


def _format_retry_after(response: EndpointResponse) -> str:
    asked = parse_retry_after(response.headers.get("retry-after", ""), datetime.now(UTC))
    return f"; it asks to wait {asked:.0f} seconds" if asked else ""


def _explain_redirect(response: EndpointResponse, secrets: tuple[str, ...]) -> str:
    return (
        f"{format_host(response)} sends requests on to "
        f"{_format_redirect_target(response, secrets)} ({response.status}), "
        "and a key is not sent along: if that place is right, put it into the url."
    )


def _format_redirect_target(response: EndpointResponse, secrets: tuple[str, ...]) -> str:
    here = f"{response.route.scheme}://{response.route.host}"
    try:
        there = urlsplit(urljoin(here, response.headers.get("location", "")))
    except ValueError:
        return "a place that cannot exist"
    host = sanitize_line(there.netloc.rpartition("@")[2], secrets)
    if host != response.route.host:
        return host
    return "another path" if there.scheme == response.route.scheme else f"{there.scheme}://{host}"


# 500 and 501 too: the server of llama.cpp reports a template without tools as its own error.
_UNSUPPORTED_STATUSES = frozenset({400, 404, 405, 415, 422, 500, 501})

_TOOLS_PATTERN = re.compile(
    r"\btools?\b|tool[_ -]?(use|call|choice)|function[_ -]?call", re.IGNORECASE
)

_UNSUPPORTED_PATTERN = re.compile(r"support|require|enable|jinja", re.IGNORECASE)

_NO_QUOTA = (
    r"insufficient[_ ](quota|balance|credit|funds)|exceeded your current quota|credit balance|"
    r"billing|out of credits|余额不足|欠费"
)

_UNKNOWN_MODEL = (
    r"model_not_found|model[^.]{0,120}(not (be )?found|does ?n[o']t exist|not exist|unknown|"
    r"not a valid|not available|no such)|(unknown|invalid|no such|unsupported) model"
)

_INVALID_KEY = (
    r"(invalid|incorrect|wrong|expired|not valid)[^.]{0,30}api.?key|"
    r"api.?key[^.]{0,30}(invalid|incorrect|wrong|expired|not valid)"
)

# By what the text of an error says: the problem, with the status, and the advice.
_TEXT_EXPLANATIONS = {
    _NO_QUOTA: "has no quota or balance left for this key{}: check the account it belongs to",
    _UNKNOWN_MODEL: "does not know this model{}: check the model name",
    _INVALID_KEY: "refused the key{}: check that it is right and complete",
}


def learn_capabilities(
    response: EndpointResponse, payload: dict[str, Any], capabilities: EndpointCapabilities
) -> bool:
    """Save what of ``payload`` is not supported; return whether a retry may help."""
    is_refused = (
        response.status in _UNSUPPORTED_STATUSES
        and not is_context_overflow(response.status, response.text)
        and "stream_options" in payload
        and "stream_options" in response.text[:_MAX_ERROR_CHARS]
    )
    if is_refused:
        capabilities.supports_stream_usage = False
    return is_refused


def make_endpoint_error(
    response: EndpointResponse,
    secrets: tuple[str, ...],
    capabilities: EndpointCapabilities,
    *,
    had_tools: bool,
) -> NetworkError:
    """Return the error for a response; one with status 200 reported an error in its body."""
    text = response.text[:_MAX_ERROR_CHARS]
    quote = quote_response(response, secrets)
    may_be_unsupported = (
        response.status in _UNSUPPORTED_STATUSES or response.status == httpx.codes.OK
    )
    if (
        may_be_unsupported or response.status == httpx.codes.REQUEST_ENTITY_TOO_LARGE
    ) and is_context_overflow(response.status, text):
        capabilities.context_tokens = parse_context_limit(text) or capabilities.context_tokens
        return ContextTooLong(
            f"{format_host(response)} was sent more than its model can read at once: ask a shorter"
            f" question, lower historyLength, or choose a model with a larger context{quote}."
        )
    if had_tools and may_be_unsupported and _is_about_tools(response.status, text):
        capabilities.supports_tools = False
        return ToolsRefused(f"{format_host(response)} cannot be given tools to search with{quote}.")
    return NetworkError(_explain_error_text(response, text, quote, secrets))


def explain_error_response(response: EndpointResponse, secrets: tuple[str, ...]) -> str:
    """Explain an error of a server that was not asked for a chat."""
    text = response.text[:_MAX_ERROR_CHARS]
    return _explain_error_text(response, text, quote_response(response, secrets), secrets)


def _is_about_tools(status: int, text: str) -> bool:
    if not _TOOLS_PATTERN.search(text):
        return False
    # A failing server may mention tools; one that cannot use them says so.
    return (
        status < httpx.codes.INTERNAL_SERVER_ERROR or _UNSUPPORTED_PATTERN.search(text) is not None
    )


def _explain_error_text(
    response: EndpointResponse, text: str, quote: str, secrets: tuple[str, ...]
) -> str:
    shown = "" if response.status == httpx.codes.OK else f" ({response.status})"
    for pattern, explanation in _TEXT_EXPLANATIONS.items():
        is_possible = pattern == _NO_QUOTA or response.status in _UNSUPPORTED_STATUSES
        if is_possible and re.search(pattern, text, re.IGNORECASE):
            return f"{format_host(response)} {explanation.format(shown)}{quote}."
    if response.status == httpx.codes.OK:
        return f"{format_host(response)} reported an error instead of an answer: try again{quote}."
    return explain_status(response, secrets)

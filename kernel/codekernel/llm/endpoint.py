"""Resolve the url a user typed to the url of the chat API.

Probe an endpoint with the smallest possible request before it is saved.
"""

import time
from urllib.parse import SplitResult, urlsplit

import httpx

from codekernel.domain.concurrency import CancelToken
from codekernel.errors import NetworkError, TestFailed, WrongParam
from codekernel.llm.http_client import DEFAULT_TIMEOUTS, build_chat_request, make_http_client
from codekernel.llm.http_request import (
    DEFAULT_RETRIES,
    RetryPolicy,
    read_response,
    send_with_retry,
)
from codekernel.llm.response_errors import explain_status, explain_unexpected_body
from codekernel.masking.masker import list_request_secrets

CHAT_PATH = "/chat/completions"

OLLAMA_PATH = "/api/chat"

OLLAMA_PORT = 11434

MAX_HOST_LABEL_CHARS = 63  # of DNS; a longer one breaks name resolution instead of failing it


# The front end gives up on a request after 60 s; a sentence that comes later is never read.
REQUEST_TIMEOUT_SECONDS = 45.0


def resolve_chat_url(url: str) -> str:
    """Return ``url`` itself if it is a full endpoint, else with ``/chat/completions`` appended.

    No sentence raised here quotes the url: people paste keys into the wrong field.
    """
    return resolve_model_url(url, CHAT_PATH)


def resolve_model_url(url: str, path: str) -> str:
    """Return ``url`` itself if it ends with ``path``, else with ``path`` appended."""
    parts = _parse_url(url)
    base = parts.path.rstrip("/")
    return url if base.endswith(path) else parts._replace(path=base + path).geturl()


def resolve_ollama_url(url: str) -> str | None:
    """Return the url of Ollama's own API, if ``url`` means that one; else None.

    Ollama's port serves OpenAI's API too, under /v1. A path /api alone means nothing: other
    servers have their OpenAI-compatible API there.
    """
    parts = _parse_url(url)
    base = parts.path.rstrip("/")
    if base.endswith(OLLAMA_PATH):
        return url
    if parts.port == OLLAMA_PORT and base in {"", "/api"}:
        return parts._replace(path=OLLAMA_PATH).geturl()
    return None


def _parse_url(url: str) -> SplitResult:
    if not url.isprintable() or " " in url or "\\" in url:
        raise WrongParam(
            "The url contains a space, a backslash or an invisible character; remove it."
        )
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise WrongParam("The url has a host or a port that cannot exist; check both.") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise WrongParam(
            "The url must begin with http:// or https:// and name a host, "
            "such as https://api.example.com/v1."
        )
    if "@" in parts.netloc:
        # It would replace the Authorization header, and settings must not hold a secret.
        raise WrongParam("The url contains a user name or password; put the key in its own field.")
    if port == 0 or not _is_host_name(parts.hostname):
        raise WrongParam("The url has a host or a port that cannot exist; check both.")
    return parts


def _is_host_name(host: str) -> bool:
    labels = host.removesuffix(".").split(".")
    return all(0 < len(label) <= MAX_HOST_LABEL_CHARS for label in labels)


def probe_endpoint(  # noqa: PLR0913 - three facts of the endpoint, and what a test must shorten
    *,
    model_name: str,
    url: str,
    api_key: str,
    cancel: CancelToken,
    retries: RetryPolicy = DEFAULT_RETRIES,
    timeouts: httpx.Timeout = DEFAULT_TIMEOUTS,
) -> None:
    """Return if the endpoint completes a chat; else raise TestFailed with the reason."""
    ends_at = time.monotonic() + REQUEST_TIMEOUT_SECONDS
    payload = {
        "model": model_name,
        "max_tokens": 1,
        "stream": False,
        "messages": [{"role": "user", "content": "Hello"}],
    }
    try:
        endpoint = resolve_chat_url(url)
        with make_http_client(timeouts) as client:
            request = build_chat_request(client, endpoint, api_key=api_key, payload=payload)
            response = send_with_retry(
                client, request, cancel=cancel, ends_at=ends_at, retries=retries
            )
            answer = read_response(response, cancel=cancel, ends_at=ends_at)
    except (WrongParam, NetworkError) as error:
        raise TestFailed(f"Test failed: {error}") from None
    body = answer.json()
    is_ok = answer.status == httpx.codes.OK
    if not (is_ok and isinstance(body, dict) and "choices" in body):
        explain = explain_unexpected_body if is_ok else explain_status
        raise TestFailed(f"Test failed: {explain(answer, list_request_secrets(url, api_key))}")

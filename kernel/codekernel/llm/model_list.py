"""List the chat models of an endpoint, try one, and find the servers that run on this machine."""

import math
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx

from codekernel.domain.concurrency import CancelToken
from codekernel.errors import NetworkError, TestFailed, WrongParam
from codekernel.llm.http_client import (
    CHAT_PATH,
    DEFAULT_TIMEOUTS,
    build_chat_request,
    build_list_request,
    make_http_client,
    resolve_chat_url,
    resolve_ollama_url,
)
from codekernel.llm.http_request import (
    DEFAULT_RETRIES,
    EndpointResponse,
    RetryPolicy,
    read_response,
    send_with_retry,
)
from codekernel.llm.presets import MODEL_PRESETS, ModelPreset
from codekernel.llm.response_errors import (
    explain_status,
    explain_unexpected_body,
    explain_unexpected_list,
)
from codekernel.masking.masker import list_request_secrets

# A person waits in front of a dialog.
LIST_TIMEOUT_SECONDS = 20.0

# OpenRouter's list, the longest, takes about 700 KB.
MAX_LIST_BYTES = 8_000_000

MAX_LISTED_MODELS = 2_000

# A server on this machine accepts at once, or is not there.
LOCAL_TIMEOUT_SECONDS = 3.0

# Parts of the names of models that do something else than chat.
_OTHER_KINDS = (
    *("embed", "rerank", "whisper", "tts", "dall-e", "moderation", "transcribe", "realtime"),
    *("image", "imagen", "sora", "veo-", "babbage", "davinci", "audio", "asr"),
)

_CONTEXT_KEYS = ("context_length", "max_model_len", "context_window", "max_context_length")

_TOKENS_PER_PRICE = 1_000_000

# The front end gives up on a request after 60 s; a sentence that comes later is never read.
REQUEST_TIMEOUT_SECONDS = 45.0


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A model as its endpoint lists it; prices are per million tokens."""

    name: str
    context_tokens: int | None = None
    input_price: float | None = None
    output_price: float | None = None


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A server that was found on this machine; ``preset`` is the name of its preset."""

    preset: str
    url: str
    models: tuple[ListedModel, ...]


def list_models(
    url: str, api_key: str, cancel: CancelToken, *, is_local: bool = False
) -> tuple[ListedModel, ...]:
    """Return the chat models of an endpoint by name. Raises TestFailed with the reason.

    One that ``is_local`` is asked without a proxy, and must answer at once.
    """
    seconds = LOCAL_TIMEOUT_SECONDS if is_local else LIST_TIMEOUT_SECONDS
    ends_at = time.monotonic() + seconds
    try:
        with make_http_client(httpx.Timeout(seconds), is_local=is_local) as client:
            request = build_list_request(client, resolve_list_url(url), api_key=api_key)
            response = send_with_retry(
                client, request, cancel=cancel, ends_at=ends_at, retries=RetryPolicy(())
            )
            answer = read_response(
                response, cancel=cancel, ends_at=ends_at, max_bytes=MAX_LIST_BYTES
            )
    except (WrongParam, NetworkError) as error:
        raise TestFailed(str(error)) from None
    return _read_list(answer, list_request_secrets(url, api_key))


def find_local_servers(
    cancel: CancelToken, presets: Sequence[ModelPreset] = MODEL_PRESETS
) -> list[LocalServer]:
    """Ask the usual ports of this machine, all at once; what is no such server is left out."""
    local = [preset for preset in presets if preset.is_local]

    def ask(preset: ModelPreset) -> LocalServer | None:
        try:
            models = list_models(preset.url, "", cancel, is_local=True)
        except TestFailed:
            return None
        return LocalServer(preset.name, preset.url, models)

    with ThreadPoolExecutor(len(local) or 1, thread_name_prefix="local-servers") as threads:
        return [server for server in threads.map(ask, local) if server]


def resolve_list_url(url: str) -> str:
    """Return the url of an endpoint's list of models. Raises WrongParam."""
    parts = urlsplit(resolve_chat_url(url))
    if resolve_ollama_url(url):  # its own API has another list; it serves this one, too
        return parts._replace(path="/v1/models").geturl()
    path = parts.path.rstrip("/").removesuffix(CHAT_PATH)
    return parts._replace(path=f"{path}/models").geturl()


def _read_list(answer: EndpointResponse, secrets: tuple[str, ...]) -> tuple[ListedModel, ...]:
    if answer.status != httpx.codes.OK:
        raise TestFailed(explain_status(answer, secrets))
    body = answer.json()
    entries = body.get("data") if isinstance(body, dict) else body
    if not isinstance(entries, list):
        raise TestFailed(explain_unexpected_list(answer, secrets))
    found = {model.name: model for model in _iter_chat_models(entries[:MAX_LISTED_MODELS])}
    return tuple(sorted(found.values(), key=lambda model: model.name.lower()))


def _iter_chat_models(entries: list[Any]) -> Iterator[ListedModel]:
    for entry in entries:
        name = entry.get("id") if isinstance(entry, dict) else None
        if not isinstance(name, str) or not name or not name.isprintable():
            continue
        if any(kind in name.lower() for kind in _OTHER_KINDS):
            continue
        prices = entry.get("pricing")
        prices = prices if isinstance(prices, dict) else {}
        yield ListedModel(
            name.removeprefix("models/"),  # Gemini's
            _read_context(entry),
            _read_price(prices.get("prompt")),
            _read_price(prices.get("completion")),
        )


def _read_context(entry: dict[str, Any]) -> int | None:
    found = [entry.get(key) for key in _CONTEXT_KEYS]
    # Only a whole number of the usual size: a wrong one would cut every question short.
    known = [value for value in found if isinstance(value, int) and not isinstance(value, bool)]
    return next((value for value in known if value > 0), None)


def _read_price(value: object) -> float | None:
    """Return the price of a million tokens, from that of one as OpenRouter writes it."""
    try:
        price = float(value) * _TOKENS_PER_PRICE if isinstance(value, str | float) else -1.0
    except ValueError:
        return None
    return round(price, 6) if price >= 0 and math.isfinite(price) else None


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

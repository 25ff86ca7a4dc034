"""Runs a trial as a test wants it: no waits, short timeouts, and an eye on the key."""

import base64
import traceback
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote, quote_plus

import httpx
import pytest
from codekernel.domain.concurrency import CancelToken
from codekernel.errors import TestFailed
from codekernel.llm.http_request import RetryPolicy
from codekernel.llm.model_list import probe_endpoint

# Invented, with characters that change under URL, JSON, HTML and base64 encoding.
KEY = 'sk-live+7f/3a9b%c4d2"e8f6&a1b0==xyz'

KEY_FORMS = (
    KEY,
    quote(KEY, safe=""),
    quote(KEY),
    quote_plus(KEY),
    base64.b64encode(KEY.encode()).decode(),
    base64.b64encode(f"Bearer {KEY}".encode()).decode()[12:-4],
    base64.urlsafe_b64encode(f"user:{KEY}".encode()).decode()[8:-4],
)

SHORT = httpx.Timeout(connect=5, read=5, write=5, pool=5)


def attempt(
    url: str,
    *,
    api_key: str = KEY,
    cancel: CancelToken | None = None,
    waits: Sequence[float] = (0, 0, 0),
    timeouts: httpx.Timeout = SHORT,
) -> None:
    probe_endpoint(
        model_name="some-model",
        url=url,
        api_key=api_key,
        cancel=cancel or CancelToken(),
        retries=RetryPolicy(waits),
        timeouts=timeouts,
    )


def failure(url: str, **options: Any) -> str:
    """The sentence of a trial that fails; neither it nor its traceback may hold the key."""
    with pytest.raises(TestFailed) as raised:
        attempt(url, **options)
    logged = "".join(traceback.format_exception(raised.value))
    assert_no_key(logged)
    sentence = str(raised.value)
    assert sentence.startswith("Test failed: ")
    assert "\n" not in sentence
    return sentence


def assert_no_key(text: str) -> None:
    for form in KEY_FORMS:
        assert form not in text

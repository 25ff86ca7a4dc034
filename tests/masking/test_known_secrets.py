import base64
import html
import json
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from codekernel.masking.masker import REDACTED_MARK, list_request_secrets, redact_secrets
from llm.trying import KEY


@pytest.mark.parametrize(
    "form",
    [
        KEY,
        KEY.upper(),
        quote(KEY),
        quote(KEY, safe=""),
        quote(KEY, safe="").lower(),
        quote_plus(KEY),
        html.escape(KEY),
        json.dumps(KEY)[1:-1],
    ],
)
def test_a_key_disappears_in_every_spelling(form: str) -> None:
    assert redact_secrets(f"key <{form}> is wrong", [KEY]) == f"key <{REDACTED_MARK}> is wrong"


@pytest.mark.parametrize("before", ["", "a", "ab", "Bearer ", "user:", ":"])
@pytest.mark.parametrize("after", ["", "x", "xy", ":"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_a_key_inside_base64_disappears_whatever_surrounds_it(
    before: str, after: str, encode: Callable[[bytes], bytes]
) -> None:
    encoded = encode(f"{before}{KEY}{after}".encode()).decode()
    left = redact_secrets(f"Authorization: Basic {encoded}", [KEY])
    assert REDACTED_MARK in left
    assert len(left) < len("Authorization: Basic ") + len(REDACTED_MARK) + 16


def test_the_quoted_beginning_of_a_long_key_disappears() -> None:
    assert (
        redact_secrets(f"invalid key {KEY[:20]}... given", [KEY])
        == f"invalid key {REDACTED_MARK} given"
    )


def test_a_short_key_hides_only_itself() -> None:
    assert redact_secrets("ollama: no such model", ["ollama"]) == f"{REDACTED_MARK}: no such model"


def test_without_a_secret_the_text_stays() -> None:
    assert redact_secrets("as it was", []) == "as it was"
    assert redact_secrets("as it was", [""]) == "as it was"


def test_the_values_of_a_query_string_are_secrets_too() -> None:
    assert list_request_secrets("https://h/v1?key=one%2Ftwo&x=3", "k") == ("k", "one/two", "3")

import base64
import html
import json
import random
import time
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from codekernel.masking.masker import (
    REDACTED_MARK,
    MaskedText,
    list_request_secrets,
    mask_secrets,
    redact_secrets,
)
from llm.trying import KEY

RANDOM = random.Random(5)  # noqa: S311 - invented keys, the same in every run


def letters(alphabet: str, length: int) -> str:
    return "".join(RANDOM.choice(alphabet) for _ in range(length))


WORD = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
SECRETS = {
    "aws": "AKIA" + letters("ABCDEFGHIJKLMNOP234567", 16),
    "github": "ghp_" + letters(WORD, 36),
    "github fine": "github_pat_" + letters(WORD, 40),
    "openai": "sk-proj-" + letters(WORD, 48),
    "anthropic": "sk-ant-" + letters(WORD, 48),
    "stripe": "sk_live_" + letters(WORD, 24),
    "google": "AIza" + letters(WORD, 35),
    "slack": "xoxb-" + letters("0123456789", 12) + "-" + letters(WORD, 24),
    "npm": "npm_" + letters(WORD, 36),
    "hugging face": "hf_" + letters(WORD, 34),
    "jwt": "eyJ" + letters(WORD, 30) + ".eyJ" + letters(WORD, 40) + "." + letters(WORD, 43),
}


@pytest.mark.parametrize("name", SECRETS)
def test_a_key_is_masked_wherever_it_stands(name: str) -> None:
    secret = SECRETS[name]
    for text in (f'x = "{secret}"', f"# {secret}", f"curl -H 'x: {secret}' http://h/"):
        safe = mask_secrets(text)
        assert secret not in safe.text
        assert safe.count == 1, safe


@pytest.mark.parametrize(
    "text",
    [
        'password = "%s"',
        "DB_PASSWORD=%s",
        "  api_key: '%s',",
        '"client_secret": "%s"',
        'const authToken = "%s";',
        "url = postgres://admin:%s@db.example/x",
        "Authorization: Bearer %s",
        "aws_secret_access_key = %s",
    ],
)
def test_a_random_value_given_to_a_secret_name_is_masked(text: str) -> None:
    secret = letters(WORD, 40)
    safe = mask_secrets(text % secret)
    assert secret not in safe.text
    assert safe.count == 1


@pytest.mark.parametrize(
    "text",
    [
        "password = os.environ['PASSWORD']",
        'password = "password"',
        "token = self._tokenizer.encode_batch_fast(pieces)",
        'API_KEY_NOT_FOUND = "API_KEY_NOT_FOUND"',
        "def authenticate(password: str, token: str) -> None:",
        'assert code == "SESSION_NOT_FOUND"',
        "secret = getpass.getpass()",
        "the token is the next word of the answer",
        "sha = 'd41d8cd98f00b204e9800998ecf8427e'",
        "https://example.com/a:b/c",
        "key = row[0]",
    ],
)
def test_ordinary_code_stays_as_it_is(text: str) -> None:
    assert mask_secrets(text) == MaskedText(text, 0)


def pem() -> list[str]:
    body = base64.b64encode(RANDOM.randbytes(1200)).decode()
    lines = [body[start : start + 64] for start in range(0, len(body), 64)]
    return ["-----BEGIN RSA PRIVATE KEY-----", *lines, "-----END RSA PRIVATE KEY-----"]


@pytest.mark.parametrize("part", [slice(None), slice(0, 9), slice(9, 18), slice(18, None)])
def test_a_private_key_is_masked_however_it_was_cut_and_the_lines_stay_as_many(part: slice) -> None:
    lines = pem()[part]
    text = "\n".join([*lines, "after = 1", ""])
    safe = mask_secrets(text)
    assert not any(line in safe.text for line in lines)
    assert safe.text.count("\n") == text.count("\n")
    assert "after = 1" in safe.text
    assert safe.count == 1


def test_a_large_text_without_secrets_stays_as_it_is() -> None:
    for text in ("password=" * 5_000, "a" * 50_000, "-----BEGIN CERTIFICATE-----\n" * 500):
        assert mask_secrets(text) == MaskedText(text, 0)


def test_a_secret_at_the_end_of_a_large_text_is_found() -> None:
    assert mask_secrets("a" * 50_000 + ' my_password = "x9$Kq2!mZ7"').count == 1


def test_what_was_masked_is_not_masked_again() -> None:
    password = letters(WORD, 12)
    text = f'password: {password}\nurl: postgres://app:{password}@db/app\ntoken = "{password}"\n'
    once = mask_secrets(text)
    assert password not in once.text
    assert mask_secrets(once.text) == MaskedText(once.text, 0)


def test_letters_that_change_their_length_in_lower_case_move_nothing() -> None:
    secret = SECRETS["github"]
    safe = mask_secrets(f'İİİ = 1\nx = "{secret}"  # İ\n')
    assert safe.text == 'İİİ = 1\nx = "[masked: GitHub token]"  # İ\n'


@pytest.mark.parametrize("head", ["{}", "  12 | {}", "config/prod.env:3:{}", "+{}", "export {}"])
def test_a_line_is_known_however_it_is_shown(head: str) -> None:
    password = letters(WORD, 9) + "7"
    assert password not in mask_secrets(head.format(f"DB_PASSWORD={password}") + "\n").text


def test_the_rest_of_a_line_of_configuration_belongs_to_its_password() -> None:
    text = "PORT=1\nPASSWORD=aB3;x&9,kQ(2)z # of the database\nHOST=h\n"
    assert mask_secrets(text).text == (
        "PORT=1\nPASSWORD=[masked: password] # of the database\nHOST=h\n"
    )


@pytest.mark.parametrize(
    "start", ["-----BEGIN OPENSSH PRIVATE KEY-----", "-----BEGIN PGP PRIVATE KEY BLOCK-----"]
)
def test_a_private_key_in_a_line_of_json_is_masked(start: str) -> None:
    body = letters(WORD, 64)
    text = '{"key": "' + "\\n".join([start, body, body, start.replace("BEGIN", "END")]) + '"}'
    assert body not in mask_secrets(text).text


def test_half_of_a_shown_private_key_is_masked_with_its_line_numbers() -> None:
    lines = pem()[4:12]
    text = "\n".join(f"{number:5} | {line}" for number, line in enumerate(lines, 5)) + "\n"
    assert not any(line in mask_secrets(text).text for line in lines)


HOSTILE = (
    "password=", 'password="', "token ", "eyJ", "eyJa.", "curl -u ", "machine a login b ", "://a:",
    "-----BEGIN RSA PRIVATE KEY-----\n", "user=a ", "<secret>a ", "access_token=", "--a-", "a", "+",
    "\\", '"', "secret for a b ", "kind: Secret\ndata:\n", "sess.", "mysql -", "_gitlab_session=A",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("piece", HOSTILE)
def test_the_time_grows_with_the_text_and_not_faster(piece: str) -> None:
    def seconds(characters: int) -> float:
        text = piece * (characters // len(piece))
        begun = time.process_time()
        mask_secrets(text)
        return time.process_time() - begun

    seconds(1_000)  # compiles what it needs
    short = seconds(10_000)
    assert seconds(40_000) < 10 * short + 0.2  # four times as long; sixteen if it were quadratic


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

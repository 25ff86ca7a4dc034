import base64
import random

import pytest

from kernel.masking.masker import MaskedText, mask_secrets

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

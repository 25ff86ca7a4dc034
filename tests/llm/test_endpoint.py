import pytest
from codekernel.errors import WrongParam
from codekernel.llm.endpoint import resolve_chat_url


@pytest.mark.parametrize(
    "url",
    [
        "https://api.deepseek.com/v1/chat/completions",
        "https://api.deepseek.com/v1/chat/completions/",
        "http://localhost:11434/v1/chat/completions?api-version=2024-02-01",
        "HTTPS://Api.Example.com/chat/completions",
    ],
)
def test_a_full_endpoint_is_used_verbatim(url: str) -> None:
    assert resolve_chat_url(url) == url


@pytest.mark.parametrize(
    ("url", "endpoint"),
    [
        ("https://api.deepseek.com", "https://api.deepseek.com/chat/completions"),
        ("https://api.deepseek.com/", "https://api.deepseek.com/chat/completions"),
        ("https://api.example.com/v1//", "https://api.example.com/v1/chat/completions"),
        (
            "http://127.0.0.1:8080/v1?key=a%20b",
            "http://127.0.0.1:8080/v1/chat/completions?key=a%20b",
        ),
        ("http://[::1]:8080/v1", "http://[::1]:8080/v1/chat/completions"),
        ("http://h/xchat/completions", "http://h/xchat/completions/chat/completions"),
        ("http://h/v1?to=/chat/completions", "http://h/v1/chat/completions?to=/chat/completions"),
        ("https://例子.example/v1", "https://例子.example/v1/chat/completions"),
    ],
)
def test_any_other_url_is_completed_and_keeps_its_port_and_query(url: str, endpoint: str) -> None:
    assert resolve_chat_url(url) == endpoint


@pytest.mark.parametrize(
    "url",
    [
        "",
        "api.deepseek.com/v1",
        "ftp://api.deepseek.com/v1",
        "file:///etc/passwd",
        "https:///v1",
        "https://:8080/v1",
        "https\uff1a//api.deepseek.com",
        " https://api.deepseek.com",
        "https://api.deepseek.com/v1\n",
        "https://api.deep\tseek.com/v1",
        "https://api.deepseek.com/v1\u200b",
        "https://api.deepseek.com/\ud800",
        "https://api.deepseek.com\\@elsewhere.example/v1",
        "https://user:password@api.deepseek.com/v1",
        "https://api.deepseek.com:port/v1",
        "https://api.deepseek.com:65536/v1",
        "https://api.deepseek.com:0/v1",
        "https://[::1/v1",
        "https://api..deepseek.com/v1",
        f"https://{'a' * 64}.example/v1",
    ],
)
def test_what_cannot_be_an_endpoint_is_refused_with_a_sentence(url: str) -> None:
    with pytest.raises(WrongParam, match=r"^The url .+\.$"):
        resolve_chat_url(url)


def test_the_refusal_does_not_repeat_what_was_typed() -> None:
    with pytest.raises(WrongParam) as raised:
        resolve_chat_url("sk-a-key-in-the-wrong-field")
    assert "sk-a-key" not in str(raised.value)

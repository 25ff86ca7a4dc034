import pytest
from codekernel.errors import ContextTooLong, NetworkError, ToolsRefused
from codekernel.llm.response_errors import is_context_overflow, parse_context_limit
from llm.chatting import QUESTION_WITH_TOOLS, ask, backend_at, expect_failure, text_of
from support.chat_server import (
    ChatServer,
    Step,
    StreamEvent,
    WholeResponse,
    delta,
    reply_error,
    reply_text,
)

TOOLS_REFUSED = [
    (400, "registry.ollama.ai/library/gemma:2b does not support tools"),
    (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser'),
    (404, "No endpoints found that support tool use."),
    (400, "`tool calling` is not supported with this model"),
    (400, "deepseek-reasoner does not support Function Calling"),
    (422, "Function calling is not enabled for this model"),
    (500, "tools param requires --jinja flag"),
]

TOO_LONG = [
    (
        400,
        "This model's maximum context length is 8192 tokens, but 9001 were sent (101 in tools).",
        8192,
    ),
    (400, "the request exceeds the available context size. try increasing the context size", None),
    (400, "request (3031 tokens) exceeds the available context size (1024 tokens)", 1024),
    (400, "prompt is too long: 250000 tokens > 200000 maximum", 200000),
    (
        400,
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        1048576,
    ),
    (
        400,
        "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
        32768,
    ),
    (
        400,
        "This model's maximum prompt length is 131072 but the request contains 200000 tokens.",
        131072,
    ),
    (
        400,
        "The decoder prompt (length 5000) is longer than the maximum model length of 4096",
        4096,
    ),
    (
        400,
        "when context the overflows. The model is loaded with context length of only 4096 tokens",
        4096,
    ),
    (422, "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193", None),
    (400, "Range of input length should be [1, 129024]", None),
    (400, "Invalid request: Your request exceeded model token limit: 8192", 8192),
    (400, "Prompt exceeds max length", None),
    (413, "Payload Too Large", None),
    (500, "input length exceeds the context length", None),
]


@pytest.mark.parametrize(("status", "said_so"), TOOLS_REFUSED)
def test_an_endpoint_that_refuses_tools_is_not_given_any_again(status: int, said_so: str) -> None:
    with ChatServer([reply_error(status, said_so)]) as server:
        backend = backend_at(server.url)
        supported_before = backend.supports_tools
        events, sentence = expect_failure(backend, QUESTION_WITH_TOOLS, kind=ToolsRefused)
        assert events == []
        assert supported_before
        assert not backend.supports_tools
        assert not backend_at(server.url).supports_tools
    assert "tools" in sentence


def test_the_same_words_mean_something_else_if_no_tools_were_sent() -> None:
    with ChatServer([reply_error(400, "tools are nice")]) as server:
        expect_failure(backend_at(server.url), kind=NetworkError)


def test_tools_refused_within_a_stream_are_refused_too() -> None:
    error = StreamEvent({"error": {"message": "this model does not support tools"}})
    with ChatServer([[error]]) as server:
        events, _ = expect_failure(backend_at(server.url), QUESTION_WITH_TOOLS, kind=ToolsRefused)
    assert events == []


@pytest.mark.parametrize(("status", "said_so", "limit"), TOO_LONG)
def test_a_request_that_is_too_long_is_recognised_and_the_limit_remembered(
    status: int, said_so: str, limit: int | None
) -> None:
    with ChatServer([reply_error(status, said_so)]) as server:
        backend = backend_at(server.url)
        assert backend.context_tokens is None
        _, sentence = expect_failure(backend, QUESTION_WITH_TOOLS, kind=ContextTooLong)
        assert backend.context_tokens == limit
        assert backend.supports_tools
    assert "more than its model can read" in sentence


def test_codes_and_fields_are_enough() -> None:
    assert is_context_overflow(400, '{"error": {"code": "context_length_exceeded"}}')
    assert is_context_overflow(
        400, '{"error": {"type": "exceed_context_size_error", "n_ctx": 4096}}'
    )
    assert (
        parse_context_limit('{"error": {"type": "exceed_context_size_error", "n_ctx": 4096}}')
        == 4096
    )


@pytest.mark.parametrize(
    ("status", "said_so", "words"),
    [
        (401, "Incorrect API key provided", "refused the key"),
        (400, "API key not valid. Please pass a valid API key.", "refused the key"),
        (404, "The model `gpt-9` does not exist", "does not know this model"),
        (404, 'model "llama9" not found, try pulling it first', "does not know this model"),
        (400, "Model Not Exist", "does not know this model"),
        (404, "Not Found", "does not know this url or model"),
        (402, "Insufficient Balance", "no quota or balance left"),
        (429, "You exceeded your current quota, please check your plan", "no quota or balance"),
        (429, "Rate limit reached", "too many requests"),
        (500, "Internal error", "has trouble of its own"),
    ],
)
def test_each_refusal_says_what_to_look_at(status: int, said_so: str, words: str) -> None:
    with ChatServer([reply_error(status, said_so)]) as server:
        events, sentence = expect_failure(backend_at(server.url))
    assert events == []
    assert words in sentence
    assert f"127.0.0.1:{server.port}" in sentence
    assert said_so in sentence


def test_a_page_instead_of_an_api_is_quoted_by_its_title() -> None:
    page = WholeResponse(404, "<html><title>nginx</title>", {"Content-Type": "text/html"})
    with ChatServer([[page]]) as server:
        _, sentence = expect_failure(backend_at(server.url))
    assert 'a web page titled "nginx"' in sentence


@pytest.mark.parametrize(
    "answer", [[delta("x"), StreamEvent({"error": {"message": "maximum context length is 4096"}})]]
)
def test_an_answer_that_outgrows_the_context_is_counted(answer: list[Step]) -> None:
    with ChatServer([answer]) as server:
        events, _ = expect_failure(backend_at(server.url), kind=ContextTooLong)
    assert text_of(events) == "x"
    assert len(events) == 2


def test_after_a_refusal_the_same_backend_goes_on() -> None:
    with ChatServer([reply_error(400, "does not support tools"), reply_text("fine")]) as server:
        backend = backend_at(server.url)
        expect_failure(backend, QUESTION_WITH_TOOLS, kind=ToolsRefused)
        assert text_of(ask(backend)) == "fine"
        assert len(server.peers) == 1

from codekernel.domain.chat import ChatMessage, ChatRequest, ChatToolCall, Role
from codekernel.llm.remote_backend import (
    TEMPLATE_TOKENS_PER_MESSAGE,
    TOKEN_CACHE_SIZE,
    CachedTokenCounter,
)
from llm.chatting import QUESTION_WITH_TOOLS, count_words


def test_a_text_is_counted_once() -> None:
    asked: list[str] = []

    def count(text: str) -> int:
        asked.append(text)
        return len(text)

    counter = CachedTokenCounter(count)
    assert [counter.count_text("abc"), counter.count_text("abc"), counter.count_text("")] == [
        3,
        3,
        0,
    ]
    assert asked == ["abc"]


def test_what_is_remembered_does_not_grow_for_ever() -> None:
    counter = CachedTokenCounter(len)
    for number in range(TOKEN_CACHE_SIZE + 100):
        counter.count_text(str(number))
    assert len(counter._cache) == TOKEN_CACHE_SIZE


def test_half_a_surrogate_pair_can_be_counted() -> None:
    assert CachedTokenCounter(len).count_text("\ud83d") == 1


def test_everything_that_is_sent_is_counted() -> None:
    counter = CachedTokenCounter(count_words)
    call = ChatToolCall("id", "search", '{"q": "x"}')
    request = ChatRequest(
        (ChatMessage(Role.USER, "two words"), ChatMessage(Role.ASSISTANT, "", tool_calls=(call,)))
    )
    assert counter.count_request(request) == 2 * TEMPLATE_TOKENS_PER_MESSAGE + 2 + 3
    without_tools = ChatRequest(QUESTION_WITH_TOOLS.messages)
    assert counter.count_request(QUESTION_WITH_TOOLS) > counter.count_request(without_tools)

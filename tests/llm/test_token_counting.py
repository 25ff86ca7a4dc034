from llm.chatting import QUESTION_WITH_TOOLS, count_words

from kernel.domain.chat import ChatMessage, ChatRequest, Role, ToolCall
from kernel.llm.token_counting import MOST_REMEMBERED, TOKENS_AROUND_MESSAGE, TokenCounter


def test_a_text_is_counted_once() -> None:
    asked: list[str] = []

    def count(text: str) -> int:
        asked.append(text)
        return len(text)

    counter = TokenCounter(count)
    assert [counter.text("abc"), counter.text("abc"), counter.text("")] == [3, 3, 0]
    assert asked == ["abc"]


def test_what_is_remembered_does_not_grow_for_ever() -> None:
    counter = TokenCounter(len)
    for number in range(MOST_REMEMBERED + 100):
        counter.text(str(number))
    assert len(counter._known) == MOST_REMEMBERED


def test_half_a_surrogate_pair_can_be_counted() -> None:
    assert TokenCounter(len).text("\ud83d") == 1


def test_everything_that_is_sent_is_counted() -> None:
    counter = TokenCounter(count_words)
    call = ToolCall("id", "search", '{"q": "x"}')
    request = ChatRequest(
        (ChatMessage(Role.USER, "two words"), ChatMessage(Role.ASSISTANT, "", tool_calls=(call,)))
    )
    assert counter.request(request) == 2 * TOKENS_AROUND_MESSAGE + 2 + 3
    without_tools = ChatRequest(QUESTION_WITH_TOOLS.messages)
    assert counter.request(QUESTION_WITH_TOOLS) > counter.request(without_tools)

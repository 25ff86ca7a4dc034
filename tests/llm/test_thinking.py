import pytest
from codekernel.domain.chat import ReasoningDelta, TextDelta
from codekernel.llm.providers.base import ReasoningSplitter
from llm.chatting import text_of, thought_of


def split(*pieces: str) -> list[TextDelta | ReasoningDelta]:
    splitter = ReasoningSplitter()
    return [*(event for piece in pieces for event in splitter.feed(piece)), *splitter.finish()]


@pytest.mark.parametrize(
    ("text", "thought", "said"),
    [
        ("Hello", "", "Hello"),
        ("<think>Hm.</think>Hello", "Hm.", "Hello"),
        ("\n<think>\nHm.\n</think>\n\nHello\n", "\nHm.\n", "Hello\n"),
        ("<thinking>Hm.</thinking>Hello", "Hm.", "Hello"),
        ("<think></think>Hello", "", "Hello"),
        ("<think>a</think>\n<think>b</think>c", "ab", "c"),
        ("<think>never closed </thin", "never closed </thin", ""),
        ("<think>a < b </think>c", "a < b ", "c"),
        ("  indented", "", "  indented"),
        ("<thin air", "", "<thin air"),
        ("<", "", "<"),
        ("The tag <think>x</think> is text here", "", "The tag <think>x</think> is text here"),
        ("<think>a</think>then <think>", "a", "then <think>"),
        ("<think>a</think>  ", "a", ""),
        ("  ", "", "  "),
        ("", "", ""),
    ],
)
def test_a_thought_at_the_beginning_is_told_from_the_answer(
    text: str, thought: str, said: str
) -> None:
    for events in (split(text), split(*text)):
        assert thought_of(events) == thought
        assert text_of(events) == said


def test_nothing_but_half_a_tag_is_held_back() -> None:
    splitter = ReasoningSplitter()
    assert list(splitter.feed("<think>a</th")) == [ReasoningDelta("a")]
    assert list(splitter.feed("e")) == [ReasoningDelta("</the")]
    assert list(splitter.feed(" end</think>")) == [ReasoningDelta(" end")]
    assert list(splitter.feed("Yes")) == [TextDelta("Yes")]
    assert list(splitter.feed("<")) == [TextDelta("<")]

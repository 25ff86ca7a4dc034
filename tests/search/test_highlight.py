import html
import re

from hypothesis import given
from hypothesis import strategies as st

from kernel.search.highlight import highlighted


def test_words_are_marked_whatever_their_case_and_the_rest_is_escaped() -> None:
    assert (
        highlighted("if a < Login && login(b)", ["login"])
        == "if a &lt; <mark>Login</mark> &amp;&amp; <mark>login</mark>(b)"
    )


def test_a_single_letter_is_marked_only_if_there_is_nothing_longer() -> None:
    assert highlighted("a cat", ["a", "cat"]) == "a <mark>cat</mark>"
    assert highlighted("a b", ["b"]) == "a <mark>b</mark>"


def test_nothing_to_mark_leaves_the_escaped_text() -> None:
    assert highlighted("a & b", []) == "a &amp; b"


@given(st.text(), st.lists(st.text(min_size=1), max_size=5))
def test_without_marks_and_unescaped_it_is_the_text_again(text: str, words: list[str]) -> None:
    if "<mark>" in text or "</mark>" in text:
        return
    marked = highlighted(text, words)
    assert html.unescape(re.sub("</?mark>", "", marked)).replace("\x00", "") == html.unescape(
        html.escape(text, quote=False)
    ).replace("\x00", "")


@given(
    st.text("aAbBiIsSkK<&> \x01\x02\u0130\u0131\u017f\u212a\u4e2d", max_size=30),
    st.lists(st.text("aAbBiIsSkK<\u0130\u0131\u017f\u212a\u4e2d", min_size=2), max_size=4),
)
def test_the_quick_way_through_ascii_marks_what_the_slow_one_does(
    text: str, words: list[str]
) -> None:
    longest_first = sorted(set(words), key=len, reverse=True)
    pattern = "|".join(map(re.escape, longest_first)) or "(?!)"
    parts, end = [], 0
    for match in re.finditer(pattern, text, re.IGNORECASE):
        before, word = text[end : match.start()], match.group()
        parts += [
            html.escape(before, quote=False),
            f"<mark>{html.escape(word, quote=False)}</mark>",
        ]
        end = match.end()
    assert highlighted(text, words) == "".join([*parts, html.escape(text[end:], quote=False)])

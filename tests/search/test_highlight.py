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

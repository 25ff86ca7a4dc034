import html
import re

import pytest
from codekernel.domain.lexical_tokenizer import tokenize_query
from codekernel.search.highlight import Highlighter, list_marked_words
from hypothesis import example, given
from hypothesis import strategies as st


def highlight_text(text: str, words: list[str]) -> str:
    return Highlighter(words)(text)


def test_words_are_marked_whatever_their_case_and_the_rest_is_escaped() -> None:
    assert (
        highlight_text("if a < Login && login(b)", ["login"])
        == "if a &lt; <mark>Login</mark> &amp;&amp; <mark>login</mark>(b)"
    )


def test_a_single_letter_is_marked_only_if_there_is_nothing_longer() -> None:
    assert highlight_text("a cat", ["a", "cat"]) == "a <mark>cat</mark>"
    assert highlight_text("a b", ["b"]) == "a <mark>b</mark>"


def test_nothing_to_mark_leaves_the_escaped_text() -> None:
    assert highlight_text("a & b", []) == "a &amp; b"


@given(st.text(), st.lists(st.text(min_size=1), max_size=5))
def test_without_marks_and_unescaped_it_is_the_text_again(text: str, words: list[str]) -> None:
    if "<mark>" in text or "</mark>" in text:
        return
    marked = highlight_text(text, words)
    assert html.unescape(re.sub("</?mark>", "", marked)).replace("\x00", "") == html.unescape(
        html.escape(text, quote=False)
    ).replace("\x00", "")


def marked(query: str, text: str) -> list[str]:
    return re.findall("<mark>(.*?)</mark>", highlight_text(text, list_marked_words(query)))


def test_a_word_is_marked_whole_or_not_at_all() -> None:
    assert marked("rank and sort", "CANDIDATES = frank sorted_by(rank)") == ["sorted", "rank"]
    assert marked("and", "CANDIDATES and And") == ["and", "And"]
    assert marked("ran", "CANDIDATES ranked frank") == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("getUserName()", ["getUserName"]),
        ("get_user_name", ["get_user_name"]),
        ("USER_ID", ["USER"]),
        ("HTTPUserAgent", ["User"]),
        ("superusers", []),
        ("userName.first", ["userName"]),
        ("name2user", ["name", "user"]),
    ],
)
def test_parts_of_identifiers_are_marked_as_the_index_splits_them(
    text: str, found: list[str]
) -> None:
    assert marked("getUserName", text) == found


def test_other_forms_of_a_word_are_marked_and_what_only_begins_alike_is_not() -> None:
    assert marked("policy", "Policies policy police") == ["Policies", "policy"]
    assert marked("names", "name namespace") == ["name"]
    assert marked("string", "str strings") == ["strings"]


def test_stop_words_are_not_marked_beside_others() -> None:
    text = "How does the parser of this class handle an error, and what if not?"
    assert marked("how does the parser handle an error", text) == ["parser", "error"]
    assert marked("why is it so", "so it is, why?") == ["so", "it", "is", "why"]


@pytest.mark.parametrize(
    ("query", "text", "found"),
    [
        ("数据库", "连接数据库的方法", ["数据库"]),
        ("如何连接数据库", "如何写文档, 见数据库连接池", ["数据库连接"]),
        ("索引的更新", "目的文件的索引在更新时", ["索引", "更新"]),
        ("锁", "这把锁", ["锁"]),
        ("什么", "什么都行", ["什么"]),
        ("Session关闭", "关闭session时closeSession", ["关闭session", "Session"]),
    ],
)
def test_chinese_words_are_marked_and_chinese_stop_words_are_not(
    query: str, text: str, found: list[str]
) -> None:
    own = [word for word in list_marked_words(query) if not word.isascii() or word in query.lower()]
    assert re.findall("<mark>(.*?)</mark>", highlight_text(text, own)) == found


def test_an_exact_string_is_marked_where_it_cuts_no_word_if_there_is_such_a_place() -> None:
    assert marked('"return 1"', "return 10; return 1;") == ["return 1"]
    assert highlight_text("return 10", ["return 1"]) == "<mark>return 1</mark>0"
    assert marked('"a < b"', "if a < b:") == ["a &lt; b"]


@given(st.text("aAbBsS_1 <\x01.-", max_size=40), st.sampled_from(["ab", "abs", "a_b", "as bab"]))
@example("1ABAb", "ab")
def test_what_is_marked_is_a_word_or_a_part_of_an_identifier(text: str, query: str) -> None:
    allowed = set(tokenize_query(text)) | {""}
    for begin, end in Highlighter(list_marked_words(query)).find_spans(text):
        # Neighbouring parts are marked together; the last term is all of them joined.
        first, *others = tokenize_query(text[begin:end]) or [""]
        assert {first, *others[:-1]} <= allowed


@given(
    st.text("aAbBiIsSkK_1<&> \x01\x02", max_size=30),
    st.lists(st.text("aAbBiIsSkK<\u0130\u0131\u017f\u212a\u4e2d", min_size=2), max_size=4),
)
def test_the_quick_way_through_ascii_marks_what_the_slow_one_does(
    text: str, words: list[str]
) -> None:
    slow = highlight_text(f"{text} \u00e9", words)
    assert highlight_text(text, words) == slow.removesuffix(" \u00e9")


def test_a_long_run_of_letters_takes_no_long_time() -> None:
    text = "ab" * 200_000
    assert highlight_text(text, ["ab"]) == text

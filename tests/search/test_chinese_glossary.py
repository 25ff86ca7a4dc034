import pytest
from codekernel.search.chinese_glossary import (
    MAX_TRANSLATED_CHARS,
    _load_glossary,
    translate_chinese,
)
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("路由", ["route"]),
        ("如何注册路由和中间件", ["register", "route", "middleware"]),
        ("依赖注入", ["dependency", "injection"]),
        ("反序列化", ["deserialize"]),
        ("JSON 解析器的错误处理", ["JSON", "parser", "error", "handling"]),
        ("会话过期以后", ["session", "expire"]),
        ("登录时验证密码", ["login", "validate", "password"]),
    ],
)
def test_the_first_senses_say_what_the_words_mean(text: str, english: list[str]) -> None:
    assert translate_chinese(text, max_senses=1) == english


def test_all_senses_are_given_in_order_and_each_word_once() -> None:
    assert translate_chinese("路由") == ["route", "router", "routing"]
    assert translate_chinese("路由路由") == ["route", "router", "routing"]


def test_the_longest_word_is_taken() -> None:
    assert translate_chinese("线程池", max_senses=1) == ["thread", "pool"]
    assert translate_chinese("环境变量", max_senses=1) == ["environment", "variable"]
    assert translate_chinese("正则表达式", max_senses=2) == ["regular", "expression", "regex"]


@pytest.mark.parametrize(
    ("traditional", "simplified"),
    [("會話", "会话"), ("請求", "请求"), ("響應", "响应"), ("驗證", "验证"), ("緩存", "缓存")],
)
def test_traditional_characters_are_read_as_simplified_ones(
    traditional: str, simplified: str
) -> None:
    assert translate_chinese(traditional) == translate_chinese(simplified) != []


@pytest.mark.parametrize(
    ("text", "word"),
    [("執行緒", "thread"), ("資料庫", "database"), ("伺服器", "server"), ("非同步", "async")],
)
def test_words_of_taiwan_are_known(text: str, word: str) -> None:
    assert translate_chinese(text)[0] == word


def test_what_is_not_chinese_stays_and_what_is_unknown_goes() -> None:
    assert translate_chinese("FastAPI 的 get_user 齉") == ["FastAPI", "get_user"]
    assert translate_chinese("") == translate_chinese("!?") == translate_chinese("\U0001f389") == []


def test_every_line_of_the_table_gives_forms_in_chinese_and_senses_in_english() -> None:
    table, longest = _load_glossary()
    assert len(table) > 900
    assert longest <= 8
    for form, senses in table.items():
        assert not any(character.isascii() or character.isspace() for character in form)
        assert all(sense and sense.isascii() and sense == sense.lower() for sense in senses)


def test_a_page_is_translated_as_far_as_a_question_goes() -> None:
    assert translate_chinese("的" * MAX_TRANSLATED_CHARS + "路由") == []


@given(st.text(), st.sampled_from([None, 1, 2]))
def test_any_text_has_a_translation_without_repetition(text: str, senses: int | None) -> None:
    words = translate_chinese(text, max_senses=senses)
    assert len(words) == len(set(words))
    assert all(word.isascii() for word in words)

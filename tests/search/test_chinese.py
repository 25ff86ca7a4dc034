"""Chinese words of programming become English ones."""

import tracemalloc
from pathlib import Path

import pytest
from codekernel.search import chinese
from codekernel.search.chinese import MAX_TRANSLATED_CHARS, load_lexicon, translate_chinese
from hypothesis import given
from hypothesis import strategies as st

MAX_FILE_BYTES = 400_000
MAX_MEMORY = 5_000_000


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("路由", ["route"]),
        ("如何注册路由和中间件", ["register", "route", "middleware"]),
        ("依赖注入", ["dependency", "injection"]),
        ("反序列化", ["deserialize"]),
        ("JSON 解析器的错误处理", ["JSON", "parser", "error", "handling"]),
        ("登录时验证密码", ["login", "validate", "password"]),
    ],
)
def test_the_first_senses_say_what_the_words_mean(text: str, english: list[str]) -> None:
    assert translate_chinese(text, first_only=True) == english


def test_all_senses_are_given_and_each_word_once() -> None:
    assert translate_chinese("路由")[:3] == ["route", "router", "routing"]
    assert translate_chinese("路由路由") == translate_chinese("路由")


def test_long_words_are_kept_together() -> None:
    assert translate_chinese("线程池", first_only=True) == ["thread", "pool"]
    assert translate_chinese("环境变量", first_only=True) == ["environment", "variable"]
    assert translate_chinese("正则表达式")[:3] == ["regular", "expression", "regex"]


@pytest.mark.parametrize(
    ("text", "word"),
    [("仪表板", "dashboard"), ("着色器", "shader"), ("污点", "taint"), ("四元数", "quaternion")],
)
def test_words_that_only_translations_taught_are_known(text: str, word: str) -> None:
    assert text not in load_lexicon().glossary
    assert word in translate_chinese(text)


def test_a_text_is_cut_where_its_words_are_likeliest_to_end() -> None:
    # Not 中文 (Chinese), whose characters stand side by side.
    assert translate_chinese("集合中文件的路径", first_only=True) == ["set", "file", "path"]


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


def test_every_entry_is_a_chinese_form_with_english_words() -> None:
    lexicon = load_lexicon()
    forms = lexicon.learned.keys() | lexicon.glossary.keys()
    assert len(forms) > 8_000
    assert lexicon.costs.keys() >= forms
    assert lexicon.max_chars <= 8
    for form in forms:
        assert not any(character.isascii() or character.isspace() for character in form)
        first = lexicon.translate(form, first_only=True)
        every = lexicon.translate(form, first_only=False)
        assert first
        assert set(first) <= set(every)
        assert all(word.isascii() and word == word.lower() for word in every)


def test_the_words_are_small_on_disk_and_in_memory() -> None:
    file = Path(chinese.__file__).with_name("chinese_words.txt")
    assert file.stat().st_size < MAX_FILE_BYTES
    tracemalloc.start()
    load_lexicon.__wrapped__()  # what it holds is freed at the end of the line
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < MAX_MEMORY


def test_a_page_is_translated_as_far_as_a_question_goes() -> None:
    assert translate_chinese("齉" * MAX_TRANSLATED_CHARS + "路由") == []


@given(text=st.text(), first_only=st.booleans())
def test_any_text_has_a_translation_without_repetition(text: str, *, first_only: bool) -> None:
    words = translate_chinese(text, first_only=first_only)
    assert len(words) == len(set(words))
    assert all(word.isascii() for word in words)

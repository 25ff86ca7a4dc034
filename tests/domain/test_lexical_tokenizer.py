import pytest
from codekernel.domain.lexical_tokenizer import (
    MAX_WORD_CHARS,
    tokenize,
    tokenize_query,
)
from hypothesis import example, given
from hypothesis import strategies as st

LETTERS = "abcdefghijklmnopqrstuvwxyz"
part = st.text(LETTERS, min_size=2, max_size=8)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("name", "name"),
        ("Name", "name"),
        ("NAME", "name"),
        ("x", "x"),
        ("getUserName", "get user name getusername"),
        ("GetUserName", "get user name getusername"),
        ("get_user_name", "get user name getusername"),
        ("GET_USER_NAME", "get user name getusername"),
        ("HTTPServer", "http server httpserver"),
        ("parseHTTPResponse", "parse http response parsehttpresponse"),
        ("parseJSON2", "parse json 2 parsejson2"),
        ("utf8", "utf 8 utf8"),
        ("UTF8", "utf 8 utf8"),
        ("sha256sum", "sha 256 sum sha256sum"),
        ("userIDs", "user ids userids"),
        ("URLs", "urls"),
        ("parseURLsFast", "parse urls fast parseurlsfast"),
        ("HTTPSession", "http session httpsession"),
        ("aB", "a b ab"),
        ("iOS", "i os ios"),
        ("XMLHttpRequest", "xml http request xmlhttprequest"),
        ("__init__", "init"),
        ("_private", "private"),
        ("0x1F", "0 x 1 f 0x1f"),
        ("42", "42"),
        ("a.b->c::d(e)", "a b c d e"),
        ("don't", "don t"),
        ("kebab-case", "kebab case"),
        ("tab\tand\nline\r\nand\0nul", "tab and line and nul"),
    ],
)
def test_identifiers_are_taken_apart_and_kept_once_whole(text: str, expected: str) -> None:
    assert tokenize(text).split() == expected.split()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("登录", "登录"),
        ("登录验证login", "登录 录验 验证 login"),
        ("loginV2登录", "login v 2 loginv2 登录"),
        ("锁", "锁"),
        ("用户登录\uff0c锁。", "用户 户登 登录 锁"),
        ("第3章", "第 3 章"),
        ("𠀀𠀁𠀂", "𠀀𠀁 𠀁𠀂"),
        ("データベース接続", "データベース 接続"),
        ("한국어 검색", "한국어 검색"),
        ("получитьИмяФайла", "получить имя файла получитьимяфайла"),
        ("ПРИВЕТ", "привет"),
        ("ÉcoleName", "école name écolename"),
        ("Straße", "strasse"),
        ("ΌνομαΧρήστη", "όνομα χρήστη όνομαχρήστη"),
        ("שלום עולם", "שלום עולם"),
        ("مرحبا بالعالم", "مرحبا بالعالم"),
        ("हिन्दी भाषा।", "हिन्दी भाषा"),
        ("สวัสดี", "สวัสดี"),
        ("party🎉time 👩‍💻", "party time"),
        ("─── title ───", "title"),
        ("“quoted” — dash…", "quoted dash"),
        ("\uff46\uff55\uff4c\uff4c\uff37\uff49\uff44\uff54\uff48", "full width fullwidth"),
        ("ﬁle", "file"),
        ("\ud800lone\udfff", "lone"),
    ],
)
def test_every_script_has_words(text: str, expected: str) -> None:
    assert tokenize(text).split() == expected.split()


def test_an_accent_is_the_same_composed_or_not() -> None:
    assert tokenize("caf\u00e9Name") == tokenize("cafe\u0301Name")


def test_the_terms_of_a_query_are_unique_and_in_order() -> None:
    assert tokenize_query("the UserName of the user_name") == [
        "the",
        "user",
        "name",
        "username",
        "of",
    ]
    assert tokenize_query(" ,.; ") == []


def test_a_long_run_is_cut_and_nothing_of_it_is_lost() -> None:
    run = "a" * (3 * MAX_WORD_CHARS + 5)
    assert [len(term) for term in tokenize(run).split()] == [*[MAX_WORD_CHARS] * 3, 5]


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "A",
        "aB",
        "A1",
        "_",
        "é",
        "登录",
        "e\u0301",
        "\u0315\u0300",
        "\u0940\u094d",
        "\uff21",
        " ",
        "─",
    ],
)
def test_a_line_of_a_million_characters_ends_before_the_tests_lose_patience(unit: str) -> None:
    # Quadratic steps would take hours: normalising marks that are out of order, above all.
    words = tokenize(unit * (1_000_000 // len(unit))).split()
    assert max(map(len, words), default=0) <= MAX_WORD_CHARS


@given(st.text(st.characters()))
@example("\ud800")
@example("İI")
def test_any_text_becomes_words_that_can_be_stored_and_asked_for(text: str) -> None:
    words = tokenize(text)
    words.encode()
    assert words.split() == tokenize(text).split()
    assert set(tokenize_query(text)) == set(words.split())
    assert "_" not in words


@given(st.text(st.characters(max_codepoint=0x24F)))
def test_words_that_were_spread_are_not_lost_by_spreading_them_again(text: str) -> None:
    once = tokenize(text).split()
    assert set(once) <= set(tokenize(" ".join(once)).split())


@given(st.lists(part, min_size=1, max_size=5))
def test_all_spellings_of_an_identifier_have_the_same_terms(parts: list[str]) -> None:
    snake = "_".join(parts)
    pascal = "".join(map(str.capitalize, parts))
    camel = pascal[0].lower() + pascal[1:]
    assert tokenize_query(snake) == tokenize_query(pascal) == tokenize_query(camel)
    assert tokenize_query(snake) == tokenize_query(snake.upper())


@given(st.lists(part, min_size=1, max_size=5), st.text(max_size=30), st.text(max_size=30))
def test_an_identifier_is_found_wherever_it_stands(
    parts: list[str], before: str, after: str
) -> None:
    identifier = "_".join(parts)
    text = f"{before} {identifier}({after}"
    assert set(tokenize_query(identifier)) <= set(tokenize(text).split())

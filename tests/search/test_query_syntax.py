import pytest
from codekernel.errors import WrongParam
from codekernel.search.filters import Filters
from codekernel.search.query_parser import parse_query
from codekernel.search.query_syntax import (
    MAX_EXACT_STRINGS,
    MAX_QUERY_CHARS,
    parse_search_expression,
)
from hypothesis import given, settings
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("text", "words", "filters"),
    [
        ("close session", "close session", Filters()),
        ("close lang:py session", "close session", Filters(languages=frozenset({"python"}))),
        ("lang:c++ lang:golang", "", Filters(languages=frozenset({"cpp", "go"}))),
        ("lang:c,rust x", "x", Filters(languages=frozenset({"c", "rust"}))),
        ("-lang:json x", "x", Filters(not_languages=frozenset({"json"}))),
        ("path:src/auth -path:tests", "", Filters(paths=("src/auth",), not_paths=("tests",))),
        ("path:src/**/*.py x", "x", Filters(paths=("src/**/*.py",))),
        ('path:"my folder" x', "x", Filters(paths=("my folder",))),
        ("symbol:Session -symbol:Mock", "", Filters(symbols=("Session",), not_symbols=("Mock",))),
        ("symbol:Session::close", "", Filters(symbols=("Session::close",))),
        ("file:login.py -file:test_*", "", Filters(files=("login.py",), not_files=("test_*",))),
        ("path:a path:b path:a", "", Filters(paths=("a", "b"))),
    ],
)
def test_filters_are_taken_out_of_the_words(text: str, words: str, filters: Filters) -> None:
    request = parse_search_expression(text)
    assert (request.plain_text, request.filters) == (words, filters)
    assert not request.is_literal


@pytest.mark.parametrize(
    "text",
    [
        "std::vector",
        "path::join",
        "symbol::new",
        "http://example.org/a",
        "file:///home/x",
        "label: text",
        "path: src",
        "foo:bar",
        "Lang:python",
        "xpath:a",
        "-",
        "a/b/c",
        "/usr/lib/",
        "/api/v1/",
        "/api/v1/users",
        "//",
        "either / or /",
        '"unclosed',
        'say "hi"there',
        'x="a"',
        '""',
        "don't \"",
        'Cannot find module "foo"',
        'KeyError: "foo"',
        'a\n"b"\nlang:py',
        'File "a.py", line 3, in "x"',
    ],
)
def test_what_only_resembles_is_ordinary_text(text: str) -> None:
    request = parse_search_expression(text)
    assert request.plain_text == text
    assert request.filters == Filters()
    assert not request.is_literal


@pytest.mark.parametrize(
    ("text", "exact"),
    [
        ('"exact string"', ("exact string",)),
        ('"b" "d e" lang:py', ("b", "d e")),
        (r'"a \"b\" \\ \n"', (r'a "b" \ \n',)),
        ('"Error: cannot open"', ("Error: cannot open",)),
        ('"a" "a"', ("a",)),
        ('"路由"', ("路由",)),
    ],
)
def test_a_query_that_is_quoted_is_exact(text: str, exact: tuple[str, ...]) -> None:
    request = parse_search_expression(text)
    assert (request.exact_strings, request.plain_text) == (exact, "")
    assert request.is_literal


@pytest.mark.parametrize(
    "text",
    [
        'Fix spurious "Future exception was never retrieved" warning',
        '"exact string" rest',
        "remove /**/ from the output",
        "close /x+/ session",
        "what does /[/ do",
    ],
)
def test_quotes_and_slashes_in_a_sentence_are_punctuation(text: str) -> None:
    request = parse_search_expression(text)
    assert request.plain_text == text
    assert not request.is_literal


def test_filters_count_beside_a_sentence_with_quotes() -> None:
    request = parse_search_expression('where is "closing" logged lang:py')
    assert request.plain_text == 'where is "closing" logged'
    assert request.filters.languages == frozenset({"python"})


def test_more_quotes_than_anybody_types_are_text() -> None:
    request = parse_search_expression(
        " ".join(f'"{number}"' for number in range(MAX_EXACT_STRINGS + 2))
    )
    assert not request.is_literal
    assert request.plain_text.startswith('"0" "1"')


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("/foo.*bar/", "foo.*bar"),
        (r"/def \w+ foo/ lang:py", r"def \w+ foo"),
        (r"/api\/v1/", r"api\/v1"),
        (r"/[/\]]x/", r"[/\]]x"),
        (r"/[\\/]x/", r"[\\/]x"),
        ('/x/ "y"', "x"),
    ],
)
def test_what_stands_between_slashes_is_an_expression(text: str, pattern: str) -> None:
    request = parse_search_expression(text)
    assert request.regex is not None
    assert (request.regex.pattern, request.plain_text) == (pattern, "")


def test_an_expression_may_ignore_capitals() -> None:
    pattern = parse_search_expression("/Foo/i").regex
    assert pattern is not None
    assert pattern.search("fOO")
    assert parse_search_expression("/Foo/x").regex is None


def test_a_backslash_makes_ordinary_text() -> None:
    request = parse_search_expression(r'\lang:py \-path:x \"a" \/x/ \d')
    assert request.plain_text == r'lang:py -path:x "a" /x/ \d'
    assert request.filters == Filters()
    assert not request.is_literal


@pytest.mark.parametrize("text", ["/(/", "/a[/", "/(a+)+b/", "/*/ lang:py"])
def test_an_expression_that_cannot_be_run_is_explained(text: str) -> None:
    if text == "/a[/":  # the bracket swallows the slash: this is text
        assert parse_search_expression(text).regex is None
        return
    with pytest.raises(WrongParam, match="regular expression"):
        parse_search_expression(text)


def test_a_megabyte_is_cut() -> None:
    assert len(parse_search_expression("lang:py " + "x" * 10**6).plain_text) < MAX_QUERY_CHARS
    assert parse_search_expression("\u05d0 " * 10**6).plain_text


BITS = st.sampled_from(
    [
        '"',
        "/",
        "\\",
        " ",
        "lang:",
        "path:",
        "-",
        "symbol:",
        "py",
        "a",
        "\u202e",
        "\x00",
        "[",
        "]",
        ",",
    ]
)


@pytest.mark.parametrize("bit", ['"\\', " /[", '"', "/", "\\", 'path:"', " /a", "at ", "1.", "(a"])
def test_a_page_of_nonsense_has_an_end(bit: str) -> None:
    request = parse_search_expression(bit * MAX_QUERY_CHARS)
    assert len(request.plain_text) <= MAX_QUERY_CHARS
    parse_query(request.plain_text)


@settings(deadline=None)
@given(st.one_of(st.text(), st.lists(BITS).map("".join)))
def test_any_text_is_a_request_unless_its_expression_is_wrong(text: str) -> None:
    try:
        request = parse_search_expression(text)
    except WrongParam:
        assert text.count("/") >= 2 or "lang:" in text
        return
    parse_query(request.plain_text)
    assert all(request.exact_strings)
    if not request.is_literal and request.filters == Filters() and "\\" not in text:
        assert request.plain_text.split() == text[:MAX_QUERY_CHARS].split()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("lang:pyton x", 'no language is called "pyton"; near: python'),
        ("x -lang:javascrpt", 'no language is called "javascrpt"; near: javascript'),
        ("lang:py,rusty", 'no language is called "rusty"; near: rust'),
        ("lang:klingon x", 'no language is called "klingon"'),
        ('lang:"type script"', "near: typescript"),
    ],
)
def test_a_language_that_nobody_knows_is_refused_with_the_near_ones(text: str, said: str) -> None:
    with pytest.raises(WrongParam) as refused:
        parse_search_expression(text)
    assert said in str(refused.value)


def test_in_a_message_a_language_that_nobody_knows_is_text() -> None:
    message = "TypeError: cannot read attribute lang:xx-klingon of 'NoneType' object"
    assert parse_search_expression(message).plain_text == message


def test_names_before_a_colon_that_are_no_filters_are_words() -> None:
    assert parse_search_expression("foo:bar kind:class").plain_text == "foo:bar kind:class"

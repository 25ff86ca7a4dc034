import pytest
from codekernel.errors import WrongParam
from codekernel.search.filters import Filters
from codekernel.search.query_parser import (
    MAX_EXACT_STRINGS,
    MAX_QUERY_CHARS,
    QueryKind,
    parse_query,
    parse_search_expression,
)
from codekernel.search.query_recognizers import FileMention
from hypothesis import given, settings
from hypothesis import strategies as st

PYTHON = """Traceback (most recent call last):
  File "/app/src/main.py", line 10, in <module>
    run()
  File "/app/src/db/session.py", line 42, in close
    self.pool.release()
AttributeError: 'Session' object has no attribute 'pool'
"""
JAVA = """java.lang.IllegalStateException: connection 17 is closed
\tat com.foo.bar.Parser.parse(Parser.java:57)
\tat java.base/java.lang.Thread.run(Thread.java:840)
"""
JAVASCRIPT = """TypeError: Cannot read properties of undefined (reading 'map')
    at renderList (/app/src/list.js:10:15)
    at Object.<anonymous> (webpack:///src/index.js:3:1)
    at async Router.handle (http://localhost:3000/static/router.js:7:2)
    at C:\\x\\y.ts:4:5
"""
GO = """panic: runtime error: invalid memory address or nil pointer dereference

goroutine 1 [running]:
main.(*Server).handle(0xc0000, 0x1)
\t/home/u/server.go:45 +0x1d
main.main()
\t/home/u/main.go:12 +0x2a
"""
RUST = """thread 'main' panicked at src/main.rs:4:5:
index out of bounds: the len is 3 but the index is 99
   3: myapp::parser::parse_header::h0123456789abcdef
             at ./src/parser.rs:12:9
"""
CSHARP = """System.InvalidOperationException: Sequence contains no elements
   at System.Linq.Enumerable.First[T](IEnumerable`1 source)
   at My.App.Service.Load(String name) in C:\\src\\App\\Service.cs:line 42
"""


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Session", QueryKind.SYMBOL),
        ("session.close", QueryKind.SYMBOL),
        ("std::vector", QueryKind.SYMBOL),
        ("parse_header()", QueryKind.SYMBOL),
        ("request.json", QueryKind.SYMBOL),
        ("how are sessions closed", QueryKind.PROSE),
        ("how nvm installs a Node.js version", QueryKind.PROSE),
        ("how does it handle an invalid header", QueryKind.PROSE),
        ("retry failed requests", QueryKind.PROSE),
        ("http://example.org/a", QueryKind.PROSE),
        ("会话如何关闭", QueryKind.HAN),
        ("关闭 Session", QueryKind.HAN),
        ("src/foo/bar.py", QueryKind.PATH),
        ("bar.py", QueryKind.PATH),
        ("bar.py:12", QueryKind.PATH),
        ("main.go:12:3", QueryKind.PATH),
        ("foo/bar", QueryKind.PATH),
        ("src\\app\\Service.cs", QueryKind.PATH),
        ("src/a.ts#L10-L20", QueryKind.PATH),
        ("ModuleNotFoundError: No module named 'foo.bar'", QueryKind.ERROR),
        ("error: cannot open file '/etc/x.conf' (errno 13)", QueryKind.ERROR),
        ("failed to connect to 10.0.0.1:5432 after 3 attempts", QueryKind.ERROR),
        ("x is not a function", QueryKind.ERROR),
        (PYTHON, QueryKind.TRACE),
        (JAVA, QueryKind.TRACE),
        (JAVASCRIPT, QueryKind.TRACE),
        (GO, QueryKind.TRACE),
        (RUST, QueryKind.TRACE),
        (CSHARP, QueryKind.TRACE),
        ("app/models/user.rb:12:in `save': undefined method `foo'", QueryKind.TRACE),
        ("#0 /var/www/src/Foo.php(33): App\\Foo->bar()", QueryKind.TRACE),
        ("", QueryKind.PROSE),
        ("?!...", QueryKind.PROSE),
        ("\x00\x07", QueryKind.PROSE),
        ("\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd", QueryKind.PROSE),
        ("\U0001f389 \U0001f469\u200d\U0001f4bb", QueryKind.PROSE),
    ],
)
def test_the_kind_of_a_question_is_recognised(text: str, kind: QueryKind) -> None:
    assert parse_query(text).kind is kind


def test_a_name_is_asked_for_without_its_qualifiers() -> None:
    query = parse_query("Phoenix.Router.call()")
    assert (query.symbol, query.names, query.mentions) == ("call", frozenset(), ())
    assert query.terms == ("phoenix", "router", "call")


def test_names_inside_a_sentence_are_found() -> None:
    query = parse_query("where does HttpClient call parse_header")
    assert query.names == {"HttpClient", "parse_header"}
    assert query.semantic_query == query.text


def test_chinese_is_asked_in_english_too() -> None:
    query = parse_query("会话过期")
    assert query.terms[:3] == ("会话", "话过", "过期")
    assert {"session", "expire", "expired"} <= set(query.terms)
    assert query.semantic_query == "会话过期 session expire"
    assert query.stems == {"sess", "expir"}
    assert parse_query("测试 路由").is_about_tests


def test_chinese_without_a_word_of_programming_stays_as_it_is() -> None:
    query = parse_query("齉齾")
    assert (query.terms, query.stems, query.semantic_query) == (("齉齾",), {"齉齾"}, "齉齾")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("src/foo/bar.py", FileMention("src/foo/bar.py")),
        ("bar.py:12", FileMention("bar.py", 12)),
        ("./src/a.ts:3:9", FileMention("src/a.ts", 3)),
        ("C:\\src\\b.cs:3", FileMention("src/b.cs", 3)),
        ("src/a.ts#L10-L20", FileMention("src/a.ts", 10)),
        ("what does src/foo/bar.py do", FileMention("src/foo/bar.py")),
        ("src/x.c:12:5: error: expected ';' before 'return'", FileMention("src/x.c", 12)),
    ],
)
def test_a_named_place_is_read(text: str, place: FileMention) -> None:
    assert parse_query(text).mentions == (place,)


def test_a_line_is_no_word() -> None:
    assert parse_query("src/bar.py:12").terms == ("src", "bar", "py")


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("error: cannot open file '/etc/x.conf' (13)", "error: cannot open file ( )"),
        ("failed to connect to 10.0.0.1:5432", "failed to connect to"),
        ("invalid object at 0x7f3a90 in 'Foo'", "invalid object at in"),
        ("could not read https://a.b/c?d=1 twice", "could not read twice"),
        ("KeyError: 'foo'", "KeyError: 'foo'"),
    ],
)
def test_the_constant_part_of_a_message_is_what_counts(text: str, kept: str) -> None:
    query = parse_query(text)
    assert query.kind is QueryKind.ERROR
    assert query.semantic_query == kept


def test_names_quoted_in_a_message_are_names() -> None:
    assert parse_query("TypeError: 'Session' object is not callable").names >= {"Session"}


@pytest.mark.parametrize(
    ("trace", "places", "functions"),
    [
        (PYTHON, [("app/src/db/session.py", 42), ("app/src/main.py", 10)], {"close"}),
        (
            JAVA,
            [("com/foo/bar/Parser.java", 57), ("java/lang/Thread.java", 840)],
            {"parse", "run"},
        ),
        (
            JAVASCRIPT,
            [
                ("app/src/list.js", 10),
                ("src/index.js", 3),
                ("static/router.js", 7),
                ("x/y.ts", 4),
            ],
            {"renderList", "handle"},
        ),
        (GO, [("home/u/server.go", 45), ("home/u/main.go", 12)], {"handle", "main"}),
        (RUST, [("src/main.rs", 4), ("src/parser.rs", 12)], {"parse_header"}),
        (CSHARP, [("src/App/Service.cs", 42)], {"Load"}),
    ],
)
def test_the_frames_of_a_trace_become_places_and_names(
    trace: str, places: list[tuple[str, int]], functions: set[str]
) -> None:
    query = parse_query(trace)
    assert [tuple(place) for place in query.mentions] == places
    assert query.names == functions
    one_line = parse_query(" ".join(trace.split("\n")))
    assert one_line.kind is QueryKind.TRACE
    assert {place.path for place in one_line.mentions} == {path for path, _ in places}


def test_a_trace_is_asked_by_functions_then_files_then_the_message() -> None:
    query = parse_query(PYTHON)
    assert query.terms[:4] == ("close", "session", "py", "main")
    assert "attributeerror" in query.terms
    assert "pool" not in query.terms
    assert query.semantic_query == "AttributeError: object has no attribute close"


def test_a_page_is_read_as_far_as_a_long_trace_goes() -> None:
    assert parse_query("word " * 10**6).text == ("word " * 10**6)[:MAX_QUERY_CHARS]


PIECES = st.sampled_from(
    ['File "', ", line 3", "at ", "(", ")", ":12", ":3:4", ".py", ".go", "src/", "\\", "'", "\n",
     "0x1", "Error: ", "cannot ", "路由", "\u202e", "\ud800", " "]
)  # fmt: skip


@settings(deadline=None)
@given(st.one_of(st.text(), st.lists(st.one_of(PIECES, st.text(max_size=3))).map("".join)))
def test_any_text_is_understood(text: str) -> None:
    query = parse_query(text)
    assert query.kind in QueryKind
    assert all(place.path for place in query.mentions) or query.kind is QueryKind.TRACE


def test_the_words_of_a_message_are_not_compared_with_names_of_files() -> None:
    query = parse_query("ValueError: invalid literal for int() with base 10: 'abc'")
    assert query.stems == frozenset()
    assert query.terms[:5] == ("value", "error", "valueerror", "invalid", "literal")
    assert query.terms[-2:] == ("10", "abc")


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
    assert request.filters.is_empty
    assert not request.is_literal


@pytest.mark.parametrize(
    ("text", "exact", "words"),
    [
        ('"exact string" rest', ("exact string",), "rest"),
        ('a "b" c "d e"', ("b", "d e"), "a c"),
        (r'"a \"b\" \\ \n"', (r'a "b" \ \n',), ""),
        ('"Error: cannot open"', ("Error: cannot open",), ""),
        ('"a" "a"', ("a",), ""),
        ('"路由"', ("路由",), ""),
    ],
)
def test_what_is_quoted_is_exact(text: str, exact: tuple[str, ...], words: str) -> None:
    request = parse_search_expression(text)
    assert (request.exact_strings, request.plain_text) == (exact, words)
    assert request.is_literal


def test_more_quotes_than_anybody_types_are_text() -> None:
    request = parse_search_expression(
        " ".join(f'"{number}"' for number in range(MAX_EXACT_STRINGS + 2))
    )
    assert len(request.exact_strings) == MAX_EXACT_STRINGS
    assert request.plain_text == '"16" "17"'


@pytest.mark.parametrize(
    ("text", "pattern", "words"),
    [
        ("/foo.*bar/", "foo.*bar", ""),
        (r"/def \w+ foo/ lang:py", r"def \w+ foo", ""),
        ("close /x+/ session", "x+", "close session"),
        (r"/api\/v1/", r"api\/v1", ""),
        (r"/[/\]]x/", r"[/\]]x", ""),
        (r"/[\\/]x/", r"[\\/]x", ""),
        ("/x/ /y/", "x", "/y/"),
    ],
)
def test_what_stands_between_slashes_is_an_expression(text: str, pattern: str, words: str) -> None:
    request = parse_search_expression(text)
    assert request.regex is not None
    assert (request.regex.pattern, request.plain_text) == (pattern, words)


def test_an_expression_may_ignore_capitals() -> None:
    pattern = parse_search_expression("/Foo/i").regex
    assert pattern is not None
    assert pattern.search("fOO")
    assert parse_search_expression("/Foo/x").regex is None


def test_a_backslash_makes_ordinary_text() -> None:
    request = parse_search_expression(r'\lang:py \-path:x \"a" \/x/ \d')
    assert request.plain_text == r'lang:py -path:x "a" /x/ \d'
    assert request.filters.is_empty
    assert not request.is_literal


@pytest.mark.parametrize("text", ["/(/", "/a[/", "/(a+)+b/", "x /*/ y"])
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
    if not request.is_literal and request.filters.is_empty and "\\" not in text:
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

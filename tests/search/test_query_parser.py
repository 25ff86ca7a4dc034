import pytest
from codekernel.search.file_mentions import FileMention
from codekernel.search.query_parser import (
    QueryKind,
    parse_query,
)
from codekernel.search.query_syntax import MAX_QUERY_CHARS
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
    assert query.semantic_query == "where does HttpClient call parse_header"


def test_chinese_is_asked_in_english_too() -> None:
    query = parse_query("会话过期")
    assert query.terms[:3] == ("会话", "话过", "过期")
    assert {"session", "expire", "expired"} <= set(query.terms)
    assert query.semantic_query == "会话过期 session expire"
    assert {"session", "expir"} <= query.stems
    assert parse_query("测试 路由").is_about_tests


def test_chinese_without_a_word_of_programming_stays_as_it_is() -> None:
    query = parse_query("齉齾")
    assert (query.terms, query.semantic_query) == (("齉齾",), "齉齾")
    assert query.stems == {"齉齾"}


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
    text = "word " * 10**6
    assert parse_query(text).semantic_query == text[:MAX_QUERY_CHARS]


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

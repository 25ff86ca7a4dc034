import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernel.search.mentions import Mention
from kernel.search.query import LONGEST_TEXT, Kind, understood

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
        ("Session", Kind.SYMBOL),
        ("session.close", Kind.SYMBOL),
        ("std::vector", Kind.SYMBOL),
        ("parse_header()", Kind.SYMBOL),
        ("request.json", Kind.SYMBOL),
        ("how are sessions closed", Kind.PROSE),
        ("how nvm installs a Node.js version", Kind.PROSE),
        ("how does it handle an invalid header", Kind.PROSE),
        ("retry failed requests", Kind.PROSE),
        ("http://example.org/a", Kind.PROSE),
        ("会话如何关闭", Kind.HAN),
        ("关闭 Session", Kind.HAN),
        ("src/foo/bar.py", Kind.PATH),
        ("bar.py", Kind.PATH),
        ("bar.py:12", Kind.PATH),
        ("main.go:12:3", Kind.PATH),
        ("foo/bar", Kind.PATH),
        ("src\\app\\Service.cs", Kind.PATH),
        ("src/a.ts#L10-L20", Kind.PATH),
        ("ModuleNotFoundError: No module named 'foo.bar'", Kind.ERROR),
        ("error: cannot open file '/etc/x.conf' (errno 13)", Kind.ERROR),
        ("failed to connect to 10.0.0.1:5432 after 3 attempts", Kind.ERROR),
        ("x is not a function", Kind.ERROR),
        (PYTHON, Kind.TRACE),
        (JAVA, Kind.TRACE),
        (JAVASCRIPT, Kind.TRACE),
        (GO, Kind.TRACE),
        (RUST, Kind.TRACE),
        (CSHARP, Kind.TRACE),
        ("app/models/user.rb:12:in `save': undefined method `foo'", Kind.TRACE),
        ("#0 /var/www/src/Foo.php(33): App\\Foo->bar()", Kind.TRACE),
        ("", Kind.PROSE),
        ("?!...", Kind.PROSE),
        ("\x00\x07", Kind.PROSE),
        ("\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd", Kind.PROSE),
        ("\U0001f389 \U0001f469\u200d\U0001f4bb", Kind.PROSE),
    ],
)
def test_the_kind_of_a_question_is_recognised(text: str, kind: Kind) -> None:
    assert understood(text).kind is kind


def test_a_name_is_asked_for_without_its_qualifiers() -> None:
    query = understood("Phoenix.Router.call()")
    assert (query.symbol, query.names, query.places) == ("call", frozenset(), ())
    assert query.terms == ("phoenix", "router", "call")


def test_names_inside_a_sentence_are_found() -> None:
    query = understood("where does HttpClient call parse_header")
    assert query.names == {"HttpClient", "parse_header"}
    assert query.meant == query.text


def test_chinese_is_asked_in_english_too() -> None:
    query = understood("会话过期")
    assert query.terms[:3] == ("会话", "话过", "过期")
    assert {"session", "expire", "expired"} <= set(query.terms)
    assert query.meant == "会话过期 session expire"
    assert query.stems == {"sess", "expir"}
    assert understood("测试 路由").about_tests


def test_chinese_without_a_word_of_programming_stays_as_it_is() -> None:
    query = understood("齉齾")
    assert (query.terms, query.stems, query.meant) == (("齉齾",), {"齉齾"}, "齉齾")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("src/foo/bar.py", Mention("src/foo/bar.py")),
        ("bar.py:12", Mention("bar.py", 12)),
        ("./src/a.ts:3:9", Mention("src/a.ts", 3)),
        ("C:\\src\\b.cs:3", Mention("src/b.cs", 3)),
        ("src/a.ts#L10-L20", Mention("src/a.ts", 10)),
        ("what does src/foo/bar.py do", Mention("src/foo/bar.py")),
        ("src/x.c:12:5: error: expected ';' before 'return'", Mention("src/x.c", 12)),
    ],
)
def test_a_named_place_is_read(text: str, place: Mention) -> None:
    assert understood(text).places == (place,)


def test_a_line_is_no_word() -> None:
    assert understood("src/bar.py:12").terms == ("src", "bar", "py")


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
    query = understood(text)
    assert query.kind is Kind.ERROR
    assert query.meant == kept


def test_names_quoted_in_a_message_are_names() -> None:
    assert understood("TypeError: 'Session' object is not callable").names >= {"Session"}


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
    query = understood(trace)
    assert [tuple(place) for place in query.places] == places
    assert query.names == functions
    one_line = understood(" ".join(trace.split("\n")))
    assert one_line.kind is Kind.TRACE
    assert {place.path for place in one_line.places} == {path for path, _ in places}


def test_a_trace_is_asked_by_functions_then_files_then_the_message() -> None:
    query = understood(PYTHON)
    assert query.terms[:4] == ("close", "session", "py", "main")
    assert "attributeerror" in query.terms
    assert "pool" not in query.terms
    assert query.meant == "AttributeError: object has no attribute close"


def test_a_page_is_read_as_far_as_a_long_trace_goes() -> None:
    assert understood("word " * 10**6).text == ("word " * 10**6)[:LONGEST_TEXT]


PIECES = st.sampled_from(
    ['File "', ", line 3", "at ", "(", ")", ":12", ":3:4", ".py", ".go", "src/", "\\", "'", "\n",
     "0x1", "Error: ", "cannot ", "路由", "\u202e", "\ud800", " "]
)  # fmt: skip


@settings(deadline=None)
@given(st.one_of(st.text(), st.lists(st.one_of(PIECES, st.text(max_size=3))).map("".join)))
def test_any_text_is_understood(text: str) -> None:
    query = understood(text)
    assert query.kind in Kind
    assert all(place.path for place in query.places) or query.kind is Kind.TRACE


def test_the_words_of_a_message_are_not_compared_with_names_of_files() -> None:
    query = understood("ValueError: invalid literal for int() with base 10: 'abc'")
    assert query.stems == frozenset()
    assert query.terms[:5] == ("value", "error", "valueerror", "invalid", "literal")
    assert query.terms[-2:] == ("10", "abc")

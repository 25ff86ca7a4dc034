from dataclasses import fields

import pytest
from codekernel.search.filters import Filters, is_path_match, resolve_languages
from codekernel.search.query_syntax import parse_search_expression
from hypothesis import given
from hypothesis import strategies as st
from support.indexed_chunks import indexed_chunk


@pytest.mark.parametrize(
    ("name", "languages"),
    [
        ("python", {"python"}),
        ("py", {"python"}),
        ("Python", {"python"}),
        ("ts", {"typescript", "tsx"}),
        ("javascript", {"javascript", "jsx"}),
        ("tsx", {"tsx"}),
        ("c++", {"cpp"}),
        ("cpp", {"cpp"}),
        ("c", {"c"}),
        ("cs", {"csharp"}),
        ("c#", {"csharp"}),
        ("golang", {"go"}),
        ("rs", {"rust"}),
        ("shell", {"bash"}),
        ("bash", {"bash"}),
        ("md", {"markdown"}),
        ("make", {"make"}),
        ("dockerfile", {"dockerfile"}),
        ("text", {"text"}),
        ("klingon", set()),
        ("", set()),
        ("a/b", set()),
    ],
)
def test_a_language_has_several_names(name: str, languages: set[str]) -> None:
    assert resolve_languages(name) == languages


@pytest.mark.parametrize(
    ("value", "path", "is_on"),
    [
        ("src/auth", "src/auth/login.py", True),
        ("SRC\\Auth", "src/auth/login.py", True),
        ("auth", "lib/oauth.py", True),
        ("/auth", "lib/oauth.py", False),
        ("/src", "src/a.py", True),
        ("tests/", "tests/a.py", True),
        ("tests/", "src/tests.py", False),
        ("*.py", "src/auth/login.py", True),
        ("*.py", "src/login.pyi", False),
        ("src/*.py", "src/login.py", True),
        ("src/*.py", "src/auth/login.py", False),
        ("src/**/*.py", "src/auth/deep/login.py", True),
        ("src/**/*.py", "src/login.py", True),
        ("src/*", "lib/src/auth/login.py", True),
        ("/src/*", "lib/src/auth/login.py", False),
        ("log?n.py", "src/login.py", True),
        ("[id]*", "app/[id].tsx", True),
        ("**", "a", True),
    ],
)
def test_a_path_is_matched_by_a_part_of_it_or_by_a_glob(
    value: str, path: str, *, is_on: bool
) -> None:
    assert is_path_match(value, path) is is_on


def test_nothing_filtered_means_everything_accepted() -> None:
    assert Filters().accepts(indexed_chunk("a.py"))
    assert not Filters(paths=("b",)).accepts(indexed_chunk("a.py"))


def test_several_of_a_kind_mean_any_and_several_kinds_all() -> None:
    filters = Filters(languages=frozenset({"python", "go"}), paths=("src", "lib"))
    assert filters.accepts(indexed_chunk("src/a.py"))
    assert filters.accepts(indexed_chunk("lib/a.go", language="go"))
    assert not filters.accepts(indexed_chunk("src/a.rs", language="rust"))
    assert not filters.accepts(indexed_chunk("docs/a.py"))


def test_what_is_excluded_is_never_accepted() -> None:
    filters = Filters(paths=("src",), not_paths=("src/tests",), not_languages=frozenset({"json"}))
    assert filters.accepts(indexed_chunk("src/a.py"))
    assert not filters.accepts(indexed_chunk("src/tests/a.py"))
    assert not filters.accepts(indexed_chunk("src/a.json", language="json"))


def test_a_file_is_meant_by_its_name_alone() -> None:
    assert Filters(files=("login",)).accepts(indexed_chunk("src/login.py"))
    assert not Filters(files=("src",)).accepts(indexed_chunk("src/login.py"))
    assert Filters(files=("*.py",), not_files=("test_*",)).accepts(indexed_chunk("src/login.py"))


@pytest.mark.parametrize(
    ("value", "is_accepted"),
    [
        ("session", True),
        ("Close", True),
        ("close()", True),
        ("Session.close", True),
        ("Session::close", True),
        ("router", True),
        ("Phoenix.Router", True),
        ("clos", False),
        ("clos*", True),
        ("Other.close", False),
    ],
)
def test_a_symbol_is_what_is_defined_or_surrounds(value: str, *, is_accepted: bool) -> None:
    one = indexed_chunk(
        "a.py", symbols=("Session", "close"), defined_names=("close", "Phoenix.Router")
    )
    assert Filters(symbols=(value,)).accepts(one) is is_accepted
    assert Filters(not_symbols=(value,)).accepts(one) is not is_accepted


VALUES = st.lists(st.text("ab/*?[]. \\\ud800", min_size=1, max_size=6), max_size=2).map(tuple)


@given(
    st.builds(
        Filters,
        **{
            field.name: st.frozensets(st.sampled_from(["python", "go"]))
            if "languages" in field.name
            else VALUES
            for field in fields(Filters)
            if field.name != "is_readable"
        },
    ),
    st.text("ab/.", min_size=1, max_size=8),
    st.sampled_from(["python", "go", "text"]),
)
def test_a_filter_and_its_opposite_never_agree(filters: Filters, path: str, language: str) -> None:
    one = indexed_chunk(path, language=language, symbols=("a",), defined_names=("b",))
    opposite = Filters(
        not_languages=filters.languages,
        not_paths=filters.paths,
        not_files=filters.files,
        not_symbols=filters.symbols,
    )
    has_wish = filters.languages or filters.paths or filters.files or filters.symbols
    assert not (has_wish and filters.accepts(one) and opposite.accepts(one))
    if filters.accepts(one):
        assert filters.accepts_file(path, language)


def test_what_may_not_be_read_is_accepted_by_no_filter() -> None:
    mine = Filters(paths=("src",), is_readable=lambda path: not path.startswith("src/secret/"))
    assert mine.accepts(indexed_chunk("src/a.py"))
    assert not mine.accepts(indexed_chunk("src/secret/a.py"))
    assert not mine.accepts_file("src/secret/a.py", "python")


def test_a_kind_of_files_is_a_filter() -> None:
    tests_only = parse_search_expression("login kind:tests").filters
    assert tests_only.accepts_file("tests/test_login.py", "python")
    assert not tests_only.accepts_file("src/login.py", "python")
    code = parse_search_expression("login -kind:docs,test").filters
    assert code.accepts_file("src/login.py", "python")
    assert not code.accepts_file("docs/login.md", "markdown")

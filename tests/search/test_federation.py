"""One ranking of several repositories: the one that answers best comes first."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import pytest
from codekernel.domain.concurrency import CancelToken
from codekernel.errors import RepoNotExist, WrongParam
from codekernel.search.federation import (
    FederatedHits,
    FederatedQuery,
    OpenSearcher,
    search_repositories,
)
from codekernel.search.merged_index import MergedVectors, split_number
from codekernel.search.pipeline import Searcher
from codekernel.storage.index_store import IndexStore
from support.searched_repository import open_searcher

WEB = {
    "src/cookies.py": "def set_cookie(response, name):\n    response.headers.add(name)\n",
    "src/pages.py": "def render(page):\n    return page.template\n",
    "src/forms.py": "def render_form(form):\n    return form.fields\n",
}
PARSER = {
    "parse.py": "def parse_tree(tokens):\n    return build(tokens)\n",
    "tree.py": "class Tree:\n    def render(self):\n        return self.leaves\n",
}
EMPTY = {"notes.txt": "nothing of interest\n"}


@pytest.fixture
def searchers(tmp_path: Path) -> Iterator[dict[str, Searcher]]:
    with ExitStack() as opened:
        yield {
            name: opened.enter_context(open_searcher(tmp_path / name, texts))
            for name, texts in {"web": WEB, "parser": PARSER, "empty": EMPTY}.items()
        }


def ask(
    searchers: dict[str, Searcher], text: str, limit: int = 10, **more: OpenSearcher
) -> FederatedHits:
    opened: dict[str, OpenSearcher] = {
        name: partial(lambda one: (one, ""), each) for name, each in searchers.items()
    }
    return search_repositories(opened | more, FederatedQuery(text, limit), CancelToken())


def places(found: FederatedHits) -> list[str]:
    return [f"{name}/{hit.chunk.path}" for name, hit in found.hits]


def test_the_repository_that_has_more_of_the_query_comes_first(
    searchers: dict[str, Searcher],
) -> None:
    assert places(ask(searchers, "how is a cookie added to response headers"))[0].startswith(
        "web/src/cookies"
    )
    assert places(ask(searchers, "parse tokens into a tree"))[0] == "parser/parse.py"


def test_the_best_repository_keeps_its_scores_and_every_one_its_order(
    searchers: dict[str, Searcher],
) -> None:
    text = "render a form"
    found = ask(searchers, text)
    alone = searchers["web"].search(text, 10)
    ours = [hit for name, hit in found.hits if name == "web"]
    assert [hit.chunk.path for hit in ours] == [hit.chunk.path for hit in alone]
    assert found.hits[0].hit.score == pytest.approx(alone[0].score)
    scores = [hit.score for _, hit in found.hits]
    assert scores == sorted(scores, reverse=True)


def test_each_repository_says_what_it_found(searchers: dict[str, Searcher]) -> None:
    def refuse() -> tuple[Searcher, str]:
        raise RepoNotExist("its disk is away")

    found = ask(searchers, "cookie", away=refuse, late=lambda: (searchers["web"], "half of it"))
    outcomes = {each.repo_name: each for each in found.outcomes}
    assert outcomes["web"].hit_count == 1
    assert outcomes["parser"].hit_count == 0
    assert outcomes["away"].error == "its disk is away"
    assert outcomes["late"].gap == "half of it"


def test_a_filter_that_one_repository_lacks_leaves_the_others(
    searchers: dict[str, Searcher],
) -> None:
    found = places(ask(searchers, "path:src render"))
    assert sorted(found) == ["web/src/forms.py", "web/src/pages.py"]
    with pytest.raises(WrongParam, match="nowhere"):
        ask(searchers, "path:nowhere render")
    with pytest.raises(WrongParam):
        ask(searchers, "/(/")


def test_files_of_one_path_in_two_repositories_are_two(tmp_path: Path) -> None:
    text = {"read.py": "def read_config(path):\n    return path.open()\n"}
    with (
        open_searcher(tmp_path / "one", text) as one,
        open_searcher(tmp_path / "two", text | {"other.py": "x = 1\n"}) as two,
    ):
        found = ask({"one": one, "two": two}, "read the config")
    assert sorted(places(found)) == ["one/read.py", "two/read.py"]


@pytest.mark.parametrize("name", ["demo", "tests", "parse", "vendor"])
def test_the_name_of_a_repository_changes_no_score(
    searchers: dict[str, Searcher], name: str
) -> None:
    text = "parse tokens into a tree"
    alone = searchers["parser"].search(text, 10)
    found = ask({name: searchers["parser"]}, text)
    assert [hit.score for _, hit in found.hits] == [hit.score for hit in alone]


def test_a_line_of_a_stack_trace_is_found_in_its_repository(searchers: dict[str, Searcher]) -> None:
    found = ask(searchers, 'File "/home/ann/code/web/src/pages.py", line 2, in render')
    assert places(found)[0] == "web/src/pages.py"


def test_a_term_is_as_rare_as_it_is_in_all(tmp_path: Path) -> None:
    """In its own repository "socket" is common; in both together it is the rarer word."""
    rare = {"a.py": "def socket():\n    pass\n"}
    common = {f"{number}.py": f"def render_{number}():\n    pass\n" for number in range(20)}
    with (
        open_searcher(tmp_path / "small", rare) as small,
        open_searcher(tmp_path / "large", common) as large,
    ):
        found = ask({"large": large, "small": small}, "render to a socket somewhere", 1)
    assert places(found) == ["small/a.py"]


def test_a_repository_whose_index_fails_is_named_and_the_others_answer(
    searchers: dict[str, Searcher],
) -> None:
    store = searchers["parser"].index.store
    assert isinstance(store, IndexStore)
    store.close()
    found = ask(searchers, "render")
    assert {name for name, _ in found.hits} == {"web"}
    errors = {each.repo_name: each.error for each in found.outcomes}
    assert errors["parser"]
    assert not errors["web"]


def test_a_reader_finds_only_what_may_be_read(searchers: dict[str, Searcher]) -> None:
    searchers["web"] = replace(searchers["web"], is_readable=lambda path: "pages" in path)
    assert set(places(ask(searchers, "render"))) == {"web/src/pages.py", "parser/tree.py"}


def test_exact_strings_are_found_in_all(searchers: dict[str, Searcher]) -> None:
    found = ask(searchers, '"def render"')
    assert {name for name, _ in found.hits} == {"web", "parser"}
    assert len(ask(searchers, '"def render"', 1).hits) == 1


@dataclass(frozen=True)
class FixedVectors:
    """Vectors of one text whose cosine is known."""

    cosine: float
    name: str = "model"
    is_contextual: bool = False

    def search(self, query: str, k: int) -> list[tuple[int, float]]:
        return [(0, self.cosine)] if query and k else []

    def is_missing(self, text_hash: int, max_chunk_chars: int) -> bool:
        return text_hash < 0 < max_chunk_chars


def test_cosines_decide_where_words_do_not(tmp_path: Path) -> None:
    text = {"a.py": "def shut(peer):\n    peer.shutdown()\n"}
    with (
        open_searcher(tmp_path / "far", text, [FixedVectors(0.3)]) as far,
        open_searcher(tmp_path / "near", text, [FixedVectors(0.8)]) as near,
    ):
        searchers: dict[str, Searcher] = {"far": far, "near": near}
        found = ask(searchers, "how is the connection closed")
    names: Sequence[str] = [name for name, _ in found.hits]
    assert names == ["near", "far"]


@dataclass(frozen=True)
class ManyVectors(FixedVectors):
    """Vectors of many texts, each a little farther than the one before."""

    asked: list[int] = field(default_factory=list)

    def search(self, query: str, k: int) -> list[tuple[int, float]]:
        self.asked.append(k)
        return [(key, self.cosine - key / 1000) for key in range(1000)][:k] if query else []


def test_who_has_most_of_the_best_is_asked_for_more_than_a_share() -> None:
    parts = [(place, ManyVectors(0.9 if place == 5 else 0.2)) for place in range(8)]
    best = MergedVectors("model", parts).search("question", 400)
    assert [split_number(number) for number, _ in best] == [(5, key) for key in range(400)]
    assert [len(vectors.asked) for _, vectors in parts] == [1, 1, 1, 1, 1, 2, 1, 1]
    every = [cosine for _, vectors in parts for _, cosine in vectors.search("question", 1000)]
    assert [cosine for _, cosine in best] == sorted(every, reverse=True)[:400]

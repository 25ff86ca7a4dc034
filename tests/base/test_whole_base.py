"""All repositories of a base are searched together, and none of them has to be here."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from base.base_world import API, PLAN, BaseWorld
from base.overlay_world import POOL
from codekernel.base.base_reader import open_base
from codekernel.base.whole_base import WholeBase, WholeBaseSearcher
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.index import HitList
from codekernel.domain.settings import Performance
from codekernel.inference.model_pool import Embedder
from codekernel.search.query_syntax import parse_search_expression

pytestmark = pytest.mark.slow  # each builds a base


@pytest.fixture
def embedder() -> Iterator[Embedder]:
    (config,) = PLAN.configs
    assert isinstance(config.model, Path)
    with POOL.acquire_embedder(config.model, Performance()) as acquired:
        yield acquired


def search(world: BaseWorld, query: str, embedder: Embedder | None = None) -> HitList:
    whole = WholeBase(open_base(world.place), embedder, parse_search_expression(query).filters)
    searcher = WholeBaseSearcher(Path(), whole, describe_gap=whole.describe_gap)
    return searcher.run_search(query, 10, CancelToken(), accuracy=False)


def test_hits_name_their_repository_and_have_the_text_of_the_base(world: BaseWorld) -> None:
    world.build()
    hit = search(world, "parse_header").hits[0]
    assert (hit.chunk.path, hit.freshness) == ("api/src/header.py", "fresh")
    assert hit.content == API["src/header.py"]


def test_meaning_counts_where_the_model_is_the_same(world: BaseWorld, embedder: Embedder) -> None:
    world.build()
    assert search(world, "connect a websocket", embedder).hits[0].chunk.path == "web/app.js"


def test_repositories_and_paths_can_be_chosen(world: BaseWorld) -> None:
    world.build()
    assert [hit.chunk.path for hit in search(world, "repo:web function return").hits] == [
        "web/app.js"
    ]
    assert {hit.chunk.path for hit in search(world, "path:header parse return").hits} == {
        "api/src/header.py"
    }
    assert search(world, "path:nowhere parse").hits == []


def test_a_base_that_fails_meanwhile_is_named(world: BaseWorld) -> None:
    world.build()
    opened = open_base(world.place)
    for path in world.store_folder.rglob("*.lance"):
        if path.is_file():
            path.unlink()
    whole = WholeBase(opened, None, parse_search_expression("close").filters)
    searcher = WholeBaseSearcher(Path(), whole, describe_gap=whole.describe_gap)
    found = searcher.run_search("close", 10, CancelToken(), accuracy=False)
    assert found.hits == []
    assert "a file of its table is gone" in found.gap

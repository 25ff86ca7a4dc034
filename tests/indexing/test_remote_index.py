"""An index whose model is remote: asked first, without its endpoint, and with another model."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from codekernel.domain.index import EndpointAsk
from codekernel.domain.settings import (
    EmbeddingConfig,
    LocalModel,
    ModelKind,
    RemoteModel,
    Settings,
)
from codekernel.indexing import remote_indexing
from codekernel.indexing.index_plan import IndexPlan, IndexTimings, build_index_plan
from codekernel.indexing.repository_index import RepositoryIndex
from codekernel.inference.model_folder import STATIC_MODEL, get_bundled_folder
from codekernel.inference.model_pool import ModelPool
from codekernel.remote.identity import PROBE_TEXTS
from codekernel.remote.remote_models import RemoteModels
from codekernel.storage.user_data import UserData
from indexing.harness import IndexHarness
from support.embedding_server import EmbeddingServer, embedding_server

FILES = 12
# No word of it stands in the code: only the model on this machine finds it.
QUESTION, ANSWER = "give money back to a customer", "accounts.py"
REFUND = "def refund(invoice):\n    invoice.amount = -invoice.amount\n    return invoice\n"


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with embedding_server() as serving:
        yield serving


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_indexing, "MIN_RETRY_SECONDS", 0.05)
    monkeypatch.setattr(remote_indexing, "MAX_RETRY_SECONDS", 0.2)


def remote_plan(url: str) -> IndexPlan:
    model = RemoteModel("mine", url, "words", input_price=0.5)
    settings = Settings(
        embedding_configs=(EmbeddingConfig("far", "mine", 900, is_selected=True),),
        local_models=(LocalModel("mine", Path(), ModelKind.EMBEDDING, remote=model),),
        standby_model=get_bundled_folder() / STATIC_MODEL,
    )
    return build_index_plan(settings, is_certain=True)


Open = Callable[[], IndexHarness]


@pytest.fixture
def open_remote(tmp_path: Path, server: EmbeddingServer) -> Iterator[Open]:
    """Opens the index of ``tmp_path/repo`` by the remote model of the server."""
    root, opened = tmp_path / "repo", ExitStack()
    root.mkdir()
    for number in range(FILES):
        text = f"def parse_{number}(line):\n    return line.split({number})\n"
        (root / f"part{number}.py").write_text(text, encoding="utf-8")
    (root / ANSWER).write_text(REFUND, encoding="utf-8")

    def open_it() -> IndexHarness:
        models = RemoteModels(UserData(tmp_path), lambda _: "")
        index = RepositoryIndex(
            root,
            tmp_path / "index",
            ModelPool,
            timings=IndexTimings(embed_start_delay=0.0, embed_retry=0.1, compact_delay=0.05),
            get_remote_models=lambda: models,
        )
        harness = IndexHarness(root, tmp_path / "index", index)
        opened.callback(harness.close)
        index.subscribe(harness.record_progress, harness.crashes.append)
        index.start(remote_plan(server.url))
        return harness

    yield open_it
    opened.close()


def wait_for_ask(opened: IndexHarness) -> EndpointAsk:
    opened.wait_until(
        lambda: opened.index.is_idle and bool(opened.index.list_asks()), "asked and idle"
    )
    (ask,) = opened.index.list_asks()
    return ask


def list_sent(server: EmbeddingServer) -> list[str]:
    return [text for text in server.texts if text not in PROBE_TEXTS]


def count_far(opened: IndexHarness) -> tuple[int, int, str]:
    """Vectors of the remote config, chunks without one, and what is in the way."""
    (found,) = [each for each in opened.index.get_status().configs if each.name == "far"]
    return found.chunks, found.waiting, found.trouble


def allow(opened: IndexHarness) -> None:
    assert opened.index.answer_ask("mine", allowed=True)
    opened.wait_until(lambda: count_far(opened)[:2] == (FILES + 1, 0), "all sent")
    opened.wait_until_idle()


def test_nothing_leaves_before_it_is_allowed_and_what_would_is_counted(
    server: EmbeddingServer, open_remote: Open
) -> None:
    opened = open_remote()
    ask = wait_for_ask(opened)
    assert list_sent(server) == []
    sizes = sum(path.stat().st_size for path in opened.root.iterdir())
    assert (ask.model, ask.chunks) == ("mine", FILES + 1)
    assert ask.endpoint == f"127.0.0.1:{server.port}"
    assert sizes <= ask.size_bytes <= 2 * sizes
    assert ask.cost == pytest.approx(ask.tokens * 0.5 / 1e6)
    assert "codekernel models allow mine" in count_far(opened)[2]
    # The model on this machine answers, and no file is left unfinished.
    assert opened.search_paths(QUESTION)[0] == ANSWER
    assert list_sent(server) == []
    assert len(set(opened.list_done())) == FILES + 1
    allow(opened)
    assert len(list_sent(server)) == FILES + 1
    assert opened.index.list_asks() == ()
    assert opened.search_paths("parse_3 line")[0] == "part3.py"


def test_it_is_asked_once(server: EmbeddingServer, open_remote: Open) -> None:
    opened = open_remote()
    wait_for_ask(opened)
    allow(opened)
    opened.close()
    server.requests.clear()
    again = open_remote()
    again.wait_until(lambda: count_far(again)[:2] == (FILES + 1, 0), "open")
    again.write("later.py", "def later():\n    return 'new'\n")
    again.wait_until(lambda: any("later" in text for text in list_sent(server)), "sent")
    assert again.index.list_asks() == ()


def test_what_was_denied_is_never_sent_nor_asked_again(
    server: EmbeddingServer, open_remote: Open
) -> None:
    opened = open_remote()
    wait_for_ask(opened)
    opened.index.answer_ask("mine", allowed=False)
    opened.wait_until(lambda: "as you said" in count_far(opened)[2], "it is said")
    assert opened.search_paths(QUESTION)[0] == ANSWER
    assert opened.index.list_asks() == ()
    assert list_sent(server) == []


def test_the_index_goes_on_by_itself_when_the_endpoint_is_back(
    server: EmbeddingServer, open_remote: Open
) -> None:
    opened = open_remote()
    wait_for_ask(opened)
    server.intercept = lambda _: (401, {"error": {"message": "no"}}, {})
    opened.index.answer_ask("mine", allowed=True)
    opened.wait_until(lambda: "refused the key" in count_far(opened)[2], "it is said")
    assert opened.search_paths(QUESTION)[0] == ANSWER
    server.intercept = lambda _: None
    opened.wait_until(lambda: count_far(opened) == (FILES + 1, 0, ""), "all sent")


def test_queries_are_answered_here_while_the_endpoint_is_away(
    server: EmbeddingServer, open_remote: Open
) -> None:
    opened = open_remote()
    wait_for_ask(opened)
    allow(opened)
    (searched,) = opened.index.vector_indexes
    assert searched.config.name == "far", "the model here stands by"
    server.intercept = lambda _: (500, {}, {})
    assert opened.search_paths(QUESTION)[0] == ANSWER


def test_another_model_under_the_same_name_is_asked_for_again_and_never_mixed(
    server: EmbeddingServer, open_remote: Open
) -> None:
    opened = open_remote()
    wait_for_ask(opened)
    allow(opened)
    (before,) = [each.name for each in opened.index.vector_indexes]
    sent = len(list_sent(server))
    server.dimensions = 24
    opened.write("later.py", "def later():\n    return 'new'\n")
    ask = wait_for_ask(opened)
    assert ask.chunks == FILES + 2
    assert len(list_sent(server)) <= sent + 1, "one batch met the other model"
    assert opened.search_paths(QUESTION)[0] == ANSWER
    opened.index.answer_ask("mine", allowed=True)
    opened.wait_until(lambda: count_far(opened)[:2] == (FILES + 2, 0), "all sent")
    opened.wait_until(lambda: len(opened.index.vector_indexes) == 1, "complete")
    assert opened.index.vector_indexes[0].name != before


def test_an_endpoint_that_was_never_reached_is_tried_again(
    server: EmbeddingServer, open_remote: Open
) -> None:
    server.intercept = lambda _: (503, {}, {})
    opened = open_remote()
    opened.wait_until(lambda: "trouble of its own" in count_far(opened)[2], "it is said")
    opened.wait_until(lambda: bool(opened.search_paths(QUESTION)), "it answers")
    assert opened.search_paths(QUESTION)[0] == ANSWER
    server.intercept = lambda _: None
    wait_for_ask(opened)

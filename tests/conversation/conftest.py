"""Conversations about a small repository with a real index, over a model that follows a script."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Never

import pytest
from support.conversation_world import ScriptedModel, World

from kernel.cli.search_index import FolderIndex
from kernel.conversation.conversations import Conversations
from kernel.conversation.models import ChatModels, Openers
from kernel.conversation.place import Place
from kernel.domain.cancel import CancelToken
from kernel.domain.hit import Hit
from kernel.domain.settings import GenerationModel, Settings
from kernel.errors import ApiKeyNotFound
from kernel.indexing.plan import IndexPlan
from kernel.search.searcher import Searcher
from kernel.storage.conversations import ConversationFiles
from kernel.storage.repo_registry import RepoRegistry
from kernel.storage.usage import UsageLedger
from kernel.storage.user_data import UserData
from kernel.storage.vault import Vault

PATIENCE_SECONDS = 20
MODEL = GenerationModel("model", "scripted-1", "http://127.0.0.1/v1", needs_key=False)


@pytest.fixture
def root(repo: Path) -> Path:
    (repo / "session.py").write_text(
        "class Session:\n    def close(self) -> None:\n        self.closed = True\n",
        encoding="utf-8",
    )
    (repo / "routing.py").write_text(
        "def add_route(path):\n    routes[path] = 1\n", encoding="utf-8"
    )
    return repo


@pytest.fixture
def world(root: Path, user_data: Path, tmp_path: Path) -> Iterator[World]:
    place = UserData(user_data)
    vault = Vault(place, {"CODEKERNEL_VAULT_KEY": "a" * 64}, may_set_aside=lambda: False)
    repo = RepoRegistry(vault).add(root.name, root)
    settings = [Settings(generation_models=(MODEL,), history_length=1000)]
    model = ScriptedModel([])
    index = FolderIndex(root, tmp_path / "index", IndexPlan(), None)
    with closing(index), closing(vault):
        index.start()
        assert index.words_done(PATIENCE_SECONDS)
        searcher = Searcher(root, index.searchable())

        def search(query: str, limit: int, _: CancelToken) -> list[Hit]:
            return searcher.search(query, limit)

        ledger, files = UsageLedger(vault), ConversationFiles(place.conversations)
        models = ChatModels(lambda: settings[-1], _no_key, Openers(lambda *_: model, _nobody))
        yield World(
            Conversations(files, ledger, models, lambda: settings[-1], model.count_tokens),
            model,
            Place(root, search, index.store.catalogue, repo.id),
            files,
            ledger,
            settings,
        )


def _no_key(name: str) -> Never:
    raise ApiKeyNotFound(name)


def _nobody(*_: object) -> Never:
    raise AssertionError("no local model is asked here")

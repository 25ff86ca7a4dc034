"""Conversations about a small repository with a real index, over a model that follows a script."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Never

import pytest
from codekernel.conversation.conversations import Conversations
from codekernel.conversation.repository_access import RepositoryAccess
from codekernel.conversation.turn_store import TurnStore
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.index import Hit
from codekernel.domain.settings import GenerationModel, Settings
from codekernel.errors import ApiKeyNotFound
from codekernel.llm.model_pool import ChatModelPool
from codekernel.search.pipeline import Searcher
from codekernel.storage.conversation_files import ConversationFiles
from codekernel.storage.user_data import UserData
from codekernel.storage.vault.vault import RepoRegistry, UsageLedger, Vault
from support.conversation_world import ScriptedModel, World
from support.lexical_index import open_lexical_index

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
    vault = Vault(place, {"CODEKERNEL_VAULT_KEY": "a" * 64}, may_quarantine=lambda: False)
    repo = RepoRegistry(vault).add(root.name, root)
    settings = [Settings(generation_models=(MODEL,), history_length=1000)]
    model = ScriptedModel([])
    with open_lexical_index(root, tmp_path / "index") as index, closing(vault):
        searcher = Searcher(root, index)

        def search(query: str, limit: int, _: CancelToken) -> list[Hit]:
            return searcher.search(query, limit)

        ledger, files = UsageLedger(vault), ConversationFiles(place.conversations_folder)
        models = ChatModelPool(lambda: settings[-1], _no_key, lambda _: model)
        access = RepositoryAccess(root, search, lambda: index.store.catalog, repo.id)
        with closing(Conversations(TurnStore(files, ledger, model.count_tokens), models)) as made:
            yield World(made, model, access, files, ledger, settings)


def _no_key(name: str) -> Never:
    raise ApiKeyNotFound(name)

"""Open the chat models, conversations and usage ledger of one userData folder.

Count tokens for models that do not report them.
"""

import os
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

from codekernel.conversation.conversations import Conversations
from codekernel.domain.chat import ChatBackend
from codekernel.domain.index import Repo
from codekernel.domain.settings import GenerationModel, Performance, Settings
from codekernel.errors import ApiKeyNotFound, NetworkError
from codekernel.llm.model_pool import BackendOpeners, ChatModelPool, ModelChoice
from codekernel.settings.local_models import TRANSFORMER_MODEL, get_bundled_folder
from codekernel.storage.conversation_files import ConversationFiles
from codekernel.storage.user_data import UserData
from codekernel.storage.vault.tables import ApiKeys, RepoRegistry, UsageLedger
from codekernel.storage.vault.vault import CommandVault


def count_tokens(text: str) -> int:
    """Count tokens for models that do not report them, with the bundled model's tokenizer."""
    return _load_token_counter()(text)


@cache
def _load_token_counter() -> Callable[[str], int]:
    from codekernel.inference.tokenizer import ModelTokenCounter  # noqa: PLC0415 - heavy, seldom needed

    return ModelTokenCounter(get_bundled_folder() / TRANSFORMER_MODEL)


def _open_remote(model: GenerationModel, api_key: str) -> ChatBackend:
    from codekernel.llm.backends import open_remote_backend  # noqa: PLC0415 - heavy, seldom needed

    return open_remote_backend(model, api_key, count_tokens)


def _open_local(name: str, path: Path, performance: Performance) -> ChatBackend:
    from codekernel.llm.backends import open_local_backend  # noqa: PLC0415 - heavy, seldom needed

    return open_local_backend(path, performance, name=name)


DEFAULT_OPENERS = BackendOpeners(_open_remote, _open_local)


class ChatServices:
    """Models and conversations for one question; a missing vault is not created for it."""

    def __init__(self, user_data: UserData, settings: Settings) -> None:
        self.has_vault = user_data.database_file.exists()
        self.vault = CommandVault(user_data, os.environ)
        self._keys = ApiKeys(self.vault)
        self.models = ChatModelPool(lambda: settings, self._get_key, DEFAULT_OPENERS)
        self.conversations = Conversations(
            ConversationFiles(user_data.conversations_folder),
            UsageLedger(self.vault),
            self.models,
            lambda: settings,
            count_tokens,
        )

    def check_model(self, model: str) -> ModelChoice:
        """Return the model by its name in the settings. Raises NetworkError if it has no key."""
        try:
            return self.models.find_model(model)
        except NetworkError as error:
            if isinstance(error.__cause__, ApiKeyNotFound):
                raise NetworkError(
                    f'there is no API key for the chat model "{model}".'
                    f" Store it with: codekernel key set {model}"
                ) from error
            raise

    def find_repository(self, root: Path) -> Repo | None:
        """Return the repository registered for a folder. Raises StorageError."""
        if not self.has_vault:
            return None
        return next(
            (repo for repo in RepoRegistry(self.vault).list_all() if repo.path == root), None
        )

    def recover_interrupted_turns(self) -> None:
        """Save interrupted turns; without a vault each conversation does so when continued.

        Raises StorageError.
        """
        if self.has_vault:
            self.conversations.recover()

    def find_latest_conversation(self, root: Path) -> int | None:
        """Return the conversation about a folder that was written last."""
        return self.conversations.find_latest(str(root))

    def make_conversation_id(self) -> int:
        """Return an unused number."""
        return time.time_ns() // 1_000_000

    def close(self) -> None:
        """Close models, connections and the vault."""
        self.conversations.close()
        self.vault.close()

    def _get_key(self, name: str) -> str:
        if not self.has_vault:
            raise ApiKeyNotFound(f"there is no API key for {name!r}")
        return self._keys.get(name)

"""The chat models, conversations and usage ledger of one userData folder, for one command."""

import os
import time
from pathlib import Path

from codekernel.conversation.conversations import open_conversations
from codekernel.domain.index import Repo
from codekernel.domain.settings import Settings
from codekernel.errors import ApiKeyNotFound, NetworkError
from codekernel.llm.model_pool import ChatModelPool, ModelChoice
from codekernel.storage.user_data import UserData
from codekernel.storage.vault.vault import ApiKeys, CommandVault, RepoRegistry


class ChatServices:
    """Models and conversations for one question; a missing vault is not created for it."""

    def __init__(self, user_data: UserData, settings: Settings) -> None:
        self.has_vault = user_data.database_file.exists()
        self.vault = CommandVault(user_data, os.environ)
        self._keys = ApiKeys(self.vault)
        self.conversations = open_conversations(
            user_data, self.vault, lambda: settings, self._get_key
        )
        self.models = self.conversations.models

    def check_model(self, model: str) -> ModelChoice:
        """Return the model by its name in the settings. Raises NetworkError if it has no key."""
        return find_usable_model(self.models, model)

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


def find_usable_model(models: ChatModelPool, name: str) -> ModelChoice:
    """Return a model by its name in the settings. Raises NetworkError, which says what to do."""
    try:
        return models.find_model(name)
    except NetworkError as error:
        if isinstance(error.__cause__, ApiKeyNotFound):
            raise NetworkError(
                f'there is no API key for the chat model "{name}".'
                f" Store it with: codekernel key set {name}"
            ) from error
        raise

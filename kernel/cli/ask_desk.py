"""What a question needs of userData: models and their keys, conversations, what they cost."""

import os
import time
from pathlib import Path

from kernel.chat_models import OPENERS, count_tokens
from kernel.conversation.conversations import Conversations
from kernel.conversation.models import ChatModels
from kernel.domain.repo import Repo
from kernel.domain.settings import Settings
from kernel.errors import ApiKeyNotFound, NetworkError
from kernel.storage.api_keys import ApiKeys
from kernel.storage.command_vault import CommandVault
from kernel.storage.conversations import ConversationFiles
from kernel.storage.repo_registry import RepoRegistry
from kernel.storage.usage import UsageLedger
from kernel.storage.user_data import UserData


class Desk:
    """Opened for one question; a vault that is not there is not made for it."""

    def __init__(self, user_data: UserData, settings: Settings) -> None:
        self._has_vault = user_data.database_file.exists()
        self._vault = CommandVault(user_data, os.environ)
        self._keys = ApiKeys(self._vault)
        self._models = ChatModels(lambda: settings, self._key_of, OPENERS)
        self.conversations = Conversations(
            ConversationFiles(user_data.conversations),
            UsageLedger(self._vault),
            self._models,
            lambda: settings,
            count_tokens,
        )

    def check(self, model: str) -> str:
        """The endpoint's name of a model that can be asked. Raises NetworkError if it cannot."""
        try:
            return self._models.find(model).model_name
        except NetworkError as error:
            if isinstance(error.__cause__, ApiKeyNotFound):
                raise NetworkError(
                    f'there is no API key for the chat model "{model}".'
                    f" Store it with: codekernel key set {model}"
                ) from error
            raise

    def repository(self, root: Path) -> Repo | None:
        """The repository registered for a folder. Raises StorageError."""
        if not self._has_vault:
            return None
        return next((repo for repo in RepoRegistry(self._vault).all() if repo.path == root), None)

    def recover(self) -> None:
        """Settle what was cut off earlier; without a vault, a conversation does so as it goes on.

        Raises StorageError.
        """
        if self._has_vault:
            self.conversations.recover()

    def latest_conversation(self, root: Path) -> int | None:
        """The conversation about a folder that was written last."""
        return self.conversations.latest_of(str(root))

    def new_conversation(self) -> int:
        """A number that no conversation has."""
        return time.time_ns() // 1_000_000

    def close(self) -> None:
        """Give back models, connections and the vault."""
        self.conversations.close()
        self._vault.close()

    def _key_of(self, name: str) -> str:
        if not self._has_vault:
            raise ApiKeyNotFound(f"there is no API key for {name!r}")
        return self._keys.get(name)

"""The chat model that an agent talks to, opened from the settings and the vault."""

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from kernel.chat_models import OPENERS
from kernel.cli.agent_usage import AgentUsage
from kernel.cli.ask_models import chosen_model
from kernel.conversation.metered import Metered
from kernel.conversation.models import ChatModels
from kernel.domain.chat import ChatBackend
from kernel.domain.settings import Settings
from kernel.errors import ApiKeyNotFound, NetworkError
from kernel.storage.api_keys import ApiKeys
from kernel.storage.command_vault import CommandVault
from kernel.storage.user_data import UserData


@contextmanager
def lent_model(
    user_data: UserData, settings: Settings, named: str | None, root: Path
) -> Iterator[tuple[ChatBackend, int | None]]:
    """The model and its window, if the settings say it, for as long as the block lasts.

    What it costs is entered for the repository at ``root``. Raises NetworkError with what to do.
    """
    name = chosen_model(settings, named, user_data.settings_file)
    # A vault that is not there is not made for a key that cannot be in it.
    has_vault = user_data.database_file.exists()
    with closing(CommandVault(user_data, os.environ)) as vault:
        keys = ApiKeys(vault)

        def key_of(model: str) -> str:
            if not has_vault:
                raise ApiKeyNotFound(f"there is no API key for {model!r}")
            return keys.get(model)

        with closing(ChatModels(lambda: settings, key_of, OPENERS)) as models:
            try:
                choice = models.find(name)
            except NetworkError as error:
                if isinstance(error.__cause__, ApiKeyNotFound):
                    raise NetworkError(
                        f'there is no API key for the chat model "{name}".'
                        f" Store it with: codekernel key set {name}"
                    ) from error
                raise
            with models.lend(choice) as backend:
                if not has_vault:  # and so no repository
                    yield backend, choice.context_tokens
                    return
                with closing(AgentUsage(vault, root, backend.model_name)) as usage:
                    yield Metered(backend, usage.tell), choice.context_tokens

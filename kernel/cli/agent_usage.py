"""What an agent in a terminal costs, entered in the ledger of the repository it works in.

Request by request, so that a kill takes the last one at most; on a thread, for the agent waits for
no disk.
"""

import logging
import os
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

from kernel.domain.turn import Spent
from kernel.domain.turn_events import Counted, Received, Sent
from kernel.errors import KernelError
from kernel.storage.repo_registry import RepoRegistry
from kernel.storage.usage import UsageLedger
from kernel.storage.vault import Vault

logger = logging.getLogger(__name__)


class AgentUsage:
    """``tell`` is what a metered model takes; of an unregistered folder nothing is kept."""

    def __init__(self, vault: Vault, folder: Path, model_name: str) -> None:
        self._vault = vault
        self._folder = folder
        self._model_name = model_name
        self._repo_id: int | None = None
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="usage")
        self._pool.submit(self._find)

    def tell(self, event: Sent | Received | Counted) -> None:
        """Note what a request has cost."""
        if isinstance(event, Counted) and event.spent != Spent():
            self._pool.submit(self._record, event.spent)

    def close(self) -> None:
        """Wait until everything is entered."""
        self._pool.shutdown(wait=True)

    def _find(self) -> None:
        try:
            repos = RepoRegistry(self._vault).all()
        except KernelError as error:
            logger.warning("what the agent costs is not entered. %s", error)
            return
        for repo in repos:
            if os.path.realpath(repo.path) == os.fspath(self._folder):
                self._repo_id = repo.id

    def _record(self, spent: Spent) -> None:
        if self._repo_id is None:
            return
        today = datetime.now(UTC).astimezone().date()
        try:
            UsageLedger(self._vault).record(
                self._repo_id, self._model_name, today, spent.input_tokens, spent.output_tokens
            )
        except KernelError as error:
            logger.warning("what the agent cost is not entered. %s", error)

"""Begin a conversation turn for an MCP client; the settings are read again for each question."""

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from codekernel.adapters.indexed_repository import IndexedRepository
from codekernel.cli.model_selection import (
    choose_model,
    load_settings_and_plan,
    open_selected_reranker,
)
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.index import Hit
from codekernel.storage.user_data import UserData

if TYPE_CHECKING:
    from codekernel.conversation.turn import RunningQuestionTurn


@dataclass(frozen=True, slots=True)
class McpConversations:
    """Begins turns about one repository; they are kept like any other conversation."""

    root: Path
    repository: IndexedRepository
    user_data: UserData

    @contextmanager
    def begin_turn(
        self, question: str, model: str | None, cancel: CancelToken
    ) -> Iterator["RunningQuestionTurn"]:
        """A turn of a new conversation. Raises KernelError, with what to do about it."""
        from codekernel.conversation.chat_services import ChatServices  # noqa: PLC0415 - an agent may never ask
        from codekernel.conversation.retriever import RepositoryAccess  # noqa: PLC0415

        settings, _ = load_settings_and_plan(self.user_data.settings_file)
        name = choose_model(settings, model, self.user_data.settings_file)
        with ExitStack() as held:
            desk = held.enter_context(closing(ChatServices(self.user_data, settings)))
            desk.check_model(name)
            selected = any(config.is_selected for config in settings.rerank_configs)
            judge = held.enter_context(
                open_selected_reranker(settings) if selected else nullcontext()
            )

            def search(query: str, limit: int, until: CancelToken) -> list[Hit]:
                self.repository.wait_for_lexical_index(until)
                return self.repository.search(query, limit, until, judge)

            repo = desk.find_repository(self.root)
            catalogue = self.repository.index.store.catalog
            place = RepositoryAccess(self.root, search, catalogue, repo.id if repo else None)
            number = desk.make_conversation_id()
            yield desk.conversations.begin(number, question, name, place, cancel)

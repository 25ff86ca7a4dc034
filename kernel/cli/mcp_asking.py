"""How an agent's question becomes a turn of a conversation: the settings are read for each."""

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kernel.cli.ask_models import chosen_model
from kernel.cli.search_models import selected_judge, settings_and_plan
from kernel.domain.cancel import CancelToken
from kernel.domain.hit import Hit
from kernel.doors.mcp.repository import Repository
from kernel.storage.user_data import UserData

if TYPE_CHECKING:
    from kernel.conversation.talk import Talk


@dataclass(frozen=True, slots=True)
class Asking:
    """Begins turns about one repository; they are kept like any other conversation."""

    root: Path
    repository: Repository
    user_data: UserData

    @contextmanager
    def begin(self, question: str, model: str | None, cancel: CancelToken) -> Iterator["Talk"]:
        """A turn of a new conversation. Raises KernelError, with what to do about it."""
        from kernel.cli.ask_desk import Desk  # noqa: PLC0415 - an agent may never ask
        from kernel.conversation.place import Place  # noqa: PLC0415

        settings, _ = settings_and_plan(self.user_data.settings_file)
        name = chosen_model(settings, model, self.user_data.settings_file)
        with ExitStack() as held:
            desk = held.enter_context(closing(Desk(self.user_data, settings)))
            desk.check(name)
            selected = any(config.selected for config in settings.rerank_configs)
            judge = held.enter_context(selected_judge(settings) if selected else nullcontext())

            def search(query: str, limit: int, until: CancelToken) -> list[Hit]:
                self.repository.wait_for_words(until)
                return self.repository.found(query, limit, until, judge)

            repo = desk.repository(self.root)
            catalogue = self.repository.index.store.catalogue
            place = Place(self.root, search, catalogue, repo.id if repo else None)
            number = desk.new_conversation()
            yield desk.conversations.begin(number, question, name, place, cancel)

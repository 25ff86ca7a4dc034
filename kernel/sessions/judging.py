"""The selected reranker, loaded when it is first asked and kept for as long as it is selected."""

import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from kernel.domain.cancel import CancelToken
from kernel.domain.settings import Performance, Settings
from kernel.errors import InvalidModel
from kernel.settings.live import LiveSettings

if TYPE_CHECKING:  # costs a third of a second
    from kernel.inference.reranker import Reranker
    from kernel.inference.shelf import Shelf

logger = logging.getLogger(__name__)

_Choice = tuple[Path, Performance]


class SelectedReranker:
    """Answers with nothing while no reranker is selected, or the selected one cannot be used."""

    def __init__(self, settings: LiveSettings, shelf: "Callable[[], Shelf]") -> None:
        self._settings = settings
        self._shelf = shelf
        self._cancel = CancelToken()
        self._held = ExitStack()
        self._loaded: tuple[_Choice, Reranker | None] | None = None
        self._loading = threading.Lock()

    def __call__(self, query: str, texts: Sequence[str]) -> list[float]:
        """How well each text answers, 0..1."""
        choice = _choice(self._settings.current)
        if choice is None:
            return []
        with self._loading:
            reranker = self._load(choice)
        return reranker.score(query, texts, self._cancel) if reranker else []

    def close(self) -> None:
        """Let the model go."""
        self._cancel.cancel()
        with self._loading:
            self._held.close()
            self._loaded = None

    def _load(self, choice: _Choice) -> "Reranker | None":
        if self._loaded and self._loaded[0] == choice:
            return self._loaded[1]
        self._held.close()
        reranker: Reranker | None = None
        try:
            reranker = self._held.enter_context(self._shelf().reranker(*choice))
        except InvalidModel as error:
            logger.warning("the selected reranker is not used: %s", error)
        self._loaded = (choice, reranker)
        return reranker


def _choice(settings: Settings) -> _Choice | None:
    paths = {model.name: model.path for model in settings.local_models}
    for config in settings.rerank_configs:
        if config.selected and config.model_name in paths:
            return paths[config.model_name], settings.performance
    return None

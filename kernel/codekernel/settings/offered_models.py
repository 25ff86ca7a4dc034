"""Chat models that programs offer beside those of the settings: in memory, never on the disk.

A terminal offers the model that its environment names.
"""

import threading
from collections.abc import Callable
from dataclasses import replace

from codekernel.domain.settings import GenerationModel, Settings

# A program offers one; more than this are mistakes, of which the oldest are forgotten.
MAX_OFFERED_MODELS = 32


class OfferedModels:
    """The models by name, with their keys; any thread may use it. Never shown: it has keys."""

    def __init__(self) -> None:
        self._models: dict[str, tuple[GenerationModel, str]] = {}
        self._lock = threading.Lock()

    def add(self, model: GenerationModel, api_key: str) -> None:
        """Add a model; another one of its name is replaced."""
        with self._lock:
            self._models.pop(model.name, None)
            self._models[model.name] = (model, api_key)
            for name in list(self._models)[:-MAX_OFFERED_MODELS]:
                del self._models[name]

    def extend(self, settings: Settings) -> Settings:
        """Return the settings with these models behind their own; theirs win by name."""
        with self._lock:
            offered = [model for model, _ in self._models.values()]
        if not offered:
            return settings
        names = {model.name for model in settings.generation_models}
        added = tuple(model for model in offered if model.name not in names)
        return replace(settings, generation_models=settings.generation_models + added)

    def make_key_finder(
        self, settings: Callable[[], Settings], find_stored: Callable[[str], str]
    ) -> Callable[[str], str]:
        """Return what finds the key of a model, whether it is stored or offered."""

        def find_key(name: str) -> str:
            is_own = any(model.name == name for model in settings().generation_models)
            with self._lock:
                offered = self._models.get(name)
            return offered[1] if offered and not is_own else find_stored(name)

        return find_key

"""Find chat models by the name in the settings, and pool the open ones.

A model whose settings or key changed is opened again; the old one is closed when its refcount falls
to zero. Imports neither httpx nor a provider.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from codekernel.domain.chat import ChatBackend
from codekernel.domain.concurrency import RefCounted
from codekernel.domain.settings import GenerationModel, LocalModel, ModelKind, Performance, Settings
from codekernel.errors import ApiKeyNotFound, NetworkError, WrongParam

_MAX_NAMES_SHOWN = 10


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A model to open; equal choices are the same model. Never shown: it has the key."""

    name: str
    model_name: str
    context_tokens: int | None
    remote: tuple[GenerationModel, str] | None = None
    local: tuple[Path, Performance] | None = None

    def __repr__(self) -> str:
        return f"ModelChoice({self.name!r})"


class ChatModelPool:
    """The models of the settings in force.

    ``open_backend`` is passed in, because the modules that open a model import slowly.
    """

    def __init__(
        self,
        settings: Callable[[], Settings],
        find_key: Callable[[str], str],
        open_backend: Callable[[ModelChoice], ChatBackend],
    ) -> None:
        self.settings = settings
        self._find_key = find_key
        self._open_backend = open_backend
        self._open = RefCounted[ModelChoice, ChatBackend](close=lambda backend: backend.close())
        # By name, the models that stay open while nobody uses them.
        self._kept: dict[str, tuple[ModelChoice, ExitStack]] = {}
        self._lock = threading.Lock()

    def find_model(self, name: str) -> ModelChoice:
        """Return the model with this name in the settings or at its endpoint.

        Raises NetworkError.
        """
        return check_model(self.settings(), name, self._find_key)

    @contextmanager
    def acquire(self, choice: ModelChoice) -> Iterator[ChatBackend]:
        """Yield the open model; the first time it is opened, which may take a while."""
        with self._acquire(choice) as backend:
            with self._lock:
                kept, outdated = self._kept.get(choice.name, (None, ExitStack()))
                if kept != choice:
                    reference = ExitStack()
                    reference.enter_context(self._acquire(choice))
                    self._kept[choice.name] = (choice, reference)
            if kept != choice:
                outdated.close()
            yield backend

    def close(self) -> None:
        """Close what is not in use; the rest is closed by its last user."""
        with self._lock:
            kept, self._kept = self._kept, {}
        for _, reference in kept.values():
            reference.close()

    def _acquire(self, choice: ModelChoice) -> AbstractContextManager[ChatBackend]:
        return self._open.acquire(choice, lambda: self._open_model(choice))

    def _open_model(self, choice: ModelChoice) -> ChatBackend:
        try:
            return self._open_backend(choice)
        except WrongParam as error:  # an address that cannot be one
            raise NetworkError(str(error)) from error


def check_model(settings: Settings, name: str, find_key: Callable[[str], str]) -> ModelChoice:
    """Return the model with this name in the settings or at its endpoint. Raises NetworkError."""
    models = settings.generation_models
    found = [model for model in models if model.name == name]
    found += [model for model in models if model.model_name == name]
    if found:
        return _choose_remote(found[0], find_key)
    for local in _list_local_models(settings):
        if local.name == name:
            return ModelChoice(name, name, None, local=(local.path, settings.performance))
    raise NetworkError(_format_unknown_model(name, settings))


def _choose_remote(model: GenerationModel, find_key: Callable[[str], str]) -> ModelChoice:
    if not model.url:
        raise NetworkError(
            f'The chat model "{model.name}" has no url: enter its address in the settings.'
        )
    try:
        key = find_key(model.name)
    except ApiKeyNotFound as error:
        if model.needs_key:
            raise NetworkError(
                f'There is no API key for the chat model "{model.name}": enter it in the settings,'
                f" or say: codekernel key set {model.name}"
            ) from error
        key = ""
    return ModelChoice(model.name, model.model_name, model.context_tokens, remote=(model, key))


def _format_unknown_model(name: str, settings: Settings) -> str:
    names = [model.name for model in settings.generation_models]
    names += [model.name for model in _list_local_models(settings)]
    known = ", ".join(f'"{each}"' for each in names[:_MAX_NAMES_SHOWN]) or "none yet"
    return (
        f'Model not found: no chat model is called "{name[:80]}". The settings have: {known}.'
        " Choose one of these, or add it to the settings."
    )


def _list_local_models(settings: Settings) -> list[LocalModel]:
    return [model for model in settings.local_models if model.kind is ModelKind.GENERATION]

"""Find chat models by the name in the settings, and pool the open ones.

A model whose settings or key changed is opened again; the old one is closed when its refcount falls
to zero. Imports neither httpx nor a provider.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from codekernel.domain.chat import ChatBackend
from codekernel.domain.settings import GenerationModel, LocalModel, ModelKind, Performance, Settings
from codekernel.errors import ApiKeyNotFound, NetworkError, WrongParam

_MAX_NAMES_SHOWN = 10


@dataclass(frozen=True, slots=True)
class BackendOpeners:
    """How models are opened; passed in, because the modules that open them import slowly."""

    open_remote: Callable[[GenerationModel, str], ChatBackend]
    open_local: Callable[[str, Path, Performance], ChatBackend]


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


class _PooledBackend:
    """An open model and its reference count."""

    def __init__(self, choice: ModelChoice) -> None:
        self.choice = choice
        self.open_lock = threading.Lock()
        self.backend: ChatBackend | None = None
        self.refcount = 0


class ChatModelPool:
    """The models of the settings in force."""

    def __init__(
        self,
        settings: Callable[[], Settings],
        find_key: Callable[[str], str],
        openers: BackendOpeners,
    ) -> None:
        self._settings = settings
        self._find_key = find_key
        self._openers = openers
        self._pool: dict[str, _PooledBackend] = {}
        self._lock = threading.Lock()

    def find_model(self, name: str) -> ModelChoice:
        """Return the model with this name in the settings or at its endpoint.

        Raises NetworkError.
        """
        settings = self._settings()
        models = settings.generation_models
        found = [model for model in models if model.name == name]
        found += [model for model in models if model.model_name == name]
        if found:
            return self._choose_remote(found[0])
        for local in _list_local_models(settings):
            if local.name == name:
                return ModelChoice(name, name, None, local=(local.path, settings.performance))
        raise NetworkError(_format_unknown_model(name, settings))

    @contextmanager
    def acquire(self, choice: ModelChoice) -> Iterator[ChatBackend]:
        """Yield the open model; the first time it is opened, which may take a while."""
        entry = self._acquire_entry(choice)
        try:
            with entry.open_lock:
                if entry.backend is None:
                    entry.backend = self._open(choice)
            yield entry.backend
        finally:
            self._release_entry(entry)

    def close(self) -> None:
        """Close what is not in use; the rest is closed by its last user."""
        with self._lock:
            idle = [entry for entry in self._pool.values() if not entry.refcount]
            self._pool.clear()
        _close_backends(*idle)

    def _choose_remote(self, model: GenerationModel) -> ModelChoice:
        if not model.url:
            raise NetworkError(
                f'The chat model "{model.name}" has no url: enter its address in the settings.'
            )
        try:
            key = self._find_key(model.name)
        except ApiKeyNotFound as error:
            if model.needs_key:
                raise NetworkError(
                    f'The chat model "{model.name}" needs an API key. {error}'
                ) from error
            key = ""
        return ModelChoice(model.name, model.model_name, model.context_tokens, remote=(model, key))

    def _open(self, choice: ModelChoice) -> ChatBackend:
        if choice.remote:
            try:
                return self._openers.open_remote(*choice.remote)
            except WrongParam as error:  # an address that cannot be one
                raise NetworkError(str(error)) from error
        if choice.local:
            return self._openers.open_local(choice.name, *choice.local)
        raise AssertionError("a model is remote or local")

    def _acquire_entry(self, choice: ModelChoice) -> _PooledBackend:
        outdated: list[_PooledBackend] = []
        with self._lock:
            entry = self._pool.get(choice.name)
            if entry is None or entry.choice != choice:
                if entry and not entry.refcount:
                    outdated.append(entry)
                entry = self._pool[choice.name] = _PooledBackend(choice)
            entry.refcount += 1
        _close_backends(*outdated)
        return entry

    def _release_entry(self, entry: _PooledBackend) -> None:
        with self._lock:
            entry.refcount -= 1
            outdated = not entry.refcount and self._pool.get(entry.choice.name) is not entry
        if outdated:
            _close_backends(entry)


def _close_backends(*entries: _PooledBackend) -> None:
    for entry in entries:
        if entry.backend is not None:
            entry.backend.close()


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

"""Which chat models can be asked, by the user's name for them; each is opened once and kept.

Kept, because connections stay warm and what an endpoint has refused once need not be tried again.
A model whose settings or key have changed is opened anew; the old one is closed after its last use.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kernel.domain.chat import ChatBackend
from kernel.domain.settings import GenerationModel, LocalModel, ModelKind, Performance, Settings
from kernel.errors import ApiKeyNotFound, NetworkError, WrongParam

_NAMES_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Openers:
    """How models are opened; given by whoever wires the house, for these rooms are heavy."""

    remote: Callable[[GenerationModel, str], ChatBackend]
    local: Callable[[str, Path, Performance], ChatBackend]


@dataclass(frozen=True, slots=True)
class Choice:
    """A model that can be asked; equal choices are the same model. Never shown: it has the key."""

    name: str
    model_name: str
    context_tokens: int | None
    remote: tuple[GenerationModel, str] | None = None
    local: tuple[Path, Performance] | None = None

    def __repr__(self) -> str:
        return f"Choice({self.name!r})"


class _Kept:
    """An open model and how many use it."""

    def __init__(self, choice: Choice) -> None:
        self.choice = choice
        self.opening = threading.Lock()
        self.backend: ChatBackend | None = None
        self.users = 0


class ChatModels:
    """The models of the settings in force."""

    def __init__(
        self, settings: Callable[[], Settings], key_of: Callable[[str], str], openers: Openers
    ) -> None:
        self._settings = settings
        self._key_of = key_of
        self._openers = openers
        self._kept: dict[str, _Kept] = {}
        self._lock = threading.Lock()

    def find(self, name: str) -> Choice:
        """The model called so in the settings, or else by its endpoint. Raises NetworkError."""
        settings = self._settings()
        for models in (
            [model for model in settings.generation_models if model.name == name],
            [model for model in settings.generation_models if model.model_name == name],
        ):
            if models:
                return self._remote(models[0])
        for local in settings.local_models:
            if local.name == name and local.kind is ModelKind.GENERATION:
                return Choice(name, name, None, local=(local.path, settings.performance))
        raise NetworkError(_unknown(name, settings))

    @contextmanager
    def lend(self, choice: Choice) -> Iterator[ChatBackend]:
        """The open model for as long as the block lasts; the first time may take a while."""
        kept = self._take(choice)
        try:
            with kept.opening:
                if kept.backend is None:
                    kept.backend = self._open(choice)
            yield kept.backend
        finally:
            self._give_back(kept)

    def close(self) -> None:
        """Close what nobody uses; what is in use is closed by its last user."""
        with self._lock:
            idle = [kept for kept in self._kept.values() if not kept.users]
            self._kept.clear()
        _close(*idle)

    def _remote(self, model: GenerationModel) -> Choice:
        if not model.url:
            raise NetworkError(
                f'The chat model "{model.name}" has no url: enter its address in the settings.'
            )
        try:
            key = self._key_of(model.name)
        except ApiKeyNotFound as error:
            if model.needs_key:
                raise NetworkError(
                    f'The chat model "{model.name}" needs an API key. {error}'
                ) from error
            key = ""
        return Choice(model.name, model.model_name, model.context_tokens, remote=(model, key))

    def _open(self, choice: Choice) -> ChatBackend:
        if choice.remote:
            try:
                return self._openers.remote(*choice.remote)
            except WrongParam as error:  # an address that cannot be one
                raise NetworkError(str(error)) from error
        if choice.local:
            return self._openers.local(choice.name, *choice.local)
        raise AssertionError("a model is remote or local")

    def _take(self, choice: Choice) -> _Kept:
        outdated: list[_Kept] = []
        with self._lock:
            kept = self._kept.get(choice.name)
            if kept is None or kept.choice != choice:
                if kept and not kept.users:
                    outdated.append(kept)
                kept = self._kept[choice.name] = _Kept(choice)
            kept.users += 1
        _close(*outdated)
        return kept

    def _give_back(self, kept: _Kept) -> None:
        with self._lock:
            kept.users -= 1
            outdated = not kept.users and self._kept.get(kept.choice.name) is not kept
        if outdated:
            _close(kept)


def _close(*those: _Kept) -> None:
    for kept in those:
        if kept.backend is not None:
            kept.backend.close()


def _unknown(name: str, settings: Settings) -> str:
    names = [model.name for model in settings.generation_models]
    names += [model.name for model in settings.local_models if _answers(model)]
    known = ", ".join(f'"{each}"' for each in names[:_NAMES_SHOWN]) or "none yet"
    return (
        f'Model not found: no chat model is called "{name[:80]}". The settings have: {known}.'
        " Choose one of these, or add it to the settings."
    )


def _answers(model: LocalModel) -> bool:
    return model.kind is ModelKind.GENERATION

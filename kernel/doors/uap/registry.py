"""Which agents there are, by the type under which each is registered."""

from collections.abc import Callable

from kernel.doors.uap.backend import AgentBackend
from kernel.errors import WrongParam

Factory = Callable[[], AgentBackend]


class BackendRegistry:
    """``register("ollama", lambda: OllamaBackend(...))``, then ``create("ollama")``."""

    def __init__(self) -> None:
        self._factories: dict[str, Factory] = {}

    def register(self, kind: str, factory: Factory) -> None:
        """Make an agent known; a later one of the same type takes its place."""
        if not kind.strip():
            raise WrongParam("An agent needs a type to be registered under.")
        self._factories[kind] = factory

    # The document's name for it.
    register_backend = register

    @property
    def kinds(self) -> list[str]:
        """The types, in the order in which they came."""
        return list(self._factories)

    def create(self, kind: str) -> AgentBackend:
        """A new agent of a type. Raises WrongParam if nobody has registered it."""
        factory = self._factories.get(kind)
        if factory is None:
            known = ", ".join(self.kinds) or "none"
            raise WrongParam(f"No agent of type {kind[:80]!r} is registered; there are: {known}.")
        return factory()

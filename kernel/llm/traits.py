"""What an endpoint has turned out to take and to refuse, for as long as the kernel runs."""

import threading
from dataclasses import dataclass, field


@dataclass(slots=True)
class Traits:
    """Everything is believed of an endpoint until it says otherwise.

    Set from several threads, but each value changes once and only ever in the same direction.
    """

    calls_tools: bool = True
    counts_in_stream: bool = True
    takes_stop_words: bool = True
    answer_limit_name: str = "max_tokens"
    context_tokens: int | None = None


@dataclass(slots=True)
class KnownEndpoints:
    """Remembers by url and model, since a backend may be opened for every conversation anew."""

    _traits: dict[tuple[str, str], Traits] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def traits_of(self, url: str, model_name: str) -> Traits:
        """Find what is known; the value is shared by everybody who asks."""
        with self._lock:
            return self._traits.setdefault((url, model_name), Traits())


KNOWN_ENDPOINTS = KnownEndpoints()

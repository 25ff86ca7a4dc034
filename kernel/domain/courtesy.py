"""Background work lets people pass: it pauses between two steps while somebody asks something."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from kernel.domain.cancel import CancelToken
from kernel.domain.pause import Pause

# The longest pause before one step of background work: a stream of questions slows it, and never
# stops it.
LONGEST_PAUSE_SECONDS = 0.05


class Courtesy:
    """Shared by those who answer questions and those who work in the background."""

    def __init__(self) -> None:
        self._asking = 0
        self._quiet = threading.Event()
        self._quiet.set()
        self._lock = threading.Lock()

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Within the block a person waits."""
        with self._lock:
            self._asking += 1
            self._quiet.clear()
        try:
            yield
        finally:
            with self._lock:
                self._asking -= 1
                if not self._asking:
                    self._quiet.set()

    def let_pass(self) -> None:
        """Wait while a person waits, but not for long; called between two steps."""
        if not self._quiet.is_set():
            self._quiet.wait(LONGEST_PAUSE_SECONDS)


@dataclass(frozen=True, slots=True)
class Pace:
    """What background work looks at between two steps: whether to end, to wait, to stand still."""

    cancel: CancelToken
    courtesy: Courtesy
    pause: Pause = field(default_factory=Pause)

    def between_steps(self, *, in_a_hurry: bool = False) -> None:
        """Stand still in a pause; let pass who asks something, unless somebody waits for us too."""
        if not in_a_hurry:
            self.courtesy.let_pass()
        self.pause.stand(self.cancel)

"""A person's wish that the work on one repository stand still, for as long as they like."""

import threading
from weakref import WeakSet

from kernel.domain.cancel import CancelToken


class Pause:
    """Begun and lifted from any thread; those who work look at it between two steps."""

    def __init__(self) -> None:
        self._on = False
        self._standing = 0
        self._steps: WeakSet[CancelToken] = WeakSet()
        self._changed = threading.Condition()

    @property
    def on(self) -> bool:
        """Whether nothing is to be done now."""
        return self._on

    @property
    def held(self) -> bool:
        """Whether somebody stands still because of it."""
        return self._standing > 0

    def begin(self) -> None:
        """Have everybody stand still at their next step; a step that can be broken off is."""
        with self._changed:
            self._on = True
            steps = tuple(self._steps)
        for step in steps:
            step.cancel()

    def lift(self) -> None:
        """Let everybody go on."""
        with self._changed:
            self._on = False
            self._changed.notify_all()

    def wake(self) -> None:
        """Have those who stand look at their cancel token now."""
        with self._changed:
            self._changed.notify_all()

    def stand(self, cancel: CancelToken) -> None:
        """Stand still until it is lifted, or until cancelled and woken; called between steps."""
        if not self._on:
            return
        with self._changed:
            self._standing += 1
            self._changed.wait_for(lambda: not self._on or cancel.cancelled)
            self._standing -= 1

    def breakable(self, cancel: CancelToken) -> CancelToken:
        """The token for one long step: cancelled with ``cancel``, and when a pause begins."""
        step = cancel.child()
        with self._changed:
            self._steps.add(step)
            too_late = self._on
        if too_late:
            step.cancel()
        return step

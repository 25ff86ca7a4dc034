"""Something that is made when it is first asked for, once, by whichever thread asks."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Later(Generic[Value]):
    """Call it for the value."""

    def __init__(self, make: Callable[[], Value]) -> None:
        self._make = make
        self._made: list[Value] = []
        self._making = threading.Lock()

    def __call__(self) -> Value:
        """The value, made now if it was not yet."""
        with self._making:
            if not self._made:
                self._made.append(self._make())
            return self._made[0]

    def when_there(self, use: Callable[[Value], None]) -> None:
        """Use the value if there is one already."""
        with self._making:
            for value in self._made:
                use(value)

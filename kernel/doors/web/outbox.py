"""What waits to be written to one tab.

Many small messages about files become now and then one list with the latest word on each file: a
tab that is slow to read gets fewer and longer lists, and the memory holds one word per file.
"""

import json
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

# A person sees no faster; a first indexing run says thousands of things a second.
FLUSH_AFTER_SECONDS = 0.05

Text = str | Iterable[bytes]


class Outbox:
    """Messages in order; any thread puts them in, one takes them out."""

    def __init__(self) -> None:
        self._waiting: deque[Text] = deque()
        self._waiting_size = 0
        self._statuses: dict[str, dict[str, Any]] = {}
        self._flush_at = 0.0
        self._closed = False
        self._changed = threading.Condition()

    @property
    def size(self) -> int:
        """How much text waits."""
        return self._waiting_size

    def put(self, message: dict[str, Any]) -> None:
        """Add a message; never waits."""
        self.put_text(json.dumps(message))

    def put_text(self, text: Text) -> None:
        """Add a message that is JSON already, perhaps in pieces; never waits."""
        with self._changed:
            if self._closed:
                return
            self._waiting.append(text)
            self._waiting_size += _size(text)
            self._changed.notify_all()

    def put_status(self, message: dict[str, Any]) -> None:
        """Add a word about a file, which may be overtaken by a later one."""
        with self._changed:
            if self._closed:
                return
            if not self._statuses:
                self._flush_at = time.monotonic() + FLUSH_AFTER_SECONDS
                self._changed.notify_all()
            path = message["filePath"]
            self._statuses.pop(path, None)  # so that the list is in the order of what came last
            self._statuses[path] = {key: message[key] for key in ("filePath", "status", "progress")}

    def close(self) -> None:
        """Let what waits be taken, and then no more."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def __iter__(self) -> Iterator[Text]:
        while (text := self._next()) is not None:
            yield text

    def _next(self) -> Text | None:
        with self._changed:
            while True:
                if self._waiting:
                    text = self._waiting.popleft()
                    self._waiting_size -= _size(text)
                    return text
                if self._closed:
                    return None
                left = self._flush_at - time.monotonic() if self._statuses else None
                if left is not None and left <= 0:
                    return self._flushed()
                self._changed.wait(left)

    def _flushed(self) -> str:
        items = list(self._statuses.values())
        self._statuses.clear()
        return json.dumps({"event": {"type": "embeddingStatus", "items": items}})


def _size(text: Text) -> int:
    """What it takes of the memory; pieces come from the disk."""
    return len(text) if isinstance(text, str) else 0

"""Counts tokens with a tokenizer that is lent to it, and no text twice."""

import json
import threading
from collections import OrderedDict
from collections.abc import Callable
from hashlib import blake2b

from kernel.domain.chat import ChatRequest
from kernel.llm.messages import tool_json

# The rounds of a conversation repeat most of what was sent before; 4,096 counts take under 1 MB.
MOST_REMEMBERED = 4096
# What a chat template puts around each message: its role and the marks of its beginning and end.
TOKENS_AROUND_MESSAGE = 4


class TokenCounter:
    """Remembers counts by the hash of a text, so that a large text is not kept alive."""

    def __init__(self, count: Callable[[str], int]) -> None:
        self._count = count
        self._known: OrderedDict[bytes, int] = OrderedDict()
        self._lock = threading.Lock()

    def text(self, text: str) -> int:
        """Tokens of ``text``."""
        if not text:
            return 0
        key = blake2b(text.encode("utf-8", errors="replace"), digest_size=16).digest()
        with self._lock:
            known = self._known.get(key)
            if known is not None:
                self._known.move_to_end(key)
                return known
        counted = self._count(text)
        with self._lock:
            self._known[key] = counted
            if len(self._known) > MOST_REMEMBERED:
                self._known.popitem(last=False)
        return counted

    def request(self, request: ChatRequest) -> int:
        """Tokens of everything that is sent."""
        messages = sum(
            TOKENS_AROUND_MESSAGE
            + self.text(message.content)
            + sum(self.text(f"{call.name} {call.arguments}") for call in message.tool_calls)
            for message in request.messages
        )
        return messages + sum(self.text(json.dumps(tool_json(tool))) for tool in request.tools)

"""An agent with a scripted model on loopback, everything else of it real."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kernel.agent.context import ToolContext
from kernel.agent.events import AgentEvent, ToolReturned
from kernel.agent.loop import AgentLoop
from kernel.agent.registry import Registry
from kernel.agent.toolbox import agent_tools
from kernel.domain.cancel import CancelToken
from kernel.domain.settings import GenerationModel
from kernel.llm.backends import open_backend
from support.chat_server import ChatServer

SKIP = ("plan", {"action": "skip"})


def count_tokens(text: str) -> int:
    return len(text.encode()) // 4 + 1


@contextmanager
def agent(
    server: ChatServer,
    context: ToolContext,
    registry: Registry | None = None,
    url: str = "",
    **changes: Any,
) -> Iterator[AgentLoop]:
    """An agent that talks to the server."""
    model = GenerationModel("model", "scripted-1", url or server.url, needs_key=False)
    backend = open_backend(model, "", count_tokens)
    try:
        yield AgentLoop(backend, registry or agent_tools(), context, **changes)
    finally:
        backend.close()


def run(
    loop: AgentLoop, prompt: str = "do it", cancel: CancelToken | None = None
) -> list[AgentEvent]:
    return list(loop.events(prompt, cancel or CancelToken()))


def returns(events: list[AgentEvent]) -> list[tuple[str, bool, str]]:
    """The name, success and text of each result."""
    return [
        (event.name, event.outcome.success, event.outcome.text)
        for event in events
        if isinstance(event, ToolReturned)
    ]


def told(server: ChatServer, request: int) -> list[dict[str, Any]]:
    """The messages of a request, counted from 1."""
    messages: list[dict[str, Any]] = server.wait_for_request(request).json["messages"]
    return messages

"""A real agent with a scripted model on loopback."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from codekernel.agent.loop import AgentLoop
from codekernel.agent.registry import ToolRegistry
from codekernel.agent.tool import ToolContext
from codekernel.agent.tools.toolsets import build_agent_tools
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.settings import GenerationModel
from codekernel.domain.turn_events import AgentToolReturned, LoopEvent
from codekernel.llm.remote_backend import open_remote_backend
from codekernel.loop.loop import UsageEvent

from support.chat_server import ChatServer

SKIP = ("plan", {"action": "skip"})


def count_tokens(text: str) -> int:
    return len(text.encode()) // 4 + 1


@contextmanager
def agent(
    server: ChatServer,
    context: ToolContext,
    registry: ToolRegistry | None = None,
    url: str = "",
    **changes: Any,
) -> Iterator[AgentLoop]:
    """An agent that talks to the server."""
    model = GenerationModel("model", "scripted-1", url or server.url, needs_key=False)
    backend = open_remote_backend(model, "", count_tokens)
    try:
        yield AgentLoop(backend, registry or build_agent_tools(), context, **changes)
    finally:
        backend.close()


def run(
    loop: AgentLoop, prompt: str = "do it", cancel: CancelToken | None = None
) -> list[LoopEvent]:
    """The events of a run without those that only report usage."""
    events = loop.run(prompt, cancel or CancelToken())
    return [event for event in events if not isinstance(event, UsageEvent)]


def list_results(events: list[LoopEvent]) -> list[tuple[str, bool, str]]:
    """The name, success and text of each result."""
    return [
        (event.name, event.success, event.text)
        for event in events
        if isinstance(event, AgentToolReturned)
    ]


def sent_messages(server: ChatServer, request: int) -> list[dict[str, Any]]:
    """The messages of a request, counted from 1."""
    messages: list[dict[str, Any]] = server.wait_for_request(request).json["messages"]
    return messages

"""How tests call tools: by name, with arguments, in the usual context or in another."""

from typing import Any, Protocol

from codekernel.agent.tool import ToolContext, ToolOutcome


class Call(Protocol):
    """What the fixture ``call`` gives."""

    def __call__(
        self, name: str, within: ToolContext = ..., /, **arguments: Any
    ) -> ToolOutcome: ...

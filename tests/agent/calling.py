"""How tests call tools: by name, with arguments, in the usual context or in another."""

from typing import Any, Protocol

from kernel.agent.context import ToolContext
from kernel.agent.tool import Outcome


class Call(Protocol):
    """What the fixture ``call`` gives."""

    def __call__(self, name: str, within: ToolContext = ..., /, **arguments: Any) -> Outcome: ...

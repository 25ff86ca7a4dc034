"""Tools by their names: which there are, what a model is told of them, and how one is called."""

import logging
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from kernel.agent.arguments import Given, decoded
from kernel.agent.context import ToolContext
from kernel.agent.danger import Wish
from kernel.agent.failing import ToolFailed
from kernel.agent.tool import Outcome, Tool, failed
from kernel.domain.chat import ToolSpec
from kernel.errors import Cancelled, KernelError
from kernel.protocol.tool_arguments import schema_of

logger = logging.getLogger(__name__)

_HALVES = re.compile("[\ud800-\udfff]")


class Registry:
    """A fixed set of tools; an agent sees these and knows of no others."""

    def __init__(self, tools: Iterable[Tool[Any]]) -> None:
        self._tools: dict[str, Tool[Any]] = {}
        for tool in tools:
            if tool.name in self._tools:
                raise ValueError(f"two tools are called {tool.name}")
            self._tools[tool.name] = tool

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __iter__(self) -> Iterator[Tool[Any]]:
        return iter(self._tools.values())

    def __getitem__(self, name: str) -> Tool[Any]:
        return self._tools[name]

    @property
    def names(self) -> list[str]:
        """The names, in the order in which the tools were given."""
        return list(self._tools)

    def only(self, names: Iterable[str]) -> "Registry":
        """The tools of these names, in that order; names that nobody knows are left out."""
        return Registry(self._tools[name] for name in dict.fromkeys(names) if name in self._tools)

    def specs(self) -> tuple[ToolSpec, ...]:
        """What a model is told."""
        return tuple(ToolSpec(tool.name, tool.purpose, schema_of(tool.arguments)) for tool in self)

    def call(self, name: str, given: Given, context: ToolContext) -> Outcome:
        """Do it, whatever a model wrote; every failure is an Outcome. Raises Cancelled alone."""
        tool = self._tools.get(name)
        if tool is None:
            return failed(f"There is no tool {name}. Tools: {', '.join(self.names)}.")
        try:
            return _run(tool, given, context)
        except Cancelled:
            raise
        except ToolFailed as error:
            return failed(str(error), error.data)
        except KernelError as error:
            return failed(str(error))
        except OSError as error:
            return failed(f"The system refused: {error.strerror or error}.")
        except Exception as error:
            # A mistake of ours in one tool must not end somebody's agent.
            logger.exception("the tool %s failed", name)
            return failed(f"{name} failed unexpectedly ({type(error).__name__}).")


def _run(tool: Tool[Any], given: Given, context: ToolContext) -> Outcome:
    arguments = decoded(tool.arguments, given)
    if context.cancel.cancelled:
        raise Cancelled("the call was cancelled")
    refusal = context.permissions.refusal(Wish(tool.name, tool.danger, given))
    if refusal:
        return failed(refusal)
    outcome: Outcome = tool.run(arguments, context)
    if outcome.text.isascii():
        return outcome
    # Odd bytes of a damaged file or of a file name would break whoever writes this as UTF-8.
    return replace(outcome, text=_HALVES.sub("\ufffd", outcome.text))

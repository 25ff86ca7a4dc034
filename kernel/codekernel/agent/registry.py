"""Tools by name: decode the JSON arguments a model wrote, check the permission, run the tool.

Turn every failure into an outcome.
"""

import dataclasses
import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, TypeVar

from codekernel.agent.permission_rules import EditTrimmed
from codekernel.agent.tool import Tool, ToolContext, ToolOutcome, make_failure
from codekernel.agent.tool_policy import ToolError, ToolPermissionRequest
from codekernel.domain.chat import ToolSpec
from codekernel.errors import Cancelled, KernelError, WrongParam
from codekernel.protocol.tool_schema import build_json_schema, convert_arguments, parse_json_object

A = TypeVar("A")

RawArguments = Mapping[str, Any] | str | bytes

# "startline" is start_line mistyped, "projectKey" is nothing that a tool knows.
_SIMILARITY_CUTOFF = 0.85


def decode_arguments(declaration: type[A], raw: RawArguments) -> A:
    """Decode the arguments. Raises ToolError with the wrong field and the reason.

    Names may be written ``start_line`` or ``startLine``, and as the declaration's ALIASES allow.
    Unknown fields are left out, but a misspelt one is an error: ignoring it would do something else
    than was asked for.
    """
    try:
        fields = parse_json_object(raw) if isinstance(raw, str | bytes) else raw
        return convert_arguments(declaration, _resolve_field_names(declaration, fields))
    except WrongParam as error:
        raise ToolError(f"Wrong arguments. {error}") from None


def _resolve_field_names(declaration: type[object], fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields under their own names; null means that an optional field was left out."""
    # No field of ours has a factory for its default.
    required = {
        field.name: field.default is dataclasses.MISSING
        for field in dataclasses.fields(declaration)  # type: ignore[arg-type]
    }
    aliases = {name: name for name in required} | getattr(declaration, "ALIASES", {})
    spoken = {_normalize_name(alias): name for alias, name in aliases.items()}
    named: dict[str, Any] = {}
    for written, value in fields.items():
        name = written if written in required else spoken.get(_normalize_name(written))
        if name is None:
            if meant := get_close_matches(written.lower(), required, 1, _SIMILARITY_CUTOFF):
                raise WrongParam(f"`{written}` is no field of this tool: `{meant[0]}` is.")
        elif name not in named or written == name:
            named[name] = value
    return {name: value for name, value in named.items() if value is not None or required[name]}


def _normalize_name(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


logger = logging.getLogger(__name__)

_SURROGATES = re.compile("[\ud800-\udfff]")


class ToolRegistry:
    """A fixed set of tools, all that an agent has."""

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

    def select(self, names: Iterable[str]) -> "ToolRegistry":
        """Return a registry of these tools, in that order; unknown names are left out."""
        return ToolRegistry(
            self._tools[name] for name in dict.fromkeys(names) if name in self._tools
        )

    def build_specs(self) -> tuple[ToolSpec, ...]:
        """Return the specifications that are sent to a model."""
        return tuple(
            ToolSpec(tool.name, tool.description, build_json_schema(tool.arguments))
            for tool in self
        )

    def call(self, name: str, raw: RawArguments, context: ToolContext) -> ToolOutcome:
        """Run a tool with arguments as a model wrote them; every failure is an outcome.

        Raises Cancelled alone.
        """
        tool = self._tools.get(name)
        if tool is None:
            return make_failure(f"There is no tool {name}. Tools: {', '.join(self.names)}.")
        try:
            return _run_tool(tool, raw, context)
        except Cancelled:
            raise
        except ToolError as error:
            return ToolOutcome(isinstance(error, EditTrimmed), str(error), error.data)
        except KernelError as error:
            return make_failure(str(error))
        except OSError as error:
            return make_failure(f"The system refused: {error.strerror or error}.")
        except Exception as error:
            # A bug in one tool must not end the agent.
            logger.exception("the tool %s failed", name)
            return make_failure(f"{name} failed unexpectedly ({type(error).__name__}).")


def _run_tool(tool: Tool[Any], raw: RawArguments, context: ToolContext) -> ToolOutcome:
    arguments = decode_arguments(tool.arguments, raw)
    if context.cancel.is_cancelled:
        raise Cancelled("the call was cancelled")
    refusal = context.permissions.get_refusal(
        ToolPermissionRequest(tool.name, tool.permission, raw)
    )
    if refusal:
        return make_failure(refusal, {"denied": True})
    outcome: ToolOutcome = tool.run(arguments, context)
    if outcome.text.isascii():
        return outcome
    # Odd bytes of a damaged file or of a file name could not be encoded as UTF-8.
    return replace(outcome, text=_SURROGATES.sub("\ufffd", outcome.text))

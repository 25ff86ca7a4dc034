"""The tool sets: what our own agent has, and what each foreign protocol may call."""

from collections.abc import Sequence
from typing import Any

from codekernel.agent.registry import ToolRegistry
from codekernel.agent.tool import Tool
from codekernel.agent.tool_policy import ToolPermission
from codekernel.agent.tools import (
    edit_file,
    file_access,
    file_system,
    grep,
    index_search,
    notebook_edit,
    plan,
    shell,
    string_edit,
)

# Document 001, in the order in which they are sent to a model.
TRICODE_TOOLS: tuple[Tool[Any], ...] = (
    plan.plan,
    grep.search_context,
    file_access.read_file,
    file_system.create_file,
    edit_file.edit_file,
    file_system.list_directory,
    file_system.delete_file,
    file_system.delete_path,
    file_system.mkdir,
    shell.run_command,
    shell.start_session,
    shell.send_input,
    shell.read_output,
    shell.close_session,
    shell.list_sessions,
)

# Document 000.
KODE_TOOLS: tuple[Tool[Any], ...] = (
    string_edit.replace,
    string_edit.edit,
    string_edit.multi_edit,
    notebook_edit.notebook_edit_cell,
)

# Document 002, whose read_file is another one.
IDE_TOOLS: tuple[Tool[Any], ...] = (
    grep.grep_file,
    file_access.read_window,
    index_search.call_chain,
    edit_file.apply_change,
)


def build_agent_tools() -> ToolRegistry:
    """Return the default tools of our agent.

    One way to do each thing: a second set of tools that edit files takes 900 tokens of every
    request, and a model that has both mixes their arguments up.
    """
    return ToolRegistry((*TRICODE_TOOLS, index_search.search, index_search.call_chain))


def build_all_tools() -> ToolRegistry:
    """Return all selectable tools, without document 002's read_file: its name is taken."""
    return ToolRegistry((*build_agent_tools(), *KODE_TOOLS, grep.grep_file, edit_file.apply_change))


def select_tools(names: Sequence[str] | None) -> tuple[ToolRegistry, tuple[str, ...]]:
    """Return the tools of these names, plan first, and the unknown names; None: the default."""
    if names is None:
        return build_agent_tools(), ()
    registry = build_all_tools()
    unknown = tuple(name for name in dict.fromkeys(names) if name not in registry)
    return registry.select([plan.plan.name, *names]), unknown


def build_kode_tools() -> ToolRegistry:
    """Return what a back end of document 000 may call: the document's tools and the agent's."""
    return ToolRegistry((*KODE_TOOLS, *build_agent_tools()))


# Of the agent's tools, those that document 000 has others for, and those that need a terminal.
_REPLACED_BY_KODE = frozenset({file_system.create_file.name, edit_file.edit_file.name})
_OF_TERMINALS = frozenset(
    {shell.read_output.name, shell.close_session.name, shell.list_sessions.name}
)


def list_kode_agent_tools(*, read_only: bool) -> list[str]:
    """Return the names of the tools that an agent in document 000's service has."""
    tools = build_kode_tools()
    if not read_only:
        return [name for name in tools.names if name not in _REPLACED_BY_KODE]
    return [
        tool.name
        for tool in tools
        if tool.permission is ToolPermission.READS and tool.name not in _OF_TERMINALS
    ]


def build_ide_tools() -> ToolRegistry:
    """Return what an IDE's back end may call."""
    return ToolRegistry(IDE_TOOLS)

"""The tool sets: what our own agent has, and what each foreign protocol may call."""

from typing import Any

from codekernel.agent.registry import ToolRegistry
from codekernel.agent.tool import Tool
from codekernel.agent.tools import (
    apply_change,
    edit_file,
    file_system,
    grep,
    index_search,
    notebook_edit,
    plan,
    read_file,
    shell,
    string_edit,
)
from codekernel.agent.tools import (
    read_file as read_window,
)

# Document 001, in the order in which a model is told of them.
TRICODE_TOOLS: tuple[Tool[Any], ...] = (
    plan.PLAN_TOOL,
    grep.SEARCH_CONTEXT_TOOL,
    read_file.READ_FILE_TOOL,
    file_system.CREATE_FILE_TOOL,
    edit_file.EDIT_FILE_TOOL,
    file_system.LIST_DIRECTORY_TOOL,
    file_system.DELETE_FILE_TOOL,
    file_system.DELETE_PATH_TOOL,
    file_system.MKDIR_TOOL,
    shell.RUN_COMMAND_TOOL,
    shell.START_SESSION_TOOL,
    shell.SEND_INPUT_TOOL,
    shell.READ_OUTPUT_TOOL,
    shell.CLOSE_SESSION_TOOL,
    shell.LIST_SESSIONS_TOOL,
)

# Document 000.
KODE_TOOLS: tuple[Tool[Any], ...] = (
    string_edit.REPLACE_TOOL,
    string_edit.EDIT_TOOL,
    string_edit.MULTI_EDIT_TOOL,
    notebook_edit.NOTEBOOK_EDIT_CELL_TOOL,
)

# Document 002, whose read_file is another one.
IDE_TOOLS: tuple[Tool[Any], ...] = (
    grep.GREP_FILE_TOOL,
    read_window.READ_WINDOW_TOOL,
    index_search.CALL_CHAIN_TOOL,
    apply_change.APPLY_CHANGE_TOOL,
)


def build_agent_tools() -> ToolRegistry:
    """What an agent of ours has, unless somebody chooses.

    One way to do each thing: a second set of tools that edit files takes 900 tokens of every
    request, and a model that has both mixes their arguments up.
    """
    return ToolRegistry((*TRICODE_TOOLS, index_search.SEARCH_TOOL, index_search.CALL_CHAIN_TOOL))


def build_all_tools() -> ToolRegistry:
    """What may be chosen for an agent: all but document 002's read_file, whose name is taken."""
    return ToolRegistry(
        (*build_agent_tools(), *KODE_TOOLS, grep.GREP_FILE_TOOL, apply_change.APPLY_CHANGE_TOOL)
    )


def build_kode_tools() -> ToolRegistry:
    """What a back end of document 000 may call: the document's own, and what an agent has."""
    return ToolRegistry((*KODE_TOOLS, *build_agent_tools()))


def build_ide_tools() -> ToolRegistry:
    """What an IDE's backend may call."""
    return ToolRegistry(IDE_TOOLS)

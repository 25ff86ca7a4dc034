"""Which tools there are, for an agent of ours and for the foreign protocols that name their own."""

from typing import Any

from kernel.agent.registry import Registry
from kernel.agent.tool import Tool
from kernel.agent.tools import (
    apply_change,
    call_chain,
    close_session,
    create_file,
    delete_file,
    delete_path,
    edit,
    edit_file,
    grep_file,
    list_directory,
    list_sessions,
    mkdir,
    multi_edit,
    notebook_edit_cell,
    plan,
    read_file,
    read_output,
    read_window,
    replace,
    run_command,
    search,
    search_context,
    send_input,
    start_session,
)

# Document 001, in the order in which a model is told of them.
TRICODE_TOOLS: tuple[Tool[Any], ...] = (
    plan.TOOL,
    search_context.TOOL,
    read_file.TOOL,
    create_file.TOOL,
    edit_file.TOOL,
    list_directory.TOOL,
    delete_file.TOOL,
    delete_path.TOOL,
    mkdir.TOOL,
    run_command.TOOL,
    start_session.TOOL,
    send_input.TOOL,
    read_output.TOOL,
    close_session.TOOL,
    list_sessions.TOOL,
)
# Document 000.
KODE_TOOLS: tuple[Tool[Any], ...] = (
    replace.TOOL,
    edit.TOOL,
    multi_edit.TOOL,
    notebook_edit_cell.TOOL,
)
# Document 002, whose read_file is another one.
IDE_TOOLS: tuple[Tool[Any], ...] = (
    grep_file.TOOL,
    read_window.TOOL,
    call_chain.TOOL,
    apply_change.TOOL,
)


def agent_tools() -> Registry:
    """What an agent of ours has, unless somebody chooses.

    One way to do each thing: a second set of tools that edit files takes 900 tokens of every
    request, and a model that has both mixes their arguments up.
    """
    return Registry((*TRICODE_TOOLS, search.TOOL, call_chain.TOOL))


def all_tools() -> Registry:
    """What may be chosen for an agent: all but document 002's read_file, whose name is taken."""
    return Registry((*agent_tools(), *KODE_TOOLS, grep_file.TOOL, apply_change.TOOL))


def kode_tools() -> Registry:
    """What a back end of document 000 may call: the document's own, and what an agent has."""
    return Registry((*KODE_TOOLS, *agent_tools()))


def ide_tools() -> Registry:
    """What an IDE's backend may call."""
    return Registry(IDE_TOOLS)

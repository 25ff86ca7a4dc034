"""The tools that a back end of document 000 may call: the document's own four, then ours."""

from typing import Any, Final

from kernel.agent.registry import Registry
from kernel.agent.tool import Tool
from kernel.agent.toolbox import agent_tools
from kernel.agent.tools import edit, multi_edit, notebook_edit_cell, replace

DOCUMENTED: Final[tuple[Tool[Any], ...]] = (
    replace.TOOL,
    edit.TOOL,
    multi_edit.TOOL,
    notebook_edit_cell.TOOL,
)


def kode_tools() -> Registry:
    """Those of the document, and what else an agent of ours has."""
    return Registry((*DOCUMENTED, *agent_tools()))

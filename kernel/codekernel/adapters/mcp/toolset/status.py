"""The tool ``index_status``, which is not listed any more and still answers."""

from dataclasses import dataclass

from codekernel.adapters import indexed_repository
from codekernel.adapters.indexed_repository import IndexedRepository, ProgressCallback
from codekernel.agent.tool import Tool, ToolContext, ToolOutcome, make_success
from codekernel.agent.tool_policy import ToolPermission

# Clients give up on a call after a minute or more.
MAX_WAIT_SECONDS = 50.0


@dataclass(frozen=True, slots=True)
class IndexStatusArguments:
    """Whether to wait.

    wait: until everything is indexed, for up to 50 seconds
    """

    wait: bool = False


def make_status_tool(
    repository: IndexedRepository, report: ProgressCallback
) -> Tool[IndexStatusArguments]:
    """Return the tool."""

    def run(arguments: IndexStatusArguments, context: ToolContext) -> ToolOutcome:
        if arguments.wait:
            repository.wait_until_complete(context.cancel, MAX_WAIT_SECONDS, report)
        status, root = repository.get_status(), str(repository.root.folder)
        return make_success(
            indexed_repository.format_index_status(status, root, repository.describe_gaps()),
            indexed_repository.dump_index_status(status, root),
        )

    return Tool(
        name="index_status",
        description="How far the index of this repository is, and what it leaves out.",
        arguments=IndexStatusArguments,
        permission=ToolPermission.READS,
        run=run,
    )

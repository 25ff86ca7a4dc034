"""What a question about code needs of a repository; a ToolContext has it, too."""

from dataclasses import dataclass, field
from typing import Protocol

from codekernel.agent.tool import SearchFunction
from codekernel.agent.tool_policy import ToolLimits
from codekernel.agent.workspace.root import WorkspaceRoot
from codekernel.agent.workspace.text_file import FileStates
from codekernel.domain.call_graph import QueryCallChain
from codekernel.domain.concurrency import CancelToken


class CodeContext(Protocol):
    """A repository that can be read, searched and asked for calls."""

    @property
    def root(self) -> WorkspaceRoot:
        """The folder of the repository."""

    @property
    def search(self) -> SearchFunction | None:
        """The ranked search, if there is an index."""

    @property
    def call_chain(self) -> QueryCallChain | None:
        """The call graph, if there is an index."""

    @property
    def limits(self) -> ToolLimits:
        """Seconds and sizes."""

    @property
    def cancel(self) -> CancelToken:
        """Ends the question."""

    @property
    def file_states(self) -> FileStates:
        """Which files were read."""


@dataclass(frozen=True, slots=True)
class RepositoryContext:
    """The context of a question that is no tool call."""

    root: WorkspaceRoot
    search: SearchFunction
    call_chain: QueryCallChain
    cancel: CancelToken
    limits: ToolLimits = field(default_factory=ToolLimits)
    file_states: FileStates = field(default_factory=FileStates)

"""What tools work with: one root, one person's permissions, one journal, one set of limits."""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from kernel.agent.danger import READ_ONLY, Permissions
from kernel.agent.journal import Journal
from kernel.agent.limits import Limits
from kernel.agent.plan import Plan
from kernel.agent.root import Root
from kernel.agent.seen import Seen
from kernel.agent.terminals import Terminals
from kernel.domain.call_chain import AskCalls
from kernel.domain.cancel import CancelToken
from kernel.domain.hit import Hit

# The ranked search of the repository: a query, as people type it, and how many hits are wanted.
Search = Callable[[str, int], Sequence[Hit]]


@dataclass(frozen=True, slots=True)
class ToolContext:
    """Made once per agent session; the parts that remember something are shared by all calls."""

    root: Root
    journal: Journal
    permissions: Permissions = READ_ONLY
    search: Search | None = None
    calls: AskCalls | None = None
    limits: Limits = field(default_factory=Limits)
    cancel: CancelToken = field(default_factory=CancelToken)
    seen: Seen = field(default_factory=Seen)
    plan: Plan = field(default_factory=Plan)
    terminals: Terminals = field(default_factory=Terminals)

    def cancelled_by(self, cancel: CancelToken) -> "ToolContext":
        """The same context for a call that ends when ``cancel`` says so."""
        return dataclasses.replace(self, cancel=cancel)

    def close(self) -> None:
        """End every terminal with all that runs in it."""
        self.terminals.close_all()

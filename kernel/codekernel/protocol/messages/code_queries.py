"""What a change of a place reaches, the commits behind it, code that is like it.

For editors: who calls a definition, and what it calls.
"""

from typing import Annotated

from msgspec import Meta

from codekernel.domain.call_graph import CallChainNode
from codekernel.domain.untrusted_text import encode_path
from codekernel.protocol.envelope import Message, ReplyData
from codekernel.protocol.messages.search import SearchResult


class CodeDefinition(ReplyData, frozen=True):
    """A definition, or code outside of all (kind ``file``); lines from 1, the last included."""

    name: str
    kind: str
    file_path: str
    first_line: int
    last_line: int

    @classmethod
    def from_node(cls, node: CallChainNode) -> "CodeDefinition":
        """Return a definition of the call graph."""
        return cls(node.name, node.kind, encode_path(node.path), node.first_line, node.last_line)


class GetCalls(Message, frozen=True, tag="getCalls"):
    """Ask who calls a definition, and what it calls; an addition to the document.

    ``symbol`` is a name, or one with those around it: Class.name.
    """

    symbol: Annotated[str, Meta(min_length=1)]


class CallEntry(ReplyData, frozen=True):
    """A caller or callee, and the lines of the calls, from 1, which are in the caller."""

    place: CodeDefinition
    lines: list[int]
    certainty: str


class CalledDefinition(ReplyData, frozen=True):
    """One definition of the name; the numbers are what was left out of the lists."""

    place: CodeDefinition
    callers: list[CallEntry]
    callees: list[CallEntry]
    more_callers: int
    more_callees: int


class GetCallsReply(ReplyData, frozen=True):
    """Definitions of one name are apart; ``behind`` files have not been read yet."""

    definitions: list[CalledDefinition]
    more: int
    behind: int


MAX_IMPACT_DEPTH = 6

MAX_COMMITS = 200


class GetImpact(Message, frozen=True, tag="getImpact"):
    """Follow the callers of a file, of lines, or of a name; an addition to the document.

    ``place``: FILE, FILE:LINE, FILE:FIRST-LAST, FILE:NAME, a name, or Class.name.
    """

    place: str
    depth: Annotated[int, Meta(ge=1, le=MAX_IMPACT_DEPTH)] | None = None


class ReachedEntry(ReplyData, frozen=True):
    """A definition that calls what changes, ``distance`` calls away."""

    name: str
    kind: str
    file_path: str
    first_line: int
    last_line: int
    distance: int
    certainty: str


class ReachedTest(ReachedEntry, frozen=True):
    """A test; ``distance`` is 0 and ``certainty`` empty where no call is known.

    ``reasons`` say what else speaks for it; ``score`` compares tests of one answer.
    """

    score: float
    reasons: list[str]


class GetImpactReply(ReplyData, frozen=True):
    """Callers nearest first, tests strongest first.

    ``unseen`` says what no call graph sees, so that nothing is a promise.
    """

    changed: list[CodeDefinition]
    callers: list[ReachedEntry]
    tests: list[ReachedTest]
    # Tests that there is less evidence for.
    weak_tests: int
    depth: int
    # Callers, and definitions of the place, that were not followed.
    left_out: int
    # Files that were not read yet.
    behind: int
    unseen: str


class GetLineHistory(Message, frozen=True, tag="getLineHistory"):
    """Ask which commits made a file, lines of it, or a definition; an addition to the document.

    ``place`` as of ``getImpact``.
    """

    place: str
    limit: Annotated[int, Meta(ge=1, le=MAX_COMMITS)] | None = None


class LineCommitEntry(ReplyData, frozen=True):
    """A commit; ``lines`` are those of today that come from it, from 1."""

    id: str
    date: str
    author: str
    subject: str
    body: str
    lines: list[int]


class GetLineHistoryReply(ReplyData, frozen=True):
    """Newest first. ``firstLine`` is 0 for a whole file."""

    file_path: str
    first_line: int
    last_line: int
    commits: list[LineCommitEntry]
    has_more: bool
    uncommitted: list[int]
    remarks: list[str]


class FindRelated(Message, frozen=True, tag="findRelated"):
    """Rank the code that is like a place, FILE:LINE; an addition to the document."""

    place: str
    limit: Annotated[int, Meta(ge=1)] | None = None


class FindRelatedReply(ReplyData, frozen=True):
    """Best first, without the place itself."""

    results: list[SearchResult]

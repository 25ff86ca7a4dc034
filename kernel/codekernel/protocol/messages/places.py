"""What an editor asks about a place in the code: what is like it, and who calls it."""

from typing import Annotated

from msgspec import Meta

from codekernel.protocol.envelope import Message, ReplyData
from codekernel.protocol.messages.search import SearchResult

# As many as a list in an editor shows.
MAX_RELATED = 100


class GetRelated(Message, frozen=True, tag="getRelated"):
    """Rank the code that is like that at a line, from 0; an addition to the document."""

    file_path: str
    line: Annotated[int, Meta(ge=0)]
    limit: Annotated[int, Meta(ge=1, le=MAX_RELATED)] = 10


class GetRelatedReply(ReplyData, frozen=True):
    """Best first; what overlaps the place itself is left out."""

    results: list[SearchResult]


class GetCalls(Message, frozen=True, tag="getCalls"):
    """Ask who calls a definition, and what it calls; an addition to the document.

    ``symbol`` is a name, or one with those around it: Class.name.
    """

    symbol: Annotated[str, Meta(min_length=1)]


class DefinitionEntry(ReplyData, frozen=True):
    """A definition, or code outside of all (kind ``file``); lines from 0, the last is out."""

    symbol: str
    kind: str
    file_path: str
    begin_line: int
    end_line: int


class CallEntry(ReplyData, frozen=True):
    """A caller or callee, and the lines of the calls, from 0, which are in the caller."""

    place: DefinitionEntry
    lines: list[int]
    certainty: str


class CalledDefinition(ReplyData, frozen=True):
    """One definition of the name; the numbers are what was left out of the lists."""

    place: DefinitionEntry
    callers: list[CallEntry]
    callees: list[CallEntry]
    more_callers: int
    more_callees: int


class GetCallsReply(ReplyData, frozen=True):
    """Definitions of one name are apart; ``behind`` files have not been read yet."""

    definitions: list[CalledDefinition]
    more: int
    behind: int

"""What an editor asks about a definition: who calls it, and what it calls."""

from typing import Annotated

from msgspec import Meta

from codekernel.protocol.envelope import Message, ReplyData
from codekernel.protocol.messages.code_queries import CodeDefinition


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

"""Files of the open repository, as they are on the disk now; an addition to the document."""

from typing import Annotated

from msgspec import Meta

from kernel.protocol.message import Data, Message

LineNumber = Annotated[int, Meta(ge=0, le=2**53 - 1)]


class ReadLines(Message, frozen=True, tag="readLines"):
    """Show lines of a file: from ``beginLine``, counted from 0, up to ``endLine``, without it."""

    file_path: str
    begin_line: LineNumber
    end_line: LineNumber

    def __post_init__(self) -> None:
        if self.end_line < self.begin_line:
            raise ValueError("endLine is the line after the last one, and not before beginLine")


class ReadLinesReply(Data, frozen=True):
    """The lines that are there; ``lineCount`` is that of the whole file."""

    content: str
    begin_line: int
    end_line: int
    line_count: int
    language: str

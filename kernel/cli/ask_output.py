"""What a question prints for a person: searches in short, the answer, sources, what it cost."""

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TextIO

from kernel.cli.ask_markdown import writer_for
from kernel.cli.safe_streams import write_styled
from kernel.cli.search_streams import PIPE_CLOSED, say
from kernel.cli.search_terminal import FAINT, LINE_NUMBER, PATH, Screen, columns, shown_path
from kernel.domain.path_text import existing_path, terminal_path
from kernel.domain.terminal_text import escape_line
from kernel.domain.turn import Citation, Holds
from kernel.domain.turn_events import (
    Annotated,
    AnswerPart,
    Done,
    Failed,
    RetrievalDone,
    Retrieved,
    Searched,
    Shown,
)
from kernel.domain.usage import Price
from kernel.errors import StorageError

_MARKS = {Holds.VERIFIED: "32", Holds.MOVED: "33", Holds.STALE: "31"}
# Files named in the line of a round; more would be a list that nobody reads.
MOST_FILES = 3
# Characters of a query in that line.
LONGEST_QUERY = 60

Write = Callable[[str], None]


class Output:
    """A stream that is written to for as long as somebody reads it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.closed = False

    def write(self, text: str) -> None:
        """Write at once; raises StorageError if the stream is full."""
        if self.closed or not text:
            return
        try:
            write_styled(self._stream, text)
            self._stream.flush()
        except OSError as error:
            if error.errno not in PIPE_CLOSED:
                raise StorageError(f"stdout cannot be written: {error.strerror}") from error
            self.closed = True


class Printer:
    """Shows the events of a turn: the answer and its sources on one stream, the rest beside it."""

    def __init__(
        self, root: Path, price: Price | None, write: Write, *, answer: Screen, beside: Screen
    ) -> None:
        self._root = root
        self._price = price
        self._screen, self._beside = answer, beside
        self._write = write
        self._writer = writer_for(self._screen)
        self._purpose = ""
        self._queries: list[str] = []
        self._paths: list[str] = []

    def show(self, event: Shown) -> None:
        """Print what an event says."""
        match event:
            case Annotated(purpose):
                self._purpose, self._queries, self._paths = purpose, [], []
            case Searched(query):
                self._queries.append(query)
            case Retrieved(excerpt):
                self._paths.append(excerpt.path)
            case RetrievalDone():
                self._write(self._writer.end())
                self._remark(round_line(self._purpose, self._queries, self._paths))
            case AnswerPart(text):
                self._write(self._writer.feed(text))
            case Failed(_, message):
                self._write(self._writer.end())
                say(message)
            case Done():
                self._write(self._writer.end())
                self._end(event)

    def _end(self, done: Done) -> None:
        lines = list(source_lines(done.citations, self._root, self._screen))
        if lines:
            self._write("\n" + "\n".join(lines) + "\n")
        for sentence in bill(done, self._price):
            self._remark(sentence)
        if done.unsaved:
            say(f"the answer could not be saved. {done.unsaved}")

    def _remark(self, sentence: str) -> None:
        if self._beside.colours:
            write_styled(sys.stderr, f"{self._beside.painted(escape_line(sentence), FAINT)}\n")
            sys.stderr.flush()
        else:
            say(sentence)


def round_line(purpose: str, queries: Iterable[str], paths: list[str]) -> str:
    """A round of retrieval in a line."""
    files = list(dict.fromkeys(paths))
    found = "nothing new"
    if files:
        more = f" and {len(files) - MOST_FILES} more" if len(files) > MOST_FILES else ""
        found = f"{_count(len(paths), 'place')} in {', '.join(files[:MOST_FILES])}{more}"
    asked = ", ".join(f'"{_short(query)}"' for query in queries)
    return f"{_short(purpose)}: {asked}: {found}"


def source_lines(citations: Iterable[Citation], root: Path, screen: Screen) -> Iterable[str]:
    """Each place that the answer names, as one can open it, and whether it holds."""
    places = list({(each.path, each.begin, each.end): each for each in citations}.values())
    if not places:
        return
    yield screen.painted("Sources", "1") if screen.colours else "Sources:\n"
    shown = [_place(each, root) for each in places]
    wide = max(map(columns, shown))
    for each, place in zip(places, shown, strict=True):
        path, _, line = place.rpartition(":")
        painted = f"{screen.painted(path, PATH)}:{screen.painted(line, LINE_NUMBER)}"
        link = screen.linked(painted, root / existing_path(root, each.path))
        if screen.colours:
            gap = " " * (wide - columns(place) + 2)
            mark = screen.painted(each.holds.value, _MARKS[each.holds])
            yield f"  {link}{gap}{mark}{_told(each)}"
        else:
            yield f"- {place} {each.holds.value}{_told(each)}"


def bill(done: Done, price: Price | None) -> Iterable[str]:
    """What was kept back, and what was paid."""
    if done.masked:
        yield f"{_count(done.masked, 'secret')} masked before anything was sent"
    spent = done.spent
    if not spent.input_tokens and not spent.output_tokens:
        return
    about = "" if spent.exact else "about "
    cost = price.of(spent.input_tokens, spent.output_tokens) if price else None
    paid = "" if cost is None else f", cost {cost:.4f}"
    yield f"{about}{spent.input_tokens} tokens read, {spent.output_tokens} written{paid}"


def _place(citation: Citation, root: Path) -> str:
    line = citation.now_begin or citation.begin
    return f"{terminal_path(shown_path(root / existing_path(root, citation.path)))}:{line}"


def _told(citation: Citation) -> str:
    lines = f"lines {citation.begin}-{citation.end}"
    if citation.begin == citation.end:
        lines = f"line {citation.begin}"
    match citation.holds:
        case Holds.MOVED:
            return f", cited as {lines}"
        case Holds.STALE:
            return f", {lines}: {escape_line(citation.reason)}"
        case Holds.VERIFIED:
            return f", {lines}"


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= LONGEST_QUERY else f"{words[: LONGEST_QUERY - 3]}..."


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"

"""Print the events of a conversation turn.

For a person the retrieval rounds, the answer, its sources and its cost; for programs one line
of JSON per event.
"""

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TextIO

from codekernel.cli.output.markdown import make_answer_writer
from codekernel.cli.output.terminal import (
    CLOSED_PIPE_ERRNOS,
    FAINT_COLOR,
    LINE_NUMBER_COLOR,
    PATH_COLOR,
    TerminalStyle,
    format_path,
    measure_width,
    print_notice,
    write_styled,
)
from codekernel.domain.turn import Citation, CitationState, Price
from codekernel.domain.turn_events import (
    AnswerDelta,
    ExcerptRetrieved,
    RetrievalAnnotated,
    RetrievalDone,
    SearchIssued,
    ShownEvent,
    TurnDone,
    TurnFailed,
)
from codekernel.domain.untrusted_text import (
    escape_json,
    escape_line,
    escape_path_for_terminal,
    resolve_encoded_path,
)
from codekernel.errors import StorageError
from codekernel.protocol.codec import dump_json, load_json
from codekernel.protocol.messages.conversation import build_conversation_part, compute_token_cost

_CITATION_COLORS = {
    CitationState.VERIFIED: "32",
    CitationState.MOVED: "33",
    CitationState.STALE: "31",
}

# Files named in the line of a round; more would be a list that nobody reads.
MAX_SHOWN_FILES = 3

# Characters of a query in that line.
MAX_QUERY_CHARS = 60

WriteText = Callable[[str], None]


class OutputStream:
    """A stream that is written to for as long as somebody reads it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.is_closed = False

    def write(self, text: str) -> None:
        """Write at once; raises StorageError if the stream is full."""
        if self.is_closed or not text:
            return
        try:
            write_styled(self._stream, text)
            self._stream.flush()
        except OSError as error:
            if error.errno not in CLOSED_PIPE_ERRNOS:
                raise StorageError(f"stdout cannot be written: {error.strerror}") from error
            self.is_closed = True


class AnswerPrinter:
    """Shows the events of a turn: the answer and its sources on one stream, the rest beside it."""

    def __init__(
        self,
        root: Path,
        price: Price | None,
        write: WriteText,
        *,
        answer: TerminalStyle,
        notes: TerminalStyle,
    ) -> None:
        self._root = root
        self._price = price
        self._screen, self._notes_screen = answer, notes
        self._write = write
        self._writer = make_answer_writer(self._screen)
        self._purpose = ""
        self._queries: list[str] = []
        self._paths: list[str] = []

    def show(self, event: ShownEvent) -> None:
        """Print what an event says."""
        match event:
            case RetrievalAnnotated(purpose):
                self._purpose, self._queries, self._paths = purpose, [], []
            case SearchIssued(query):
                self._queries.append(query)
            case ExcerptRetrieved(excerpt):
                self._paths.append(excerpt.path)
            case RetrievalDone():
                self._write(self._writer.end())
                self._print_remark(format_round(self._purpose, self._queries, self._paths))
            case AnswerDelta(text):
                self._write(self._writer.feed(text))
            case TurnFailed(_, message):
                self._write(self._writer.end())
                print_notice(message)
            case TurnDone():
                self._write(self._writer.end())
                self._print_end(event)

    def _print_end(self, done: TurnDone) -> None:
        lines = list(format_sources(done.citations, self._root, self._screen))
        if lines:
            self._write("\n" + "\n".join(lines) + "\n")
        for sentence in format_usage(done, self._price):
            self._print_remark(sentence)
        if done.unsaved:
            print_notice(f"the answer could not be saved. {done.unsaved}")

    def _print_remark(self, sentence: str) -> None:
        if self._notes_screen.has_colors:
            write_styled(
                sys.stderr, f"{self._notes_screen.colorize(escape_line(sentence), FAINT_COLOR)}\n"
            )
            sys.stderr.flush()
        else:
            print_notice(sentence)


def format_round(purpose: str, queries: Iterable[str], paths: list[str]) -> str:
    """A round of retrieval in a line."""
    files = list(dict.fromkeys(paths))
    found = "nothing new"
    if files:
        more = f" and {len(files) - MAX_SHOWN_FILES} more" if len(files) > MAX_SHOWN_FILES else ""
        found = f"{_pluralize(len(paths), 'place')} in {', '.join(files[:MAX_SHOWN_FILES])}{more}"
    asked = ", ".join(f'"{_shorten(query)}"' for query in queries)
    return f"{_shorten(purpose)}: {asked}: {found}"


def format_sources(
    citations: Iterable[Citation], root: Path, screen: TerminalStyle
) -> Iterable[str]:
    """Each place that the answer names, as one can open it, and whether it holds."""
    places = list({(each.path, each.begin, each.end): each for each in citations}.values())
    if not places:
        return
    yield screen.colorize("Sources", "1") if screen.has_colors else "Sources:\n"
    shown = [_format_location(each, root) for each in places]
    wide = max(map(measure_width, shown))
    for each, place in zip(places, shown, strict=True):
        path, _, line = place.rpartition(":")
        painted = f"{screen.colorize(path, PATH_COLOR)}:{screen.colorize(line, LINE_NUMBER_COLOR)}"
        link = screen.link(painted, root / resolve_encoded_path(root, each.path))
        if screen.has_colors:
            gap = " " * (wide - measure_width(place) + 2)
            mark = screen.colorize(each.holds.value, _CITATION_COLORS[each.holds])
            yield f"  {link}{gap}{mark}{_describe_citation(each)}"
        else:
            yield f"- {place} {each.holds.value}{_describe_citation(each)}"


def format_usage(done: TurnDone, price: Price | None) -> Iterable[str]:
    """What was kept back, and what was paid."""
    if done.masked:
        yield f"{_pluralize(done.masked, 'secret')} masked before anything was sent"
    spent = done.spent
    if not spent.input_tokens and not spent.output_tokens:
        return
    about = "" if spent.exact else "about "
    cost = price.compute_cost(spent.input_tokens, spent.output_tokens) if price else None
    paid = "" if cost is None else f", cost {cost:.4f}"
    yield f"{about}{spent.input_tokens} tokens read, {spent.output_tokens} written{paid}"


def _format_location(citation: Citation, root: Path) -> str:
    line = citation.now_begin or citation.begin
    path = root / resolve_encoded_path(root, citation.path)
    return f"{escape_path_for_terminal(format_path(path))}:{line}"


def _describe_citation(citation: Citation) -> str:
    lines = f"lines {citation.begin}-{citation.end}"
    if citation.begin == citation.end:
        lines = f"line {citation.begin}"
    match citation.holds:
        case CitationState.MOVED:
            return f", cited as {lines}"
        case CitationState.STALE:
            return f", {lines}: {escape_line(citation.reason)}"
        case CitationState.VERIFIED:
            return f", {lines}"


def _shorten(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= MAX_QUERY_CHARS else f"{words[: MAX_QUERY_CHARS - 3]}..."


def _pluralize(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def format_begin_line(conversation_id: int, model: str, root: str) -> str:
    """The line before all events."""
    return _dump_line(
        {"type": "begin", "conversationId": conversation_id, "modelName": model, "repo": root}
    )


def format_event_line(event: ShownEvent, price: Price | None) -> str:
    """One event."""
    if isinstance(event, TurnFailed):
        return _dump_line({"type": "error", "code": event.code, "message": event.message})
    part = build_conversation_part(event)
    if not isinstance(event, TurnDone) or price is None:
        return _dump_line(part)
    spent = event.spent
    fields = load_json(dump_json(part))
    fields["cost"] = compute_token_cost(price, spent.input_tokens, spent.output_tokens)
    return _dump_line(fields)


def _dump_line(value: object) -> str:
    return escape_json(dump_json(value).decode())

"""Print the events of a conversation turn.

For people: the retrieval rounds, the answer, its sources and its cost. For programs: one line of
JSON per event.
"""

import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from codekernel.cli.output.markdown import make_answer_writer
from codekernel.cli.output.terminal import (
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
from codekernel.protocol.codec import dump_json, load_json
from codekernel.protocol.messages.conversation import build_conversation_part, compute_token_cost

_CITATION_COLORS = {
    CitationState.VERIFIED: "32",
    CitationState.MOVED: "33",
    CitationState.STALE: "31",
}

# Files named in the line of a round.
MAX_SHOWN_FILES = 3

# Characters of a query in the line of a round.
MAX_QUERY_CHARS = 60

WriteText = Callable[[str], None]


class AnswerPrinter:
    """Prints the answer and its sources with ``write``, everything else to stderr."""

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
        self._style, self._notes_style = answer, notes
        self._write = write
        self._writer = make_answer_writer(answer)
        self._purpose = ""
        self._queries: list[str] = []
        self._paths: list[str] = []

    def show(self, event: ShownEvent) -> None:
        """Print an event."""
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
        lines = list(format_sources(done.citations, self._root, self._style))
        if lines:
            self._write("\n" + "\n".join(lines) + "\n")
        for sentence in format_usage(done, self._price):
            self._print_remark(sentence)
        if done.unsaved:
            print_notice(f"the answer could not be saved. {done.unsaved}")

    def _print_remark(self, sentence: str) -> None:
        if self._notes_style.has_colors:
            remark = self._notes_style.colorize(escape_line(sentence), FAINT_COLOR)
            write_styled(sys.stderr, f"{remark}\n")
            sys.stderr.flush()
        else:
            print_notice(sentence)


def format_round(purpose: str, queries: Iterable[str], paths: list[str]) -> str:
    """Format a retrieval round as one line."""
    files = list(dict.fromkeys(paths))
    found = "nothing new"
    if files:
        more = f" and {len(files) - MAX_SHOWN_FILES} more" if len(files) > MAX_SHOWN_FILES else ""
        found = f"{_pluralize(len(paths), 'place')} in {', '.join(files[:MAX_SHOWN_FILES])}{more}"
    quoted = ", ".join(f'"{_shorten(query)}"' for query in queries)
    return f"{_shorten(purpose)}: {quoted}: {found}"


def format_sources(
    citations: Iterable[Citation], root: Path, style: TerminalStyle
) -> Iterable[str]:
    """Format each cited location as a path that can be opened, and whether it is verified."""
    unique = list({(each.path, each.begin, each.end): each for each in citations}.values())
    if not unique:
        return
    yield style.colorize("Sources", "1") if style.has_colors else "Sources:\n"
    locations = [_format_location(each, root) for each in unique]
    width = max(map(measure_width, locations))
    for each, location in zip(unique, locations, strict=True):
        if not style.has_colors:
            yield f"- {location} {each.holds.value}{_describe_citation(each)}"
            continue
        path, _, line = location.rpartition(":")
        colored = f"{style.colorize(path, PATH_COLOR)}:{style.colorize(line, LINE_NUMBER_COLOR)}"
        link = style.link(colored, root / resolve_encoded_path(root, each.path))
        gap = " " * (width - measure_width(location) + 2)
        state = style.colorize(each.holds.value, _CITATION_COLORS[each.holds])
        yield f"  {link}{gap}{state}{_describe_citation(each)}"


def format_usage(done: TurnDone, price: Price | None) -> Iterable[str]:
    """Format how many secrets were masked, and the tokens and their cost."""
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
    line = " ".join(text.split())
    return line if len(line) <= MAX_QUERY_CHARS else f"{line[: MAX_QUERY_CHARS - 3]}..."


def _pluralize(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def format_begin_line(conversation_id: int, model: str, root: str) -> str:
    """Return the JSON line before all events."""
    return _dump_line(
        {"type": "begin", "conversationId": conversation_id, "modelName": model, "repo": root}
    )


def format_event_line(event: ShownEvent, price: Price | None) -> str:
    """Return the JSON line of an event."""
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

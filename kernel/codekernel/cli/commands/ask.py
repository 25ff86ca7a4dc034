"""``codekernel ask QUESTION``: a chat model answers a question about a folder, with sources.

The turn runs in the kernel. For people its parts are printed as retrieval rounds, the answer, its
sources and its cost; for programs each is a line of JSON.
"""

import argparse
import os
import signal
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from codekernel.cli import model_selection
from codekernel.cli.folder_session import FolderSession, describe_gaps, make_conversation_id
from codekernel.cli.kernel_access import open_kernel
from codekernel.cli.output import terminal
from codekernel.cli.output.markdown import make_answer_writer
from codekernel.cli.output.terminal import OutputStream, TerminalStyle, print_notice
from codekernel.cli.process import ExitCode
from codekernel.cli.project_folder import find_project_root
from codekernel.cli.turn_stream import Part, TurnStream
from codekernel.domain import untrusted_text
from codekernel.domain.settings import Price
from codekernel.domain.turn import Citation, CitationState, TokenUsage, TurnOutcome
from codekernel.domain.turn_events import TurnDone
from codekernel.domain.untrusted_text import escape_line
from codekernel.errors import RefusedByKernel, WrongParam
from codekernel.protocol.envelope import convert_values, dump_json
from codekernel.protocol.messages.conversation import ConversationPart, compute_token_cost
from codekernel.storage.user_data import open_user_data

_EXIT_CODES = {"done": ExitCode.OK, "stopped": ExitCode.INTERRUPTED}

_CITATION_COLORS = {
    CitationState.VERIFIED: "32",
    CitationState.MOVED: "33",
    CitationState.STALE: "31",
}

# Files named in the line of a round.
MAX_SHOWN_FILES = 3

# Characters of a query in the line of a round.
MAX_QUERY_CHARS = 60


def run_ask(args: argparse.Namespace) -> int:
    """Print the answer: OK, ERROR, or INTERRUPTED if it was stopped. Raises KernelError."""
    terminal.use_utf8(sys.stdout)
    question = " ".join(args.question)
    if not question.strip():
        raise WrongParam("the question is empty: say what you want to know")
    root = find_project_root(args.repo)
    user_data = open_user_data(args.user_data, os.environ)
    settings = model_selection.load_settings(user_data.settings_file)
    selection = model_selection.choose_usable_model(settings, args.model, user_data, os.environ)
    model, settings = selection.name, selection.settings
    with open_kernel(args, user_data, "ask") as kernel:
        selection.offer_to(kernel)
        session = FolderSession(kernel)
        kernel.wait_for_reply(session.open(root))
        status = session.wait_for_index(until_complete=args.wait)
        for sentence in describe_gaps(status, wants_vectors=True):
            print_notice(sentence)
        number = _choose_conversation(session, root, is_continued=args.is_continued)
        asked = {"modelName": model, "query": question}
        turn = TurnStream(session, "beginConversation", number, asked)
        output = OutputStream(sys.stdout)
        price = model_selection.get_price(settings, model)
        if args.json:
            begin = {"type": "begin", "conversationId": number, "modelName": model}
            output.write(_dump_line({**begin, "repo": str(root)}))
        show = _make_part_printer(args, root, price, output)
        return _show_turn(turn, show, output)


def _show_turn(turn: TurnStream, show: Callable[[Part], None], output: OutputStream) -> int:
    """Show the turn to its end; stop and keep it where the output is no longer read."""
    code = ExitCode.ERROR
    for part in turn.follow(signal.SIGINT):
        if part is not None:
            show(part)
        if output.is_closed:
            turn.stop()
        if isinstance(part, dict) and part["type"] == "done":
            code = _EXIT_CODES.get(part["outcome"], ExitCode.ERROR)
    return ExitCode.OK if output.is_closed else code


def _make_part_printer(
    args: argparse.Namespace, root: Path, price: Price | None, output: OutputStream
) -> Callable[[Part], None]:
    if args.json:
        return lambda part: output.write(format_part_line(part, price))
    return AnswerPrinter(root, price, output.write, without_colors=args.no_color).show


def _choose_conversation(session: FolderSession, root: Path, *, is_continued: bool) -> int:
    if is_continued:
        if found := session.request("getConversations")["conversations"]:
            return int(found[0]["conversationId"])
        print_notice(f"there is no conversation about {root} yet, so this is a new one")
    return make_conversation_id()


class AnswerPrinter:
    """Prints the answer and its sources with ``write``, everything else to stderr."""

    def __init__(
        self, root: Path, price: Price | None, write: Callable[[str], None], *, without_colors: bool
    ) -> None:
        self._root = root
        self._price = price
        self._style, self._notes_style = (
            terminal.detect_terminal_style(stream, os.environ, without_colors=without_colors)
            for stream in (sys.stdout, sys.stderr)
        )
        self._write = write
        self._writer = make_answer_writer(self._style)
        self._purpose = ""
        self._queries: list[str] = []
        self._paths: list[str] = []

    def show(self, part: Part) -> None:
        """Print a part of the turn."""
        if isinstance(part, RefusedByKernel):
            self._write(self._writer.end())
            print_notice(str(part))
            return
        content = part["content"]
        match part["type"]:
            case "annotation":
                self._purpose, self._queries, self._paths = content, [], []
            case "search":
                self._queries.append(content)
            case "result":
                self._paths.append(content["filePath"])
            case "doneRetrieval":
                self._write(self._writer.end())
                self._print_remark(format_round(self._purpose, self._queries, self._paths))
            case "answer":
                self._write(self._writer.feed(content))
            case "done":
                self._write(self._writer.end())
                self._print_end(parse_done_part(part))

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
            remark = self._notes_style.colorize(escape_line(sentence), terminal.FAINT_COLOR)
            terminal.write_styled(sys.stderr, f"{remark}\n")
            sys.stderr.flush()
        else:
            print_notice(sentence)


def parse_done_part(data: dict[str, Any]) -> TurnDone:
    """Return the end of a turn as a client was told it."""
    part = convert_values(data, ConversationPart)
    return TurnDone(
        TurnOutcome(str(part.outcome)),
        convert_values(part.citations, tuple[Citation, ...]),
        part.masked or 0,
        convert_values(part.usage, TokenUsage),
        unsaved=part.unsaved or "",
    )


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
    files = [root / untrusted_text.resolve_encoded_path(root, each.path) for each in unique]
    paths = [untrusted_text.escape_path_for_terminal(terminal.format_path(file)) for file in files]
    lines = [str(each.now_begin or each.begin) for each in unique]
    widths = [
        terminal.measure_width(f"{path}:{line}") for path, line in zip(paths, lines, strict=True)
    ]
    for each, file, path, line, width in zip(unique, files, paths, lines, widths, strict=True):
        state, described = each.holds.value, _describe_citation(each)
        if not style.has_colors:
            yield f"- {path}:{line} {state}{described}"
            continue
        number = style.colorize(line, terminal.LINE_NUMBER_COLOR)
        link = style.link(f"{style.colorize(path, terminal.PATH_COLOR)}:{number}", file)
        gap = " " * (max(widths) - width + 2)
        yield f"  {link}{gap}{style.colorize(state, _CITATION_COLORS[each.holds])}{described}"


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


def format_part_line(part: Part, price: Price | None) -> str:
    """Return the JSON line of a part."""
    if isinstance(part, RefusedByKernel):
        return _dump_line({"type": "error", "code": part.status, "message": str(part)})
    if part["type"] != "done" or price is None:
        return _dump_line(part)
    spent = parse_done_part(part).spent
    cost = compute_token_cost(price, spent.input_tokens, spent.output_tokens)
    return _dump_line({**part, "cost": cost})


def _dump_line(value: object) -> str:
    return untrusted_text.escape_json(dump_json(value).decode()) + "\n"

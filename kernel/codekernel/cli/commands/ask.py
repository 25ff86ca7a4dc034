"""``codekernel ask QUESTION``: a chat model answers a question about a folder, with sources.

The turn runs on its own thread, so that Ctrl-C can stop it without losing it. For people its events
are printed as retrieval rounds, the answer, its sources and its cost; for programs each is a line
of JSON.
"""

import argparse
import os
import signal
import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

from codekernel.agent.agent_thread import AgentThread
from codekernel.cli import model_selection
from codekernel.cli.folder_index import FolderIndex, describe_missing, open_index_with_bar
from codekernel.cli.output import terminal
from codekernel.cli.output.markdown import make_answer_writer
from codekernel.cli.output.terminal import OutputStream, TerminalStyle, print_notice
from codekernel.cli.process import ExitCode, catch_signals
from codekernel.cli.project_folder import find_project_root
from codekernel.conversation.chat_services import ChatServices
from codekernel.conversation.retriever import RepositoryAccess
from codekernel.conversation.turn import RunningQuestionTurn
from codekernel.domain import turn_events as happened
from codekernel.domain import untrusted_text
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.index import Hit, Repo
from codekernel.domain.turn import Citation, CitationState, Price, TurnOutcome
from codekernel.domain.turn_events import ShownEvent, TurnDone
from codekernel.domain.untrusted_text import escape_line
from codekernel.errors import StorageError, WrongParam
from codekernel.protocol.envelope import dump_json, load_json
from codekernel.protocol.messages.conversation import build_conversation_part, compute_token_cost
from codekernel.search.pipeline import RerankFunction, Searcher
from codekernel.settings.chat_models import choose_model
from codekernel.storage.user_data import open_user_data

_EXIT_CODES = {TurnOutcome.DONE: ExitCode.OK, TurnOutcome.STOPPED: ExitCode.INTERRUPTED}

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
    settings, plan = model_selection.load_settings_and_plan(user_data.settings_file)
    model = choose_model(settings, args.model, user_data.settings_file)
    with ExitStack() as held:
        services = held.enter_context(closing(ChatServices(user_data, settings)))
        services.check_model(model)  # first, because it may fail
        repo = _find_repository(services, root)
        folder = (
            user_data.repo_index_folder(repo.id) if repo else user_data.folder_index_folder(root)
        )
        pool = model_selection.get_model_pool
        index = held.enter_context(
            open_index_with_bar(root, folder, plan, pool, until_complete=args.wait)
        )
        for sentence in describe_missing(index):
            print_notice(sentence)
        reranker = held.enter_context(model_selection.open_selected_reranker(settings))
        services.recover_interrupted_turns()
        number = _choose_conversation(services, root, is_continued=args.is_continued)
        cancel = CancelToken()
        access = _bind_repository(root, index, reranker, repo)
        turn = services.conversations.begin(number, question, model, access, cancel)
        output = OutputStream(sys.stdout)
        price = model_selection.get_price(settings, model)
        if args.json:
            begin = {"type": "begin", "conversationId": number, "modelName": model}
            output.write(_dump_line({**begin, "repo": str(root)}))
        show = _make_event_printer(args, root, price, output)
        return _show_turn(turn, cancel, show, output)


def _show_turn(
    turn: RunningQuestionTurn,
    cancel: CancelToken,
    show: Callable[[ShownEvent], None],
    output: OutputStream,
) -> int:
    """Show the turn to its end; stop and keep it where the output is no longer read."""
    code = ExitCode.ERROR
    with closing(_follow_turn(turn, cancel)) as events:
        for event in events:
            show(event)
            if output.is_closed:
                cancel.cancel()
            if isinstance(event, TurnDone):
                code = _EXIT_CODES.get(event.outcome, ExitCode.ERROR)
    return ExitCode.OK if output.is_closed else code


def _follow_turn(
    turn: RunningQuestionTurn, cancel: CancelToken
) -> Generator[ShownEvent, None, None]:
    """Run the turn on a thread and yield its events.

    The first Ctrl-C stops the turn, whose end is waited for; the second one raises
    KeyboardInterrupt. Closing the generator stops a turn in progress.
    """

    def run() -> Iterator[ShownEvent]:
        with turn:
            yield from turn.stream_events()

    thread = AgentThread(cancel)
    with (
        catch_signals(signal.SIGINT, wake=thread.wake) as interrupted,
        closing(thread.follow(run())) as followed,
    ):
        for event in followed:
            if interrupted.is_set():
                cancel.cancel()
            if isinstance(event, ShownEvent):
                yield event


def _make_event_printer(
    args: argparse.Namespace, root: Path, price: Price | None, output: OutputStream
) -> Callable[[ShownEvent], None]:
    if args.json:
        return lambda event: output.write(format_event_line(event, price))
    return AnswerPrinter(root, price, output.write, without_colors=args.no_color).show


def _bind_repository(
    root: Path, index: FolderIndex, reranker: RerankFunction | None, repo: Repo | None
) -> RepositoryAccess:
    """Return the folder's access for a conversation."""

    def search(query: str, limit: int, cancel: CancelToken) -> list[Hit]:
        # A new searcher each time, because vectors may have been completed meanwhile.
        searcher = Searcher(root, index.get_searchable(), reranker, index.throttle)
        return searcher.run_search(query, limit, cancel, accuracy=True).hits

    return RepositoryAccess(root, search, lambda: index.store.catalog, repo.id if repo else None)


def _find_repository(services: ChatServices, root: Path) -> Repo | None:
    try:
        return services.find_repository(root)
    except StorageError as error:
        print_notice(f"{error} So this question uses an index of the folder's own.")
        return None


def _choose_conversation(services: ChatServices, root: Path, *, is_continued: bool) -> int:
    number = services.conversations.find_latest(str(root)) if is_continued else None
    if number is None and is_continued:
        print_notice(f"there is no conversation about {root} yet, so this is a new one")
    return services.make_conversation_id() if number is None else number


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

    def show(self, event: ShownEvent) -> None:
        """Print an event."""
        match event:
            case happened.RetrievalAnnotated(purpose):
                self._purpose, self._queries, self._paths = purpose, [], []
            case happened.SearchIssued(query):
                self._queries.append(query)
            case happened.ExcerptRetrieved(excerpt):
                self._paths.append(excerpt.path)
            case happened.RetrievalDone():
                self._write(self._writer.end())
                self._print_remark(format_round(self._purpose, self._queries, self._paths))
            case happened.AnswerDelta(text):
                self._write(self._writer.feed(text))
            case happened.TurnFailed(_, message):
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
            remark = self._notes_style.colorize(escape_line(sentence), terminal.FAINT_COLOR)
            terminal.write_styled(sys.stderr, f"{remark}\n")
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


def format_event_line(event: ShownEvent, price: Price | None) -> str:
    """Return the JSON line of an event."""
    if isinstance(event, happened.TurnFailed):
        return _dump_line({"type": "error", "code": event.code, "message": event.message})
    part = build_conversation_part(event)
    if not isinstance(event, TurnDone) or price is None:
        return _dump_line(part)
    spent = event.spent
    cost = compute_token_cost(price, spent.input_tokens, spent.output_tokens)
    return _dump_line({**load_json(dump_json(part)), "cost": cost})


def _dump_line(value: object) -> str:
    return untrusted_text.escape_json(dump_json(value).decode()) + "\n"

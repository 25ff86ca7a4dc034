"""``codekernel impact``, ``history`` and ``related``: questions about a place in the code."""

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from codekernel.callgraph.test_ranking import explain_test
from codekernel.cli.commands.search import build_hit
from codekernel.cli.folder_session import FolderSession
from codekernel.cli.kernel_access import open_kernel
from codekernel.cli.output import search_results, terminal
from codekernel.cli.output.search_results import SearchResultPage, join_blocks
from codekernel.cli.output.terminal import StatusLine, TerminalStyle, format_path
from codekernel.cli.process import ExitCode
from codekernel.cli.project_folder import find_project_root
from codekernel.domain.untrusted_text import (
    decode_path,
    escape_controls_in_json,
    escape_line,
    escape_path_for_terminal,
)
from codekernel.errors import RefusedByKernel, WrongParam
from codekernel.storage.user_data import open_user_data

# Of each list of an impact; --json has all.
MAX_ROWS = 60

_SHORT_ID = 9

_CERTAIN = "certain"

Fields = dict[str, Any]


def run_impact(args: argparse.Namespace) -> int:
    """Print what a change reaches; OK if anything does, else FAILED. Raises KernelError."""
    fields = {"depth": args.depth} if args.depth else {}
    root, reply = _ask(args, "getImpact", {"place": _name_place(args), **fields})
    if args.json:
        _print_json(reply)
    else:
        terminal.write_lines(_format_impact(_PlacePrinter.for_stdout(args, root), reply))
    return ExitCode.OK if reply["callers"] or reply["tests"] else ExitCode.FAILED


def run_history(args: argparse.Namespace) -> int:
    """Print the commits behind a place; OK if there are any, else FAILED. Raises KernelError."""
    fields = {"limit": args.limit} if args.limit else {}
    root, reply = _ask(args, "getLineHistory", {"place": _name_place(args), **fields})
    if args.json:
        _print_json(reply)
    else:
        terminal.write_lines(_format_history(_PlacePrinter.for_stdout(args, root), reply))
    return ExitCode.OK if reply["commits"] else ExitCode.FAILED


def run_related(args: argparse.Namespace) -> int:
    """Print code like a place; OK if there is any, else FAILED. Raises KernelError."""
    fields = {"limit": args.limit} if args.limit else {}
    asked = {"place": _name_place(args), **fields}
    root, reply = _ask(args, "findRelated", asked, wants_vectors=True)
    results = reply["results"]
    if args.json:
        _print_json(results)
        return ExitCode.OK if results else ExitCode.FAILED
    screen = terminal.detect_terminal_style(sys.stdout, os.environ, without_colors=args.no_color)
    hits = [build_hit(result) for result in results]
    if args.files:
        terminal.write_lines(search_results.format_paths(hits, root, screen))
    else:
        page = SearchResultPage(root, search_results.parse_highlight_terms(""), screen, False)  # noqa: FBT003
        terminal.write_lines(join_blocks(page.format_blocks(hits)))
    return ExitCode.OK if hits else ExitCode.FAILED


def _name_place(args: argparse.Namespace) -> str:
    """Return the place with a path from here as one of the repository, if it is a file here."""
    place: str = args.place
    for end in (len(place), *(at for at, letter in enumerate(place) if letter == ":")):
        if end and Path(place[:end]).exists():
            return f"{os.path.abspath(place[:end])}{place[end:]}"  # noqa: PTH100 - a link keeps its name
    return place


def _ask(
    args: argparse.Namespace, message_type: str, fields: Fields, *, wants_vectors: bool = False
) -> tuple[Path, Any]:
    """Ask the repository, once it is indexed. Raises KernelError."""
    terminal.use_utf8(sys.stdout)
    root = find_project_root(args.repo)
    user_data = open_user_data(args.user_data, os.environ)
    with open_kernel(args, user_data, message_type) as kernel:
        session = FolderSession(kernel)
        try:
            kernel.wait_for_reply(session.open(root))
            session.wait_for_index(wants_vectors=wants_vectors, until_complete=False)
            status = StatusLine(sys.stderr)
            status.draw("reading the code; the first time takes longest")
            try:
                return root, session.request(message_type, **fields)
            finally:
                status.clear()
        except RefusedByKernel as error:
            raise WrongParam(str(error)) from error


def _print_json(content: Any) -> None:
    terminal.write_lines([escape_controls_in_json(json.dumps(content, indent=1))])


class _PlacePrinter:
    """Formats places for a person."""

    def __init__(self, root: Path, screen: TerminalStyle) -> None:
        self._root = root
        self._screen = screen

    @classmethod
    def for_stdout(cls, args: argparse.Namespace, root: Path) -> "_PlacePrinter":
        style = terminal.detect_terminal_style(sys.stdout, os.environ, without_colors=args.no_color)
        return cls(root, style)

    def format_place(self, path: str, line: int) -> str:
        """Return ``path:line``, the path from here."""
        file = self._root / decode_path(path)
        shown = self._screen.colorize(
            escape_path_for_terminal(format_path(file)), terminal.PATH_COLOR
        )
        if not line:
            return shown
        return f"{shown}:{self._screen.colorize(str(line), terminal.LINE_NUMBER_COLOR)}"

    def format_definition(self, each: Fields) -> str:
        """Return the place and the name of a definition."""
        place = self.format_place(each["filePath"], each["firstLine"])
        name = "top level" if each["kind"] == "file" else escape_line(each["name"])
        doubt = each.get("certainty", _CERTAIN)
        return f"{place}  {name}" + ("" if doubt == _CERTAIN else f"  [{doubt}]")

    def fade(self, text: str) -> str:
        """Return a remark."""
        return self._screen.colorize(text, terminal.FAINT_COLOR)


def _format_impact(printer: _PlacePrinter, reply: Fields) -> Iterator[str]:
    changed, callers, tests = reply["changed"], reply["callers"], reply["tests"]
    yield "changes:"
    yield from _format_rows(printer, changed)
    for distance, group in groupby(callers, lambda each: each["distance"]):
        yield f"{distance} call{'s' if distance > 1 else ''} away:"
        yield from _format_rows(printer, list(group))
    yield from _format_tests(printer, tests, len(tests) + reply["weakTests"])
    files = len({each["filePath"] for each in callers})
    yield f"{len(callers)} definitions in {files} files, within {reply['depth']} calls"
    if reply["leftOut"]:
        yield printer.fade(f"{reply['leftOut']} more were not followed")
    if reply["behind"]:
        yield printer.fade(f"{reply['behind']} files are still being read: ask again")
    yield printer.fade(f"not seen: {reply['unseen']}")


def _format_tests(printer: _PlacePrinter, tests: Sequence[Fields], every: int) -> Iterator[str]:
    if not tests:
        yield "no test was found for it"
        return
    yield f"tests, {len(tests)} of {every} with any evidence, strongest first:"
    for each in tests:
        why = explain_test(each["distance"], each["certainty"], each["reasons"])
        yield f"  {printer.format_definition({**each, 'certainty': _CERTAIN})}  {printer.fade(why)}"


def _format_rows(printer: _PlacePrinter, rows: Sequence[Fields]) -> Iterator[str]:
    for each in rows[:MAX_ROWS]:
        yield f"  {printer.format_definition(each)}"
    if len(rows) > MAX_ROWS:
        yield f"  and {len(rows) - MAX_ROWS} more"


def _format_history(printer: _PlacePrinter, reply: Fields) -> Iterator[str]:
    commits = reply["commits"]
    more = "+" if reply["hasMore"] else ""
    place = printer.format_place(reply["filePath"], reply["firstLine"])
    last = f"-{reply['lastLine']}" if reply["lastLine"] > reply["firstLine"] else ""
    yield f"{place}{last}: {len(commits)}{more} commits"
    for each in commits:
        lines = f"  (lines {format_ranges(each['lines'])})" if each["lines"] else ""
        head = f"{each['id'][:_SHORT_ID]} {each['date']} {escape_line(each['author'])}"
        yield f"{printer.fade(head)}  {escape_line(each['subject'])}{lines}"
        for line in each["body"].splitlines():
            if line.strip():
                yield f"    {escape_line(line)}"
    if reply["uncommitted"]:
        yield f"not committed: lines {format_ranges(reply['uncommitted'])}"
    yield from map(printer.fade, map(escape_line, reply["remarks"]))


def format_ranges(lines: Sequence[int]) -> str:
    """Return ``4-6,9`` for 4, 5, 6, 9."""
    ranges = []
    for _, group in groupby(enumerate(sorted(lines)), lambda pair: pair[1] - pair[0]):
        numbers = [line for _, line in group]
        first, last = numbers[0], numbers[-1]
        ranges.append(str(first) if first == last else f"{first}-{last}")
    return ",".join(ranges)

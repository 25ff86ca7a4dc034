"""``codekernel search QUERY``: search any folder, several repositories, or the URL of one."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from codekernel.cli.kernel_access import open_kernel
from codekernel.cli.output import search_results, terminal
from codekernel.cli.output.search_results import (
    MAX_SNIPPET_LINES,
    HighlightTerms,
    SearchResultPage,
    join_blocks,
)
from codekernel.cli.process import ExitCode
from codekernel.cli.search_targets import (
    build_query,
    find_folders,
    is_stdout_terminal,
    locate_root,
    search_targets,
    take_first_place,
)
from codekernel.domain.index import Hit, IndexedChunk, Signal
from codekernel.domain.untrusted_text import decode_path, escape_controls_in_json
from codekernel.storage.user_data import open_user_data

# On a terminal, of every hit but the best: all of them on one screen.
FURTHER_SNIPPET_LINES = 3

Result = dict[str, Any]


def run_search(args: argparse.Namespace) -> int:
    """Print the best hits; OK if there are any, else FAILED. Raises KernelError."""
    terminal.use_utf8(sys.stdout)
    places, words = take_first_place(args.query)
    query = build_query(args, words)
    terms = search_results.parse_highlight_terms(query)  # first, because it may refuse the query
    if args.base:
        from codekernel.cli.commands.search_base import find_in_base  # LanceDB

        results = find_in_base(args, query)
        _print_results(args, terms, Path(), results)
        return ExitCode.OK if results else ExitCode.FAILED
    user_data = open_user_data(args.user_data, os.environ)
    folders = find_folders(args, places, query, user_data)
    fields: dict[str, Any] = {
        "query": query,
        "accuracy": args.accuracy,
        "explain": args.explain,
        # Literals are searched for in the text, so no vectors are waited for.
        "semantic": not args.words and not terms.literals,
    }
    if args.limit:
        fields["limit"] = args.limit
    with open_kernel(args, user_data, "search") as kernel:
        results, gaps = search_targets(kernel, folders, fields, until_complete=args.wait)
    for sentence in gaps:
        terminal.print_notice(sentence)
    _print_results(args, terms, locate_root(folders), results)
    if args.open and results:
        _open_best(results[0], locate_root(folders), terms)
    return ExitCode.OK if results else ExitCode.FAILED


def _print_results(
    args: argparse.Namespace, terms: HighlightTerms, root: Path, results: Sequence[Result]
) -> None:
    if args.json:
        terminal.write_lines([escape_controls_in_json(json.dumps(results, indent=1))])
    elif args.jsonl:
        lines = (json.dumps(add_line_numbers(result, terms)) for result in results)
        terminal.write_lines(map(escape_controls_in_json, lines))
    else:
        _print_hits(args, terms, root, [build_hit(result) for result in results])


def add_line_numbers(result: Result, terms: HighlightTerms) -> Result:
    """Return a result with lines as editors count them: from 1, the last one included."""
    snippet = search_results.select_snippet(result["content"], result["beginLine"], terms)
    lines = {
        "line": result["beginLine"] + 1,
        "lastLine": max(result["beginLine"] + 1, result["endLine"]),
    }
    return {**result, **lines, "bestLine": snippet.best_line}


def build_hit(result: Result) -> Hit:
    """Return a result of the protocol as a hit; of several repositories with its whole path."""
    path = decode_path(result["filePath"])
    if root := result.get("repoPath"):
        path = str(Path(root) / path)
    chunk = IndexedChunk(
        begin_line=result["beginLine"],
        end_line=result["endLine"],
        begin=0,
        end=len(result["content"]),
        symbols=(result["symbol"],) if result["symbol"] else (),
        id=result["chunkId"],
        path=path,
        language=result["language"],
        max_chunk_chars=0,
        text_hash=0,
    )
    signals = {Signal(name): value for name, value in result.get("why", {}).items()}
    return Hit(chunk, result["content"], result["score"], result["freshness"], signals)


def _print_hits(
    args: argparse.Namespace, terms: HighlightTerms, root: Path, hits: Sequence[Hit]
) -> None:
    screen = terminal.detect_terminal_style(sys.stdout, os.environ, without_colors=args.no_color)
    if args.files:
        terminal.write_lines(search_results.format_paths(hits, root, screen))
        return
    max_lines = (MAX_SNIPPET_LINES, MAX_SNIPPET_LINES)
    if args.context is not None:
        max_lines = (2 * args.context + 1, 2 * args.context + 1)
    elif is_stdout_terminal() and not args.full:
        max_lines = (MAX_SNIPPET_LINES, FURTHER_SNIPPET_LINES)
    page = SearchResultPage(root, terms, screen, args.explain, max_lines)
    _write_blocks(page.format_blocks(hits), use_pager=not args.no_pager)


def _write_blocks(blocks: list[list[str]], *, use_pager: bool) -> None:
    """Write hits so that the best one is seen: at the top of a pager, or at the end."""
    lines = list(join_blocks(blocks))
    if is_stdout_terminal():
        from codekernel.cli.output.pager import find_pager, has_overflow, show_in_pager

        if has_overflow(sys.stdout, lines):
            pager = find_pager(os.environ) if use_pager else []
            if pager and show_in_pager(pager, lines):
                return
            lines = list(join_blocks(blocks[::-1]))
    terminal.write_lines(lines)


def _open_best(result: Result, root: Path, terms: HighlightTerms) -> None:
    from codekernel.cli.editor import open_place

    line = add_line_numbers(result, terms)["bestLine"]
    open_place(Path(result.get("repoPath") or root), result["filePath"], line)

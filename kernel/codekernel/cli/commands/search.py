"""``codekernel search QUERY``: search any folder."""

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from codekernel.cli.folder_session import FolderSession
from codekernel.cli.kernel_access import open_kernel
from codekernel.cli.output import search_results, terminal
from codekernel.cli.output.search_results import HighlightTerms, SearchResultPage
from codekernel.cli.process import ExitCode
from codekernel.cli.project_folder import find_project_root
from codekernel.domain.index import Hit, IndexedChunk, Signal
from codekernel.domain.untrusted_text import decode_path, escape_controls_in_json
from codekernel.errors import RefusedByKernel, WrongParam
from codekernel.storage.user_data import open_user_data


def run_search(args: argparse.Namespace) -> int:
    """Print the best hits; OK if there are any, else FAILED. Raises KernelError."""
    terminal.use_utf8(sys.stdout)
    query = " ".join(args.query)
    if not query.strip():
        raise WrongParam("the query is empty: say what to look for")
    terms = search_results.parse_highlight_terms(query)  # first, because it may refuse the query
    root = find_project_root(args.repo)
    user_data = open_user_data(args.user_data, os.environ)
    fields: dict[str, Any] = {
        "query": query,
        "accuracy": args.accuracy,
        "explain": args.explain,
        # Literals are searched for in the text, so no vectors are waited for.
        "semantic": not args.words and not terms.literals,
    }
    if args.limit:
        fields["limit"] = args.limit
    try:
        with open_kernel(args, user_data, "search") as kernel:
            session = FolderSession(kernel)
            results, gaps = session.search(root, fields, until_complete=args.wait)
    except RefusedByKernel as error:
        raise WrongParam(str(error)) from error
    for sentence in gaps:
        terminal.print_notice(sentence)
    if args.json:
        terminal.write_lines([escape_controls_in_json(json.dumps(results, indent=1))])
    else:
        hits = [build_hit(result) for result in results]
        terminal.write_lines(_format_output(args, terms, root, hits))
    return ExitCode.OK if results else ExitCode.FAILED


def build_hit(result: dict[str, Any]) -> Hit:
    """Return a result of the protocol as a hit."""
    chunk = IndexedChunk(
        begin_line=result["beginLine"],
        end_line=result["endLine"],
        begin=0,
        end=len(result["content"]),
        symbols=(result["symbol"],) if result["symbol"] else (),
        id=result["chunkId"],
        path=decode_path(result["filePath"]),
        language=result["language"],
        max_chunk_chars=0,
        text_hash=0,
    )
    signals = {Signal(name): value for name, value in result.get("why", {}).items()}
    return Hit(chunk, result["content"], result["score"], result["freshness"], signals)


def _format_output(
    args: argparse.Namespace, terms: HighlightTerms, root: Path, hits: Sequence[Hit]
) -> Iterator[str]:
    screen = terminal.detect_terminal_style(sys.stdout, os.environ, without_colors=args.no_color)
    if args.files:
        yield from search_results.format_paths(hits, root, screen)
    else:
        yield from SearchResultPage(root, terms, screen, args.explain).format_lines(hits)

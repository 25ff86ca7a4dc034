"""``codekernel search QUERY``: search any folder in the shared kernel, or standalone."""

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from codekernel.cli.main import STANDALONE_ENV_VARIABLE
from codekernel.cli.output import search_results, terminal
from codekernel.cli.output.progress_bar import ProgressBar
from codekernel.cli.output.search_results import HighlightTerms, SearchResultPage
from codekernel.cli.process import ExitCode
from codekernel.cli.project_folder import find_project_root
from codekernel.client.launcher import wants_standalone
from codekernel.domain.index import Hit, IndexedChunk, Signal
from codekernel.domain.untrusted_text import decode_path, escape_controls_in_json
from codekernel.errors import (
    EndpointUnavailable,
    KernelUnavailable,
    RefusedByKernel,
    WrongParam,
)
from codekernel.storage.user_data import UserData, open_user_data


def run_search(args: argparse.Namespace) -> int:
    """Print the best hits; OK if there are any, else FAILED. Raises KernelError."""
    terminal.use_utf8(sys.stdout)
    query = " ".join(args.query)
    if not query.strip():
        raise WrongParam("the query is empty: say what to look for")
    terms = search_results.parse_highlight_terms(query)  # first, because it may refuse the query
    root = find_project_root(args.repo)
    user_data = open_user_data(args.user_data, os.environ)
    standalone = args.standalone or bool(os.environ.get(STANDALONE_ENV_VARIABLE))
    if not standalone and not wants_standalone(user_data.root):
        try:
            return _search_in_kernel(args, query, terms, root, user_data)
        except (EndpointUnavailable, KernelUnavailable) as error:
            terminal.print_notice(f"{error}; this search has an index of its own")
    return _search_standalone(args, query, terms, root, user_data)


def _search_in_kernel(
    args: argparse.Namespace, query: str, terms: HighlightTerms, root: Path, user_data: UserData
) -> int:
    from codekernel.cli.kernel_search import search_in_kernel  # noqa: PLC0415 - not standalone

    fields: dict[str, Any] = {
        "query": query,
        "accuracy": args.accuracy,
        "explain": args.explain,
        # Literals are searched for in the text, so no vectors are waited for.
        "semantic": not args.words and not terms.literals,
    }
    if args.limit:
        fields["limit"] = args.limit
    bar = ProgressBar(sys.stderr)
    try:
        answer = search_in_kernel(user_data.root, root, fields, bar, until_complete=args.wait)
    except RefusedByKernel as error:
        raise WrongParam(str(error)) from error
    finally:
        bar.clear()
    for sentence in answer.notices:
        terminal.print_notice(sentence)
    if args.json:
        terminal.write_lines([escape_controls_in_json(json.dumps(answer.results, indent=1))])
    else:
        hits = [build_hit(result) for result in answer.results]
        terminal.write_lines(_format_output(args, terms, root, hits))
    return ExitCode.OK if answer.results else ExitCode.FAILED


def _search_standalone(
    args: argparse.Namespace, query: str, terms: HighlightTerms, root: Path, user_data: UserData
) -> int:
    from codekernel.cli.standalone_search import search_standalone  # noqa: PLC0415 - heavy

    hits = search_standalone(
        root,
        user_data,
        query,
        args.limit,
        semantic=not args.words and not terms.literals,
        accuracy=args.accuracy,
        until_complete=args.wait,
    )
    if args.json:
        terminal.write_lines([search_results.format_json(hits, query, explain=args.explain)])
    else:
        terminal.write_lines(_format_output(args, terms, root, hits))
    return ExitCode.OK if hits else ExitCode.FAILED


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

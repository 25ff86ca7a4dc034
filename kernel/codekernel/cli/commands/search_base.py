"""``codekernel search --base NAME``: all repositories of a team's base, without a kernel."""

import argparse
import os
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from codekernel.base.base_place import find_base_place
from codekernel.base.base_reader import OpenedBase, open_base
from codekernel.base.whole_base import WholeBase, WholeBaseSearcher
from codekernel.cli.model_selection import load_settings
from codekernel.cli.output import terminal
from codekernel.cli.team_access import open_team
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.index import Hit, format_symbol_path
from codekernel.domain.settings import RemoteModel
from codekernel.domain.untrusted_text import encode_path
from codekernel.errors import WrongParam
from codekernel.indexing.index_plan import IndexPlan, build_index_plan
from codekernel.inference.model_folder import read_model_folder
from codekernel.inference.model_pool import Embedder, ModelPool
from codekernel.search.query_syntax import parse_search_expression
from codekernel.storage.user_data import open_user_data


def find_in_base(args: argparse.Namespace, query: str) -> list[dict[str, Any]]:
    """Return results in the form of the protocol. Raises KernelError."""
    expression = parse_search_expression(query)
    if expression.is_literal:
        raise WrongParam(
            "exact text and regular expressions are looked for where the files are: in a checkout"
        )
    user_data = open_user_data(args.user_data, os.environ)
    settings = load_settings(user_data.settings_file)
    plan = build_index_plan(settings, is_certain=True)
    with open_team(user_data, settings.sharing) as team, ExitStack() as closing:
        base = open_base(find_base_place(team.open_store(), args.base, os.environ))
        embedder = None if args.words else _acquire_embedder(base, plan, closing)
        if embedder is None and not args.words:
            terminal.print_notice(
                f"the base {args.base} was built with a model that is not selected here: it is"
                " searched by words alone"
            )
        whole = WholeBase(base, embedder, expression.filters)
        searcher = WholeBaseSearcher(Path(), whole, describe_gap=whole.describe_gap)
        limit = args.limit or settings.search_limit
        found = searcher.run_search(query, limit, CancelToken(), accuracy=False)
    if found.gap:
        terminal.print_notice(found.gap)
    return [_present(hit) for hit in found.hits]


def _acquire_embedder(base: OpenedBase, plan: IndexPlan, closing: ExitStack) -> Embedder | None:
    """Return the model of a base, if it is one of those that are selected."""
    for config in plan.configs:
        if isinstance(config.model, RemoteModel):
            continue
        if read_model_folder(config.model).fingerprint == base.manifest.model:
            acquired = ModelPool().acquire_embedder(config.model, plan.performance)
            return closing.enter_context(acquired)
    return None


def _present(hit: Hit) -> dict[str, Any]:
    chunk = hit.chunk
    return {
        "content": hit.content,
        "beginLine": chunk.begin_line,
        "endLine": chunk.end_line,
        "filePath": encode_path(chunk.path),
        "score": round(hit.score, 4),
        "chunkId": chunk.id,
        "symbol": format_symbol_path(chunk.symbols),
        "language": chunk.language,
        "freshness": hit.freshness,
        "why": {signal.value: round(gain, 4) for signal, gain in hit.signals.items()},
    }

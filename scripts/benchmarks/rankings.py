"""Whether searches answer as before: ``rankings.py --repos DIR --out FILE [--before FILE]``.

Writes all that is ranked for the queries of the benchmark, in English and Chinese, the subjects of
commits, names and paths of the repositories, with and without a reranker and filters, and of all
repositories together: paths, lines, scores and signals to the last bit, and the results as they are
sent. ``--before`` compares with the file of another checkout, which must have used the same indexes
(``CODEKERNEL_BENCH_CACHE``): indexing again orders rows otherwise.
"""

import argparse
import hashlib
import json
import os
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import rivals
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.index import Hit
from codekernel.errors import WrongParam
from codekernel.protocol.envelope import dump_json
from codekernel.search.federation import FederatedQuery, search_repositories
from codekernel.search.highlight import Highlighter, build_search_result
from codekernel.search.pipeline import Searcher
from kernel_searchers import Static
from rival_venv import ROOT

LIMITS = (10, 100)
# Of each repository.
NAMES = 20
FEDERATED_STEP = 8
FILTERS = ("{} lang:python -path:test", "{} kind:code", "{} path:src")

Row = list[object]


def main() -> int:
    """Write the rankings; 0 if none differs from before."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bench", type=Path, default=ROOT.parent / "shared" / "bench")
    parser.add_argument("--repos", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=[], help="names of repositories")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--before", type=Path)
    options = parser.parse_args()
    if "CODEKERNEL_BENCH_CACHE" not in os.environ:
        sys.exit("CODEKERNEL_BENCH_CACHE must name the folder of the indexes.")
    model = Static()
    roots = rivals.repositories(options.bench, options.repos, options.only)
    handles = {name: model.index(root) for name, root in roots.items()}
    try:
        searchers = {name: handle[1] for name, handle in handles.items()}
        lists = dict(rank_all(options.bench, searchers))
    finally:
        for handle in handles.values():
            model.close(handle)
    options.out.write_text(json.dumps(lists), encoding="utf-8")
    print(f"{len(lists)} lists of {sum(map(len, lists.values()))} results")
    if not options.before:
        return 0
    before = json.loads(options.before.read_bytes())
    now = json.loads(options.out.read_bytes())
    different = [key for key in before.keys() | now.keys() if before.get(key) != now.get(key)]
    for key in sorted(different)[:10]:
        print(f"different: {key}")
    print(f"{len(different)} lists differ")
    return 1 if different else 0


def rank_all(bench: Path, searchers: dict[str, Searcher]) -> Iterator[tuple[str, list[Row]]]:
    """Yield every list by what was asked."""
    asked: list[str] = []
    for name, searcher in searchers.items():
        print(f"{name} ...", file=sys.stderr, flush=True)
        reranked = Searcher(searcher.root, searcher.index, rate_lengths)
        for query in list_queries(bench, name, searcher):
            asked.append(query)
            for limit in LIMITS:
                yield f"{name}, {limit}: {query}", rank(searcher, query, limit)
            yield f"{name}, accuracy: {query}", rank(reranked, query, LIMITS[0])
    opened = {name: partial(_open, each) for name, each in searchers.items()}
    for query in asked[::FEDERATED_STEP]:
        found = search_repositories(opened, FederatedQuery(query, LIMITS[0]), CancelToken())
        marked = Highlighter(found.highlight_terms)
        rows = [[name, *describe_hit(hit, marked)] for name, hit in found.hits]
        yield f"all: {query}", rows


def list_queries(bench: Path, name: str, searcher: Searcher) -> Iterator[str]:
    """Yield what is asked of one repository."""
    rows = json.loads((bench / "queries" / f"{name}.json").read_bytes())
    for row in rows:
        yield row["query"]
        if row.get("zh"):
            yield row["zh"]
    for filtered in FILTERS:
        yield from (filtered.format(row["query"]) for row in rows[:NAMES:4])
    for row in json.loads((bench / "hist" / "queries" / f"{name}.json").read_bytes())[:NAMES]:
        yield row["query"]
        yield row["long"]
    catalog = searcher.index.store.catalog
    paths = sorted(catalog.list_files())
    yield from paths[:: max(1, len(paths) // NAMES)]
    yield from (f"ValueError: cannot read {path}:12" for path in paths[:: max(1, len(paths) // 8)])
    pairs = sorted(catalog.list_symbol_names(10_000))
    names = [own[0] for _, own in pairs if own]
    yield from names[:: max(1, len(names) // NAMES)]


def rank(searcher: Searcher, query: str, limit: int) -> list[Row]:
    """Return what one repository answers, and the order of everything that was ranked."""
    is_accurate = searcher.rerank is not None
    try:
        found = searcher.run_search(query, limit, CancelToken(), accuracy=is_accurate)
    except WrongParam as refusal:  # no file is as a filter wants it
        return [["refused", str(refusal)]]
    marked = Highlighter(found.highlight_terms)
    rows = [describe_hit(hit, marked) for hit in found.hits]
    return [*rows, [[each.path, each.begin_line, each.end_line] for each in found.ranked]]


def describe_hit(hit: Hit, marked: Highlighter) -> Row:
    """Return where a hit is, its score, the signals in their order, and a digest of the result."""
    sent = dump_json(build_search_result(hit, marked, explain=True))
    signals = [[signal.value, gain] for signal, gain in hit.signals.items()]
    place = [hit.chunk.path, hit.chunk.begin_line, hit.chunk.end_line]
    return [*place, hit.score, signals, hashlib.sha256(sent).hexdigest()[:16]]


def rate_lengths(_query: str, texts: Sequence[str]) -> list[float]:
    """Return an opinion on each text that is the same with every run."""
    return [len(text) % 97 / 970 for text in texts]


def _open(searcher: Searcher) -> tuple[Searcher, str]:
    return searcher, ""


if __name__ == "__main__":
    sys.exit(main())

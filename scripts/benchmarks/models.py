"""How well each model in the box finds code, alone and fused with BM25, in English and Chinese.

Runs ``score.py`` of the retrieval benchmark (``--bench``, by default ../shared/bench beside the
project) on repositories that its ``checkout.py`` laid out (``--repos``). Without ``--all`` on the
fifteen smaller ones, because the transformer needs hours for the rest.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SEARCHERS = ("Bm25", "Static", "StaticFused", "Transformer", "TransformerFused")
SMALLER = (
    "aeson", "axios", "axum", "cobra", "fastapi", "guzzle", "ktor", "model2vec", "monolog", "nvm",
    "phoenix", "rack", "requests", "telescope.nvim", "trpc",
)  # fmt: skip


def main() -> int:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bench", type=Path, default=ROOT.parent / "shared" / "bench")
    parser.add_argument("--repos", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--searchers", nargs="*", default=SEARCHERS)
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    names = [row["name"] for row in json.loads((options.bench / "repos.json").read_bytes())]
    chosen = options.only or [name for name in names if options.all or name in SMALLER]
    print(f"NDCG@10 over {len(chosen)} repositories\n")
    print("| searcher | English | file name not in query | Chinese |")
    print("|---|---|---|---|")
    for searcher in options.searchers:
        english = _score(options, searcher, chosen, [])
        chinese = _score(options, searcher, chosen, ["--zh"])
        name = english["name"]
        print(f"| {name} | {english['all']:.3f} | {english['hard']:.3f} | {chinese['all']:.3f} |")
        sys.stdout.flush()
    return 0


def _score(
    options: argparse.Namespace, searcher: str, names: list[str], more: list[str]
) -> dict[str, Any]:
    module = Path(__file__).with_name("model_searchers.py")
    out = Path(f"{searcher}{''.join(more)}.json").absolute()
    command = [
        sys.executable,
        str(options.bench / "score.py"),
        "--searcher",
        f"{module}:{searcher}",
    ]
    command += ["--repos", str(options.repos), "--runs", "1", "--out", str(out), *more]
    subprocess.run([*command, "--only", *names], check=True, stdout=subprocess.DEVNULL)
    content = json.loads(out.read_bytes())
    out.unlink()
    rows = [row for result in content["results"] for row in result["rows"]]
    per_repo = [[row["ndcg10"] for row in result["rows"]] for result in content["results"]]
    return {
        "name": content["searcher"],
        "all": _mean([_mean(found) for found in per_repo if found]),
        "hard": _mean([row["ndcg10"] for row in rows if not row["named"]]),
    }


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0


if __name__ == "__main__":
    sys.exit(main())

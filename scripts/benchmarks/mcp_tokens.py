"""What our MCP server costs the model of an agent: ``mcp_tokens.py [--repo DIR] [--rivals DIR]``.

A real ``codekernel mcp`` answers about a folder, this checkout's kernel unless another is named.
Tokens of the schemas as a client sends them (name, description, inputSchema) and of ten typical
answers, by the tokenizer of granite-embedding-30m-english, which is in the box; those of chat
models need about a quarter less. Beside the answer of ``search`` what the same question costs
without it: the files that it names, read whole. ``--rivals`` asks other servers the same about a
copy of the folder (mcp_rivals.py); ``--text`` prints the answers, too.
"""

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import mcp_rivals
from mcp_rivals import McpProcess
from tokenizers import Tokenizer
from verdicts import verdict

ROOT = Path(__file__).resolve().parents[2]
TOKENIZER = ROOT / "models" / "granite-embedding-30m-english" / "tokenizer.json"
MAX_SCHEMA_TOKENS = 1200
MAX_TOOLS = 8
# Of the kernel; for another repository the questions are the same and the answers shorter.
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("search", {"query": "where are lexical and semantic scores combined"}),
    ("search", {"query": "MAX_UNANSWERED_BYTES", "budget": 800}),
    ("search", {"like": "codekernel/search/ranking.py:100", "budget": 1500}),
    ("read", {"path": "codekernel/search/ranking.py:90-140"}),
    ("files", {}),
    ("grep", {"pattern": "raise WrongParam", "path": "codekernel/search"}),
    ("symbols", {"path": "codekernel/search/ranking.py"}),
    ("symbols", {"name": "Searcher.run_search"}),
    ("calls", {"symbol": "fuse_scores", "direction": "impact"}),
    ("history", {"place": "fuse_scores"}),
)


def start_server(repo: Path, user_data: Path) -> McpProcess:
    """Start our server with a kernel of its own."""
    environ = {"CODEKERNEL_USER_DATA": str(user_data), "PYTHONPATH": str(ROOT / "kernel")}
    command = [sys.executable, "-m", "codekernel", "mcp", "--standalone", "--repo", str(repo)]
    return McpProcess(command, repo, {**os.environ, **environ})


def main() -> int:
    """Print the figures; return 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repo", type=Path, default=ROOT / "kernel")
    parser.add_argument("--rivals", type=Path, help="a folder with their environments")
    parser.add_argument("--text", action="store_true", help="print the answers, too")
    args = parser.parse_args()
    tokenizer = Tokenizer.from_file(str(TOKENIZER))
    tokenizer.no_truncation()

    def count(text: str) -> int:
        return len(tokenizer.encode(text, add_special_tokens=False).ids)

    with tempfile.TemporaryDirectory(prefix="codekernel-mcp-") as user_data:
        server = start_server(args.repo, Path(user_data))
        try:
            is_good = _measure(server, args, count)
        finally:
            server.close()
    if args.rivals:
        mcp_rivals.compare(args.rivals, args.repo, count)
    return 0 if is_good else 1


def _measure(server: McpProcess, args: argparse.Namespace, count: Any) -> bool:
    client = {"name": "bench", "version": "1"}
    hello = server.request(
        "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client
    )
    tools = server.request("tools/list")["tools"]
    total = 0
    for tool in tools:
        sent = {key: tool[key] for key in ("name", "description", "inputSchema")}
        tokens = count(json.dumps(sent, separators=(",", ":"), ensure_ascii=False))
        total += tokens
        print(f"  schema of {tool['name']:<10} {tokens:>6} tokens")
    print(f"  instructions         {count(hello['instructions']):>6} tokens")
    server.call("index_status", {"wait": True})
    for name, arguments in CALLS:
        text = server.call(name, arguments)
        words = " ".join(f"{key}={value}" for key, value in arguments.items())
        print(f"  {name} {words}: {count(text)} tokens{_compare(name, text, args.repo, count)}")
        if args.text:
            print(text + "\n")
    is_small = verdict("schemas of all tools, tokens", total, MAX_SCHEMA_TOKENS)
    return verdict("tools", len(tools), MAX_TOOLS) and is_small


def _compare(name: str, text: str, repo: Path, count: Any) -> str:
    """Return what reading the files of a search whole would cost."""
    if name != "search":
        return ""
    heads = (block.splitlines()[0].partition(":")[0] for block in text.split("\n\n") if block)
    files = {repo / head for head in heads if (repo / head).is_file()}
    whole = sum(count(file.read_text(encoding="utf-8", errors="replace")) for file in files)
    return f" (its {len(files)} files whole: {whole})"


if __name__ == "__main__":
    sys.exit(main())

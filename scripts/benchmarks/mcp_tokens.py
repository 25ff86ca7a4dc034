"""What our MCP server costs the model of an agent: ``mcp_tokens.py [--repo DIR] [--rivals]``.

A real ``codekernel mcp`` answers about a folder, this checkout's kernel unless another is named.
Tokens of the schemas as a client sends them (name, description, inputSchema) and of ten typical
answers, by the tokenizer of granite-embedding-30m-english, which is in the box; those of chat
models need about a quarter less. Beside the answer of ``search`` what the same question costs
without it: the files that it names, read whole. ``--rivals`` asks other servers the same about a
copy of the folder (mcp_rivals.py) and prints a table; ``--text`` prints the answers, too.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mcp_rivals
from mcp_rivals import CONSTANT, RANKING, SEARCHED, McpProcess, Measured, count_schemas
from tokenizers import Tokenizer
from verdicts import verdict

ROOT = Path(__file__).resolve().parents[2]
TOKENIZER = ROOT / "models" / "granite-embedding-30m-english" / "tokenizer.json"
MAX_SCHEMA_TOKENS = 1200
MAX_TOOLS = 8
# Of the kernel; for another repository the questions are the same and the answers shorter.
QUESTIONS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("a question in words", "search", {"query": SEARCHED}),
    ("a name", "search", {"query": CONSTANT, "budget": 800}),
    ("code like a place", "search", {"like": f"{RANKING}:100", "budget": 1500}),
    ("50 lines of a file", "read", {"path": f"{RANKING}:90-140"}),
    ("the files", "files", {}),
    ("where a text stands", "grep", {"pattern": "raise WrongParam", "path": "codekernel/search"}),
    ("outline of a file", "symbols", {"path": RANKING}),
    ("a definition", "symbols", {"name": "Searcher.run_search"}),
    ("impact of a change", "calls", {"symbol": "fuse_scores", "direction": "impact"}),
    ("why it is so", "history", {"place": "fuse_scores"}),
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
    parser.add_argument("--rivals", action="store_true", help="install and ask other servers")
    parser.add_argument("--text", action="store_true", help="print the answers, too")
    args = parser.parse_args()
    tokenizer = Tokenizer.from_file(str(TOKENIZER))
    tokenizer.no_truncation()

    def count(text: str) -> int:
        return len(tokenizer.encode(text, add_special_tokens=False).ids)

    with tempfile.TemporaryDirectory(prefix="codekernel-mcp-") as user_data:
        server = start_server(args.repo, Path(user_data))
        try:
            ours = _measure(server, args, count)
        finally:
            server.close()
    if args.rivals:
        print_table([ours, *mcp_rivals.measure_rivals(args.repo, count, show=args.text)])
    is_small = verdict("schemas of all tools, tokens", ours.schemas, MAX_SCHEMA_TOKENS)
    return 0 if verdict("tools", ours.tools, MAX_TOOLS) and is_small else 1


def _measure(server: McpProcess, args: argparse.Namespace, count: Any) -> Measured:
    hello, tools = server.greet()
    for tool in tools:
        print(f"  schema of {tool['name']:<10} {count_schemas([tool], count):>6} tokens")
    instructions = count(hello["instructions"])
    print(f"  instructions         {instructions:>6} tokens")
    server.call("index_status", {"wait": True})
    answers: list[int] = []
    for _, name, arguments in QUESTIONS:
        text = server.call(name, arguments)
        answers.append(count(text))
        words = " ".join(f"{key}={value}" for key, value in arguments.items())
        print(f"  {name} {words}: {answers[-1]} tokens{_compare(name, text, args.repo, count)}")
        if args.text:
            print(text + "\n")
    schemas = count_schemas(tools, count)
    return Measured("codekernel", len(tools), schemas, instructions, answers)


def print_table(servers: Sequence[Measured]) -> None:
    """Print the tokens of all servers side by side."""
    rows: list[tuple[str, list[int | None]]] = [
        ("tools", [each.tools for each in servers]),
        ("tokens of schemas", [each.schemas for each in servers]),
        ("tokens of instructions", [each.instructions for each in servers]),
        *((name, [it.answers[place] for it in servers])
          for place, (name, *_) in enumerate(QUESTIONS)),
    ]  # fmt: skip
    print("| | " + " | ".join(each.name for each in servers) + " |")
    print("|---|" + "---|" * len(servers))
    for name, values in rows:
        cells = ("—" if value is None else str(value) for value in values)
        print(f"| {name} | {' | '.join(cells)} |")


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

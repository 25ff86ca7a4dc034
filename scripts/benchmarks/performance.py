"""Renew docs/performance.md: ``performance.py --repos DIR [--only NAME ...]``.

Each block of the document begins with a comment, ``<!-- bench: NAME OPTIONS -->``, and ends with
another, ``<!-- end -->``: the benchmark is run with these options, and what it prints comes between
them, with the command above it. DIR in the options is ``--repos``.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

from rival_venv import ROOT

DOCUMENT = ROOT / "docs" / "performance.md"
BLOCK = re.compile(r"<!-- bench: (?P<command>.+?) -->\n.*?<!-- end -->", re.DOTALL)
# Lines of tables and lists stay Markdown; the rest is shown as it was printed.
MARKDOWN_LINE = re.compile(r"\||- |\*\*|$")


def main() -> int:
    """Run what the document names; 0 if each benchmark printed something."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repos", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=[], help="names of benchmarks")
    options = parser.parse_args()
    text, silent = DOCUMENT.read_text(encoding="utf-8"), []
    for block in BLOCK.finditer(text):
        command = block["command"]
        if options.only and command.split()[0] not in options.only:
            continue
        print(f"bench.py {command}", file=sys.stderr, flush=True)
        printed = _run(command.split(), options.repos)
        if not printed.strip():
            silent.append(command)
            continue
        text = text.replace(block[0], write_block(command, printed))
        DOCUMENT.write_text(text, encoding="utf-8")  # after each: some take an hour
    for command in silent:
        print(f"bench.py {command} printed nothing; its figures are the old ones", file=sys.stderr)
    return 1 if silent else 0


def write_block(command: str, printed: str) -> str:
    """Return a block of the document."""
    lines = [line.rstrip() for line in printed.strip().splitlines()]
    shown: list[str] = []
    for line in lines:
        is_table = line.startswith("|")
        if shown and is_table != shown[-1].startswith("|") and line and shown[-1]:
            shown.append("")  # a table stands alone
        shown.append(line if MARKDOWN_LINE.match(line) else f"    {line}")
    body = "\n".join(shown)
    head = f"<!-- bench: {command} -->\n\n    python scripts/bench.py {command}\n"
    return f"{head}\n{body}\n\n<!-- end -->"


def _run(words: list[str], repos: Path) -> str:
    arguments = [str(repos) if word == "DIR" else word for word in words]
    run = [sys.executable, str(ROOT / "scripts" / "bench.py"), *arguments]
    return subprocess.run(run, check=False, stdout=subprocess.PIPE, text=True, cwd=ROOT).stdout


if __name__ == "__main__":
    sys.exit(main())

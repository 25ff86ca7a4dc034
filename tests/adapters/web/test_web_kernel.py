"""The browser's ``window.kernel``, whose tests are JavaScript."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

NODE = shutil.which("node")
FILE = Path(__file__).with_name("web_kernel.test.mjs")
SECONDS = 300


@pytest.mark.slow
@pytest.mark.timeout(SECONDS)
@pytest.mark.skipif(NODE is None, reason="node is not installed; see electron-bridge")
def test_window_kernel_does_in_a_browser_what_its_tests_say() -> None:
    done = subprocess.run(
        [str(NODE), "--experimental-websocket", "--no-warnings", "--test", str(FILE)],
        env={**os.environ, "CODEKERNEL_PYTHON": sys.executable},
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )
    said = done.stdout.decode(errors="replace") + done.stderr.decode(errors="replace")
    assert done.returncode == 0, said

"""The campaign ``races`` in small: tools at work while another process swaps folders and links."""

import subprocess
import sys
from pathlib import Path

import pytest
from support.effort import choose_tries

CAMPAIGNS = Path(__file__).parents[2] / "scripts" / "benchmarks" / "trust.py"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="swaps names as POSIX does")
def test_no_call_escapes_while_another_process_swaps_folders_for_links() -> None:
    words = [sys.executable, str(CAMPAIGNS), "races", "--tries", str(choose_tries(1_600, 100_000))]
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr

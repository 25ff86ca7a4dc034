import subprocess
import sys
import threading
from pathlib import Path

from codekernel.runtime.repo_folders import is_folder_reachable


def test_a_folder_that_does_not_answer_counts_as_gone(tmp_path: Path) -> None:
    never = threading.Event()

    class Silent(type(tmp_path)):  # type: ignore[misc]  # Path itself has no subclasses in 3.11
        def is_dir(self) -> bool:
            never.wait(60)
            return True

    assert not is_folder_reachable(Silent(tmp_path), timeout_seconds=0.05)
    assert is_folder_reachable(tmp_path)
    never.set()


def test_a_start_and_a_search_import_nothing_of_conversations() -> None:
    imports = "import codekernel.cli.kernel_startup, codekernel.runtime.workspace, sys"
    listing = "print(*(name for name in sys.modules if name.startswith('codekernel.')))"
    done = subprocess.run(
        [sys.executable, "-c", f"{imports}; {listing}"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    modules = done.stdout.split()
    assert "codekernel.runtime.workspace" in modules
    assert not {"codekernel.domain.chat", "codekernel.domain.turn"}.intersection(modules)
    assert "codekernel.domain.turn_events" not in modules

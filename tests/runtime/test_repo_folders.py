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

import threading
from pathlib import Path

import pytest
from codekernel.runtime import workspaces


def test_a_folder_that_does_not_answer_counts_as_gone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    never = threading.Event()

    class Silent(type(tmp_path)):  # type: ignore[misc]
        def is_dir(self) -> bool:
            never.wait(60)
            return True

    monkeypatch.setattr(workspaces, "FOLDER_TIMEOUT_SECONDS", 0.05)
    assert not workspaces.is_folder_reachable(Silent(tmp_path))
    assert workspaces.is_folder_reachable(tmp_path)
    never.set()

import threading
from pathlib import Path

import pytest

from kernel.sessions import folders


def test_a_folder_that_does_not_answer_counts_as_gone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    never = threading.Event()

    class Silent(type(tmp_path)):  # type: ignore[misc]
        def is_dir(self) -> bool:
            never.wait(60)
            return True

    monkeypatch.setattr(folders, "FOLDER_ANSWERS_WITHIN_SECONDS", 0.05)
    assert not folders.folder_is_there(Silent(tmp_path))
    assert folders.folder_is_there(tmp_path)
    never.set()

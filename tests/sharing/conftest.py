"""The world of these tests."""

from pathlib import Path

import pytest
from codekernel.sharing import contributions
from sharing.team_world import TeamWorld


@pytest.fixture
def world(tmp_path: Path) -> TeamWorld:
    return TeamWorld(tmp_path)


@pytest.fixture(autouse=True)
def _small_packs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a single vector be worth a pack."""
    monkeypatch.setattr(contributions, "MIN_PACK_ROWS", 1)

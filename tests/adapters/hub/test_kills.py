"""kill -9 of hub, kernel and agents under two devices; bench.py hub_kills has a hundred."""

from pathlib import Path

import pytest
from support.effort import choose_tries
from support.hub_kills import HubKills
from support.shared_kernel import set_variables


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_nothing_is_lost_or_twice_whatever_is_killed(
    user_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_variables(monkeypatch)
    kills = choose_tries(5, 20)
    result = HubKills(user_data, kills=kills, seed=4).run()
    assert result.problems == []
    assert result.kills.total() == kills
    assert result.answered > 0

"""Turns while processes die, connections are cut, requests refused; bench.py lark_soak has 500."""

from pathlib import Path

import pytest
from support.effort import choose_tries
from support.lark_soak import LarkSoak


@pytest.mark.slow
def test_nothing_is_lost_or_twice_whatever_dies(user_data: Path) -> None:
    result = LarkSoak(user_data, turns=choose_tries(24, 80), chats=3, seed=7, chaos=0.4).run()
    assert result.problems == []
    assert result.kills > 0
    assert result.connection_cuts + result.platform_restarts > 0

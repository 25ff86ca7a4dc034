from pathlib import Path

from support.telegram_soak import TelegramSoak


def test_nothing_is_lost_or_twice_while_everything_goes_wrong(user_data: Path) -> None:
    """The long one: python scripts/bench.py telegram_soak."""
    result = TelegramSoak(user_data, turns=25, seed=21, kill_share=0.2).run()
    assert result.problems == []
    assert result.kills > 0
    assert sum(result.faults.values()) > 0

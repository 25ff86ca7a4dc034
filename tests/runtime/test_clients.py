import time
from typing import cast

import pytest
from codekernel.runtime.clients import Client, ClientTable


def test_the_table_is_empty_when_its_last_client_has_ended() -> None:
    heard: list[str] = []
    table = ClientTable(on_empty=lambda: heard.append("empty"))
    client = cast("Client", object())
    table.add(client)
    assert table.seconds_empty is None
    with table.remove(client) as is_removed:
        assert is_removed
        assert (table.list_clients(), table.seconds_empty, heard) == ([], None, [])
        with table.remove(client) as is_removed_again:
            assert not is_removed_again
    assert heard == ["empty"]
    assert table.seconds_empty is not None


@pytest.mark.parametrize("jump_seconds", [10**9, -(10**9)])
def test_a_clock_that_jumps_changes_no_idle_time(
    monkeypatch: pytest.MonkeyPatch, jump_seconds: int
) -> None:
    table = ClientTable(on_empty=lambda: None)
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + jump_seconds)
    assert table.seconds_empty is not None
    assert 0 <= table.seconds_empty < 10**6

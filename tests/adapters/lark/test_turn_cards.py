"""Which cards a chat should have, and what is sent or updated next."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from codekernel.adapters.chat.bindings import ChatButtons
from codekernel.adapters.chat.session_feed import FeedState
from codekernel.adapters.chat.turns import ChatTurn, TextStep
from codekernel.adapters.hub.database import HubDatabase
from codekernel.adapters.lark.api import LarkApi
from codekernel.adapters.lark.cards import build_card, make_markdown
from codekernel.adapters.lark.store import LarkStore
from codekernel.adapters.lark.turn_cards import (
    MIN_INTERVAL_SECONDS,
    CardSync,
    PlannedCard,
    plan_cards,
)
from codekernel.domain.agent_sessions import (
    AgentSessionRecord,
    PermissionStatus,
    SessionPermission,
)
from support.lark_card_rules import check_card
from support.lark_platform import APP_ID, APP_SECRET, LarkPlatform

ASKED = SessionPermission("p1", "run_command", {"command": "ls"}, 0)


@pytest.fixture
def database(user_data: Path) -> Iterator[HubDatabase]:
    opened = HubDatabase(user_data)
    yield opened
    opened.close()


def plan(
    database: HubDatabase, turns: list[ChatTurn], known: tuple[str, ...] = (), **options: Any
) -> list[PlannedCard]:
    permissions = options.pop("permissions", ())
    record = AgentSessionRecord(
        "s", "codekernel", "m", "/work/shop", "", 0, 0, 1, 1, 9, permissions=permissions
    )
    state = FeedState(record, tuple(turns), 1)
    buttons = ChatButtons(database, "lark")
    planned = plan_cards(state, "oc_1", buttons, known, notices=options.get("notices", False))
    for each in planned:
        check_card(each.card)
    return planned


def make_turn(first_seq: int, *, seconds: float = 1.0, is_finished: bool = True) -> ChatTurn:
    steps = (TextStep("said"),)
    return ChatTurn(first_seq, None, steps, is_finished, seconds=seconds)


def test_a_permission_is_asked_before_the_cards_of_a_turn(database: HubDatabase) -> None:
    planned = plan(database, [make_turn(1, is_finished=False)], permissions=(ASKED,))
    assert [each.name for each in planned] == ["permission:p1", "turn:1:1"]
    assert [each.is_final for each in planned] == [False, False]


def test_an_answered_permission_is_shown_only_where_it_was_asked(database: HubDatabase) -> None:
    answered = SessionPermission("p1", "run_command", {}, 0, status=PermissionStatus.DENIED)
    assert plan(database, [], permissions=(answered,)) == []
    (shown,) = plan(database, [], ("permission:p1",), permissions=(answered,))
    assert shown.is_final
    assert shown.card["header"]["template"] == "red"


def test_a_long_turn_ends_with_a_notice_because_updates_make_no_sound(
    database: HubDatabase,
) -> None:
    long, short = make_turn(1, seconds=31.0), make_turn(5)
    names = [each.name for each in plan(database, [long, short], ("turn:1:1", "turn:5:1"))]
    assert names == ["turn:1:1", "notice:1", "turn:5:1"]
    assert [each.name for each in plan(database, [long])] == ["turn:1:1"]


def test_notices_name_the_folder_alone(database: HubDatabase) -> None:
    planned = plan(database, [make_turn(1), make_turn(5, is_finished=False)], notices=True)
    assert [each.name for each in planned] == ["notice:1"]
    assert "said" not in str(planned[0].card)
    assert planned[0].card["header"]["title"]["content"] == "shop"


def test_cards_that_stand_for_nothing_any_more_do_not_run(database: HubDatabase) -> None:
    planned = plan(database, [make_turn(1)], ("turn:1:1", "turn:1:2", "turn:3:1", "permission:x"))
    colors = {each.name: each.card["header"]["template"] for each in planned}
    assert colors == {
        "turn:1:1": "green", "turn:1:2": "grey", "turn:3:1": "grey", "permission:x": "grey",
    }  # fmt: skip


def make_card(name: str, text: str, turn: int = 1, *, is_final: bool = False) -> PlannedCard:
    return PlannedCard(name, build_card("t", "", "blue", [make_markdown(text)]), turn, is_final)


@pytest.fixture
def platform() -> Iterator[LarkPlatform]:
    with LarkPlatform() as opened:
        yield opened


def test_new_cards_go_first_and_updates_wait_for_their_time(
    database: HubDatabase, platform: LarkPlatform
) -> None:
    now = 100.0
    api, store = LarkApi(APP_ID, APP_SECRET, platform.url), LarkStore(database)
    sync = CardSync(api, store, "oc_1", "s", lambda: now)
    first, second = make_card("turn:1:1", "a"), make_card("turn:1:2", "b")
    assert sync.find_work([first, second]) == (first, None)
    sync.put(first)
    changed = make_card("turn:1:1", "changed")
    assert sync.find_work([changed, second]) == (second, None)
    sync.put(second)
    assert sync.find_work([changed, second]) == (None, now + MIN_INTERVAL_SECONDS)
    now += MIN_INTERVAL_SECONDS
    assert sync.find_work([changed, second]) == (changed, None)
    sync.put(changed)
    assert sync.find_work([changed, second]) == (None, None)
    again = CardSync(api, store, "oc_1", "s", lambda: now)
    assert again.find_work([changed, second]) == (None, None)
    assert len(platform.messages) == 2
    api.close()


def test_a_turn_is_forgotten_only_when_all_of_its_cards_show_their_end(
    database: HubDatabase, platform: LarkPlatform
) -> None:
    api, store = LarkApi(APP_ID, APP_SECRET, platform.url), LarkStore(database)
    sync = CardSync(api, store, "oc_1", "s", lambda: 0.0)
    planned = [make_card(f"turn:1:{n}", "x", is_final=True) for n in (1, 2)]
    sync.put(planned[0])
    sync.put(make_card("turn:1:2", "older"))
    finished: list[list[int]] = []

    def forget(turns: list[int]) -> int:
        finished.append(turns)
        return 9 if turns else 0

    sync.finish(planned, forget)
    assert finished == [[]]
    assert len(sync.names) == 2
    sync.put(planned[1])
    sync.finish(planned, forget)
    assert finished[-1] == [1]
    assert sync.names == ()
    assert store.list_cards("oc_1", "s") == {}
    api.close()

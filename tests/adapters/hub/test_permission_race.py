"""Two devices of the hub and a user of Lark answer one permission at the same moment."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from codekernel.adapters.hub.database import HubDatabase
from codekernel.domain.agent_sessions import PermissionStatus
from support.effort import choose_tries
from support.hub_world import DeviceClient, EventStream, HubWorld, ServerSentEvent, open_hub
from support.lark_platform import LarkPlatform
from support.lark_world import LarkWorld, make_adapter, read_card
from support.scripted_agent import WAIT_SECONDS

# Label of the button in Lark; the devices allow and deny.
LARK_CHOICE = "Allow for this turn"


@contextmanager
def open_hub_with_lark(user_data: Path) -> Iterator[tuple[HubWorld, LarkWorld]]:
    with LarkPlatform() as platform, closing(HubDatabase(user_data)) as database:
        adapter = make_adapter(platform.url, user_data, database)
        with open_hub(user_data, chats=(adapter,)) as hub:
            machines = hub.service.machines
            lark = LarkWorld(platform, hub.world, user_data, database, machines, adapter=adapter)
            lark.bind()
            platform.wait_until(lambda: platform.connection_count > 0)
            yield hub, lark


def answer_at(barrier: threading.Barrier, device: DeviceClient, path: str) -> int:
    barrier.wait(WAIT_SECONDS)
    return device.http.post(path, json={}).status_code


def press_at(barrier: threading.Barrier, lark: LarkWorld) -> str:
    barrier.wait(WAIT_SECONDS)
    return str(lark.press(LARK_CHOICE)["toast"]["content"])


def read_completed(event: ServerSentEvent) -> dict[str, Any]:
    data = event.data.get("data", {})
    completed: dict[str, Any] = (
        data.get("agentState", {}).get("value", {}).get("completedRequests", {})
    )
    return completed


@pytest.mark.slow
def test_exactly_one_decides_and_everybody_is_told_who(user_data: Path) -> None:
    rounds = choose_tries(15, 100)
    winners: list[str] = []
    with open_hub_with_lark(user_data) as (hub, lark), ThreadPoolExecutor(3) as pool:
        phone, tablet = hub.pair("phone"), hub.pair("tablet")
        streams = [EventStream(each, all="1") for each in (phone, tablet)]
        decisions: list[bool] = []
        hub.world.agent.turn = lambda of: decisions.append(of.ask(of.text))
        session_id = lark.follow_session()
        for number in range(rounds):
            name = f"p{number}"
            hub.world.send(session_id, name)
            lark.platform.wait_until(lambda: lark.has_button(LARK_CHOICE))
            card = lark.platform.messages[lark.find_message("asks for your permission")]
            path = f"/api/sessions/{session_id}/permissions/{name}"
            barrier = threading.Barrier(3)
            allowed = pool.submit(answer_at, barrier, phone, f"{path}/approve")
            denied = pool.submit(answer_at, barrier, tablet, f"{path}/deny")
            toast = pool.submit(press_at, barrier, lark).result()
            statuses = {"phone": allowed.result(), "tablet": denied.result()}

            hub.world.wait_until_idle(session_id)
            logged = hub.world.engine.list_permissions(session_id)[number]
            assert logged.answered_by is not None
            winner = logged.answered_by.name
            winners.append(winner)
            assert statuses == {each: 200 if each == winner else 404 for each in statuses}
            assert logged.for_turn == (winner == "Ann")
            assert (logged.status is PermissionStatus.DENIED) == (winner == "tablet")
            assert hub.world.agent.responses[number:] == [
                (name, winner != "tablet", logged.option_id)
            ]
            assert decisions[number:] == [winner != "tablet"]

            assert winner in toast or toast.startswith("This takes a moment")
            assert toast.startswith("This was answered already") == (
                winner != "Ann" and "This takes a moment" not in toast
            )
            for stream in streams:
                told = stream.wait_for(lambda event, of=name: of in read_completed(event))  # type: ignore[misc]
                assert read_completed(told)[name]["answeredBy"]["name"] == winner
            lark.platform.wait_until(lambda: not lark.has_button(LARK_CHOICE))
            assert f"by {winner} (" in read_card(card.content)
    assert len(winners) == rounds

"""Server-sent events: handshake, filters, replay, gap, visibility."""

import threading
from pathlib import Path

import pytest
from codekernel.adapters.hub.events import EventLimits
from support.hub_world import DeviceClient, EventStream, HubWorld, open_hub
from support.scripted_agent import WAIT_SECONDS, ScriptedTurn


def run_turn(hub: HubWorld, session_id: str, text: str = "go") -> None:
    hub.world.send(session_id, text)
    hub.world.wait_until_idle(session_id)


def test_the_first_frame_has_no_id_and_says_gap(phone: DeviceClient) -> None:
    stream = EventStream(phone, all="1")
    assert stream.first.id == ""
    data = stream.first.data["data"]
    assert (data["status"], data["resume"]) == ("connected", "gap")
    assert data["subscriptionId"]


def test_what_happens_is_told_in_order(hub: HubWorld, phone: DeviceClient) -> None:
    stream = EventStream(phone, all="1")
    session = hub.world.start(name="work")
    added = stream.wait_for_type("session-added").data
    assert added["sessionId"] == session.id
    assert added["data"]["metadata"]["name"] == "work"
    run_turn(hub, session.id)
    received = [stream.wait_for_type("message-received") for _ in range(2)]
    assert all(event.id for event in received)
    assert [event.data["message"]["seq"] for event in received] == [1, 2]
    stream.wait_for(lambda it: it.data.get("data", {}).get("thinking") is False)


def test_a_stream_of_a_session_tells_of_it_alone(hub: HubWorld, phone: DeviceClient) -> None:
    wanted, other = hub.world.start(), hub.world.start()
    stream = EventStream(phone, sessionId=wanted.id)
    run_turn(hub, other.id)
    run_turn(hub, wanted.id)
    seen = [stream.take() for _ in range(3)]
    assert {event.data["sessionId"] for event in seen} == {wanted.id}


def test_a_stream_goes_on_after_a_cut(hub: HubWorld, phone: DeviceClient) -> None:
    session = hub.world.start()
    stream = EventStream(phone, all="1")
    run_turn(hub, session.id)
    stream.wait_for_type("message-received")
    stream.close()
    missed_from = stream.last_id
    run_turn(hub, session.id, "again")
    resumed = EventStream(phone, missed_from, all="1")
    assert resumed.first.data["data"]["resume"] == "ok"
    received = [resumed.wait_for_type("message-received").data["message"]["seq"] for _ in range(3)]
    assert received == [2, 3, 4]
    # The address may have it instead of the header.
    again = EventStream(phone, all="1", lastEventId=missed_from)
    assert again.first.data["data"]["resume"] == "ok"


def test_a_cursor_that_is_unknown_is_a_gap(hub: HubWorld, phone: DeviceClient) -> None:
    for cursor in ("x", "a:1:b", f"{hub.service.machines._log.epoch}:99:00000000"):
        stream = EventStream(phone, cursor, all="1")
        assert stream.first.data["data"]["resume"] == "gap"
        stream.close()


def test_a_restarted_hub_says_gap_and_loses_nothing(user_data: Path) -> None:
    with open_hub(user_data) as hub:
        phone = hub.pair()
        session = hub.world.start()
        stream = EventStream(phone, all="1")
        run_turn(hub, session.id)
        stream.wait_for_type("message-received")
        last, key = stream.last_id, phone.key
    with open_hub(user_data) as hub:
        phone = hub.sign_in(hub.open_client(), key)
        resumed = EventStream(phone, last, all="1")
        assert resumed.first.data["data"]["resume"] == "gap"
        messages = phone.get(f"/api/sessions/{session.id}/messages")["messages"]
        assert [each["seq"] for each in messages] == [1, 2]


def test_growing_messages_have_no_id(hub: HubWorld, phone: DeviceClient) -> None:
    go_on = threading.Event()

    def turn(of: ScriptedTurn) -> None:
        of.say("hel", id="m1", complete=False)
        go_on.wait(WAIT_SECONDS)
        of.say("hello", id="m1", complete=True)

    hub.world.agent.turn = turn
    session = hub.world.start()
    stream = EventStream(phone, all="1")
    hub.world.send(session.id, "x")
    grown = stream.wait_for_type("message-growing")
    assert grown.id == ""
    content = grown.data["message"]["content"]["content"]["data"]["message"]["content"]
    assert content == [{"type": "text", "text": "hel"}]
    go_on.set()
    whole = stream.wait_for(
        lambda it: it.type == "message-received" and it.data["message"]["seq"] == 2
    )
    assert whole.id
    assert whole.data["message"]["id"] == grown.data["message"]["id"]


@pytest.mark.parametrize("limits", [EventLimits(heartbeat_interval_seconds=0.05)])
def test_a_heartbeat_has_no_id(hub: HubWorld, phone: DeviceClient) -> None:
    stream = EventStream(phone, all="1")
    beat = stream.wait_for_type("heartbeat")
    assert beat.id == ""
    assert beat.data["data"]["timestamp"] > 1_000_000_000_000


def test_visible_pages_are_shown_notices(hub: HubWorld, phone: DeviceClient) -> None:
    tablet = hub.pair("tablet")
    visible = EventStream(phone, all="1", visibility="visible")
    hidden = EventStream(tablet, all="1")
    hub.world.agent.turn = lambda of: of.ask()
    session = hub.world.start(name="work")
    hub.world.send(session.id, "x")
    toast = visible.wait_for_type("toast")
    assert toast.id == ""
    assert toast.data["data"]["sessionId"] == session.id
    assert "run_command" in toast.data["data"]["body"]
    phone.post(f"/api/sessions/{session.id}/permissions/p1/approve")
    assert "done" in visible.wait_for_type("toast").data["data"]["title"]
    subscription = hidden.first.data["data"]["subscriptionId"]
    body = {"subscriptionId": subscription, "visibility": "visible"}
    assert tablet.post("/api/visibility", body) == {"ok": True}
    # A subscription of another device is unknown.
    assert phone.refuse("POST", "/api/visibility", body) == (404, "subscription_not_found")
    hub.world.send(session.id, "y")
    event = hidden.wait_for(lambda it: it.type == "toast")
    assert event.data["data"]["sessionId"] == session.id
    wrong = {"subscriptionId": subscription, "visibility": "seen"}
    assert phone.refuse("POST", "/api/visibility", wrong) == (400, "invalid_request")


@pytest.mark.parametrize("limits", [EventLimits(max_connections=1)])
def test_the_number_of_streams_is_bounded(hub: HubWorld, phone: DeviceClient) -> None:
    EventStream(phone, all="1")
    assert phone.refuse("GET", "/api/events?all=1") == (503, "too_many")


@pytest.mark.parametrize("limits", [EventLimits(max_waiting_bytes=50_000)])
def test_a_device_that_does_not_read_is_cut_off_and_reads_on(
    hub: HubWorld, phone: DeviceClient
) -> None:
    session = hub.world.start()
    request = phone.http.build_request("GET", "/api/events", params={"all": "1"})
    slow = phone.http.send(request, stream=True)
    first = EventStream(phone, all="1")
    run_turn(hub, session.id)
    first.wait_for_type("message-received")

    def turn(of: ScriptedTurn) -> None:
        for _ in range(200):
            of.say("x" * 60_000)

    hub.world.agent.turn = turn
    run_turn(hub, session.id)
    received = b"".join(slow.iter_bytes())  # ends: it was cut off
    assert received.count(b"message-received") < 200
    # What it missed is more than may wait, and is told whole.
    resumed = EventStream(phone, first.last_id, all="1")
    assert resumed.first.data["data"]["resume"] == "ok"
    resumed.wait_for(lambda it: it.data.get("message", {}).get("seq") == 203)

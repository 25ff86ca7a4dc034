"""Permissions: any device answers, the first answer counts, every device sees it."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from codekernel.domain.agent_sessions import PermissionMode, PermissionOption
from support.hub_world import DeviceClient, EventStream, HubWorld, ServerSentEvent
from support.scripted_agent import WAIT_SECONDS, ScriptedTurn


def ask(hub: HubWorld, name: str = "p1", **fields: Any) -> str:
    """Return a session whose agent waits for a permission."""
    hub.world.agent.turn = lambda of: of.say(f"allowed: {of.ask(name, **fields)}")
    session = hub.world.start()
    hub.world.send(session.id, "go")
    hub.world.wait_for_permission(session.id)
    return session.id


def has_answered(event: ServerSentEvent) -> bool:
    data = event.data.get("data", {})
    return bool(data.get("agentState", {}).get("value", {}).get("completedRequests"))


def test_a_pending_permission_is_in_the_agent_state(hub: HubWorld, phone: DeviceClient) -> None:
    options = (PermissionOption("o1", "Allow", "allow_once"),)
    session_id = ask(hub, danger="runs", options=options, tool_use_id="call_1")
    state = phone.get(f"/api/sessions/{session_id}")["session"]["agentState"]
    request = state["requests"]["p1"]
    assert (request["tool"], request["arguments"]) == ("run_command", {"command": "ls"})
    assert request["createdAt"] > 1_000_000_000_000
    assert (request["danger"], request["toolUseId"]) == ("runs", "call_1")
    assert request["options"] == [{"id": "o1", "name": "Allow", "kind": "allow_once"}]
    assert state["completedRequests"] == {}


def test_an_answer_is_told_to_every_device(hub: HubWorld, phone: DeviceClient) -> None:
    tablet = hub.pair("tablet")
    session_id = ask(hub)
    stream = EventStream(tablet, all="1")
    path = f"/api/sessions/{session_id}/permissions/p1"
    assert phone.post(f"{path}/approve", {"decision": "approved"}) == {"ok": True}
    patch = stream.wait_for(has_answered).data["data"]
    completed = patch["agentState"]["value"]["completedRequests"]["p1"]
    assert (completed["status"], completed["decision"]) == ("approved", "approved")
    assert completed["answeredBy"] == {"device": "webapp", "name": "phone"}
    assert completed["completedAt"]
    assert patch["agentState"]["version"] == patch["metadata"]["version"]
    assert patch["agentState"]["value"]["requests"] == {}
    assert tablet.refuse("POST", f"{path}/deny", {}) == (404, "request_not_found")
    hub.world.wait_until_idle(session_id)
    assert hub.world.list_texts(session_id)[-1] == "allowed: True"


def test_denying_and_allowing_all_of_a_kind(hub: HubWorld, phone: DeviceClient) -> None:
    denied = ask(hub, "p1")
    phone.post(f"/api/sessions/{denied}/permissions/p1/deny")
    hub.world.wait_until_idle(denied)
    assert hub.world.list_texts(denied)[-1] == "allowed: False"
    wide = ask(hub, "p2")
    body = {"decision": "approved_for_session", "mode": "read-only"}
    phone.post(f"/api/sessions/{wide}/permissions/p2/approve", body)
    hub.world.wait_until_idle(wide)
    assert hub.world.engine.list_permissions(wide)[0].for_turn
    assert hub.world.engine.get_session(wide).permission_mode is PermissionMode.READ_ONLY


def test_an_option_of_the_agent_is_chosen(hub: HubWorld, phone: DeviceClient) -> None:
    options = (
        PermissionOption("once", "Allow", "allow_once"),
        PermissionOption("always", "Always", "allow_always"),
    )
    session_id = ask(hub, options=options)
    path = f"/api/sessions/{session_id}/permissions/p1/approve"
    assert phone.refuse("POST", path, {"optionId": "none"}) == (400, "invalid_request")
    phone.post(path, {"optionId": "always"})
    hub.world.wait_until_idle(session_id)
    assert hub.world.agent.responses == [("p1", True, "always")]


def test_aborting_stops_the_turn(hub: HubWorld, phone: DeviceClient) -> None:
    stopped = threading.Event()

    def turn(of: ScriptedTurn) -> None:
        of.ask()
        if of.cancelled.wait(WAIT_SECONDS):
            stopped.set()

    hub.world.agent.turn = turn
    session = hub.world.start()
    hub.world.send(session.id, "go")
    hub.world.wait_for_permission(session.id)
    path = f"/api/sessions/{session.id}/permissions/p1/deny"
    assert phone.post(path, {"decision": "abort"}) == {"ok": True}
    hub.world.wait_until_idle(session.id)
    assert stopped.is_set()


def test_wrong_answers_are_refused(hub: HubWorld, phone: DeviceClient) -> None:
    session_id = ask(hub)
    path = f"/api/sessions/{session_id}/permissions"
    assert phone.refuse("POST", f"{path}/none/approve", {}) == (404, "request_not_found")
    wrong: list[Any] = ["yes", None, 1, []]
    for decision in wrong:
        refused = phone.refuse("POST", f"{path}/p1/approve", {"decision": decision})
        assert refused == (400, "invalid_request")
    assert hub.world.engine.get_session(session_id).pending_permissions


def answer_at(barrier: threading.Barrier, device: DeviceClient, path: str) -> int:
    barrier.wait(WAIT_SECONDS)
    return device.http.post(path, json={}).status_code


def test_of_two_devices_at_once_exactly_one_decides(hub: HubWorld, phone: DeviceClient) -> None:
    tablet = hub.pair("tablet")
    with ThreadPoolExecutor(2) as pool:
        for number in range(20):
            name = f"p{number}"
            session_id = ask(hub, name)
            path = f"/api/sessions/{session_id}/permissions/{name}"
            barrier = threading.Barrier(2)
            approved = pool.submit(answer_at, barrier, phone, f"{path}/approve")
            denied = pool.submit(answer_at, barrier, tablet, f"{path}/deny")
            assert sorted([approved.result(), denied.result()]) == [200, 404]
            hub.world.wait_until_idle(session_id)
            is_allowed = approved.result() == 200
            assert hub.world.list_texts(session_id)[-1] == f"allowed: {is_allowed}"
            (logged,) = hub.world.engine.list_permissions(session_id)
            assert logged.answered_by is not None
            assert logged.answered_by.name == ("phone" if is_allowed else "tablet")

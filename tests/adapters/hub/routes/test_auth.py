"""Signing in, pairing, limits, Host and Origin, on a real port."""

import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from codekernel.adapters.hub.routes.requests import MAX_BODY_BYTES, MAX_FAILURES
from support.hub_world import DeviceClient, EventStream, HubWorld, as_json, open_hub


def test_health_needs_no_token(hub: HubWorld) -> None:
    answer = as_json(hub.open_client().get("/health"))
    assert (answer["status"], answer["protocolVersion"]) == ("ok", 1)
    assert isinstance(answer["capabilities"], dict)


def test_a_key_is_exchanged_for_a_token(hub: HubWorld, phone: DeviceClient) -> None:
    answer = as_json(hub.open_client().post("/api/auth", json={"accessToken": f" {phone.key} "}))
    assert answer["user"]["firstName"] == "phone"
    assert isinstance(answer["user"]["id"], int)
    assert answer["token"].count(".") == 2


def test_everything_else_needs_a_token(hub: HubWorld, phone: DeviceClient) -> None:
    http = hub.open_client()
    paths = ["/api/sessions", "/api/machines", "/api/events?all=1", "/api/sessions/x/messages"]
    assert [http.get(path).status_code for path in paths] == [401] * 4
    posts = ["/api/visibility", "/api/sessions/x/messages", "/api/machines/x/spawn"]
    assert [http.post(path, json={}).status_code for path in posts] == [401] * 3
    for header in (f"Bearer {phone.key}", f"Basic {phone.token}", "Bearer", phone.token):
        response = http.get("/api/sessions", headers={"Authorization": header})
        assert (response.status_code, "error" in as_json(response)) == (401, True)
    # Only the stream takes it from the address.
    assert http.get("/api/sessions", params={"token": phone.token}).status_code == 401
    EventStream(DeviceClient(http, "", ""), all="1", token=phone.token).close()


def test_a_wrong_key_is_refused_and_then_the_address(hub: HubWorld, phone: DeviceClient) -> None:
    http = hub.open_client()
    for _ in range(MAX_FAILURES):
        response = http.post("/api/auth", json={"accessToken": "wrong"})
        assert response.status_code == 401
    response = http.post("/api/auth", json={"accessToken": phone.key})
    assert response.status_code == 429
    assert int(response.headers["Retry-After"]) > 0
    assert http.get("/api/sessions", headers=phone.http.headers).status_code == 200


def test_pairing_is_limited_too(hub: HubWorld) -> None:
    http = hub.open_client()
    answers = [
        http.post("/api/pair", json={"code": "AAAA-BBBB", "name": "x"}).status_code
        for _ in range(MAX_FAILURES + 1)
    ]
    assert answers == [401] * MAX_FAILURES + [429]


def test_of_ten_devices_with_one_code_one_is_paired(hub: HubWorld) -> None:
    code = hub.service.context.pairing.make_code()
    clients = [hub.open_client() for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        codes = list(
            pool.map(lambda http: http.post("/api/pair", json={"code": code}).status_code, clients)
        )
    assert sorted(codes) == [200] + [401] * 7


def test_a_revoked_device_is_cut_off(hub: HubWorld, phone: DeviceClient) -> None:
    stream = EventStream(phone, all="1")
    hub.service.context.devices.revoke("phone")
    assert phone.refuse("GET", "/api/sessions") == (401, "invalid_token")
    stream.wait_for_end()
    response = hub.open_client().post("/api/auth", json={"accessToken": phone.key})
    assert response.status_code == 401


def test_other_names_of_the_host_are_refused(hub: HubWorld, phone: DeviceClient) -> None:
    for host in ("evil.example", "127.0.0.1", "evil.example:80"):
        response = phone.http.get("/api/sessions", headers={"Host": host})
        assert response.status_code == 403


def test_other_pages_are_refused(hub: HubWorld, phone: DeviceClient) -> None:
    for origin in ("https://evil.example", "null"):
        response = phone.http.get("/api/sessions", headers={"Origin": origin})
        assert response.status_code == 403
        assert "access-control-allow-origin" not in response.headers
    response = phone.http.get("/api/sessions", headers={"Origin": hub.url})
    assert response.status_code == 200


def test_pages_of_the_settings_may_call(user_data: Path) -> None:
    origin = "https://app.example"
    with open_hub(user_data, origins=(origin,)) as hub:
        phone = hub.pair()
        headers = {"Origin": origin, "Access-Control-Request-Method": "POST"}
        preflight = hub.open_client().options("/api/sessions", headers=headers)
        assert preflight.status_code == 204
        assert preflight.headers["access-control-allow-origin"] == origin
        assert "Authorization" in preflight.headers["access-control-allow-headers"]
        response = phone.http.get("/api/sessions", headers={"Origin": origin})
        assert response.headers["access-control-allow-origin"] == origin


def test_large_and_broken_bodies_are_refused(phone: DeviceClient) -> None:
    large = phone.http.post("/api/auth", content=b" " * (MAX_BODY_BYTES + 1))
    assert (large.status_code, as_json(large)["code"]) == (413, "too_large")
    for content in (b"{", b"[]", b"\xff", b"1", b"[" * 5000, b'{"accessToken": 1}', b"{}"):
        response = phone.http.post("/api/auth", content=content)
        assert (response.status_code, as_json(response)["code"]) == (400, "invalid_request")


def test_no_get_changes_anything(hub: HubWorld, phone: DeviceClient) -> None:
    session = hub.world.start()
    paths = [
        f"/api/sessions/{session.id}/{name}"
        for name in ("abort", "archive", "permissions/p/approve", "permissions/p/deny", "model")
    ]
    answers = [phone.http.get(path).status_code for path in [*paths, "/api/auth", "/api/pair"]]
    assert set(answers) <= {404, 405}
    assert hub.world.engine.get_session(session.id) == session


def test_unknown_routes_and_pages_are_told(hub: HubWorld, phone: DeviceClient) -> None:
    assert phone.http.get("/api/nothing").status_code == 404
    assert phone.http.get("/../../etc/passwd").status_code == 404
    page = hub.open_client().get("/repos.html")
    assert page.status_code == 200
    assert "default-src 'none'" in page.headers["content-security-policy"]


@pytest.mark.parametrize("head_timeout_seconds", [0.3])
def test_a_connection_that_says_nothing_is_ended(hub: HubWorld) -> None:
    address = httpx.URL(hub.url)
    with socket.create_connection((address.host, address.port or 0)) as silent:
        silent.sendall(b"GET / HTTP/1.1\r\nHost:")
        silent.settimeout(60)
        assert silent.recv(100) == b""

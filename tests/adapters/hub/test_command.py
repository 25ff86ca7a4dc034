"""`codekernel hub` and `codekernel doctor hub` as processes."""

import os
import re
import signal
import ssl
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import httpx
import pytest
from codekernel import __version__
from codekernel.adapters.hub.certificate import format_fingerprint
from codekernel.adapters.hub.running_hub import RunningHub, render_qr_code
from support.hub_world import DeviceClient, EventStream, ServerSentEvent, as_json
from support.polling import wait_until
from support.scripted_agent import WAIT_SECONDS
from support.shared_kernel import ENVIRON, SharedKernel, set_variables


@dataclass
class HubCommand:
    """The commands of one userData folder."""

    user_data: Path
    started: list["subprocess.Popen[str]"] = field(default_factory=list)
    clients: list[httpx.Client] = field(default_factory=list)

    def run(self, *words: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [*self._build(words[0]), *words[1:]],
            capture_output=True,
            text=True,
            env={**os.environ, **ENVIRON},
            timeout=60,
            check=False,
        )

    def serve(self, *options: str) -> tuple["subprocess.Popen[str]", RunningHub, str]:
        """Start a hub; return its process, where it runs, and its code."""
        RunningHub.remove(self.user_data)
        process = subprocess.Popen(
            [*self._build("hub"), "--port", "0", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, **ENVIRON},
        )
        self.started.append(process)
        assert process.stdout
        code = ""
        for line in process.stdout:
            if line.startswith("Code "):
                code = line.split()[1]
            if "Ctrl-C" in line:
                break
        running = RunningHub.read(self.user_data)
        assert running is not None
        return process, running, code

    def open_client(self, url: str, verify: ssl.SSLContext | None = None) -> httpx.Client:
        client = httpx.Client(
            base_url=url, timeout=WAIT_SECONDS, trust_env=False, verify=verify or True
        )
        self.clients.append(client)
        return client

    def pair(self, url: str, code: str, verify: ssl.SSLContext | None = None) -> DeviceClient:
        http = self.open_client(url, verify)
        answer = http.post("/api/pair", json={"code": code, "name": "phone"})
        assert answer.status_code == 200, answer.text
        return sign_in(http, as_json(answer)["accessToken"])

    def close(self) -> None:
        for client in self.clients:
            client.close()
        for process in self.started:
            process.kill()
            process.communicate()

    def _build(self, command: str) -> list[str]:
        words = command.split()
        place = ["--user-data", str(self.user_data)]
        return [sys.executable, "-m", "codekernel", words[0], *place, *words[1:]]


@pytest.fixture
def command(user_data: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubCommand]:
    set_variables(monkeypatch)
    running = HubCommand(user_data)
    with SharedKernel(user_data):
        yield running
        running.close()


def sign_in(http: httpx.Client, key: str) -> DeviceClient:
    token = as_json(http.post("/api/auth", json={"accessToken": key}))["token"]
    http.headers["Authorization"] = f"Bearer {token}"
    return DeviceClient(http, key, token)


def start_session(phone: DeviceClient, repo: Path) -> str:
    (machine,) = phone.get("/api/machines")["machines"]
    body = {"directory": str(repo), "tag": "one"}
    answer = phone.post(f"/api/machines/{machine['id']}/spawn", body)
    assert answer["type"] == "success", answer
    return str(answer["sessionId"])


def test_a_hub_serves_pairs_and_stops_in_order(command: HubCommand, repo: Path) -> None:
    process, running, code = command.serve()
    assert running.url == f"http://127.0.0.1:{running.port}"
    phone = command.pair(running.url, code)
    session_id = start_session(phone, repo)
    stream = EventStream(phone, all="1")
    assert [each["id"] for each in phone.get("/api/sessions")["sessions"]] == [session_id]
    process.send_signal(signal.SIGINT)
    stream.wait_for_end()
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "stopped" in out
    assert RunningHub.read(command.user_data) is None


def test_devices_are_listed_and_revoked_while_the_hub_runs(command: HubCommand) -> None:
    _, running, code = command.serve()
    phone = command.pair(running.url, code)
    key = command.run("hub", "key", "tablet").stdout.strip()
    tablet = sign_in(command.open_client(running.url), key)
    assert tablet.get("/api/sessions") == {"sessions": []}
    listed = command.run("hub", "devices").stdout
    assert re.findall(r"^(\w+)  device  last seen 20", listed, re.MULTILINE) == ["phone", "tablet"]
    assert command.run("hub", "revoke", "tablet").returncode == 0
    assert tablet.refuse("GET", "/api/sessions") == (401, "invalid_token")
    assert phone.get("/api/sessions") == {"sessions": []}
    unknown = command.run("hub", "revoke", "tablet")
    assert (unknown.returncode, "no device is called" in unknown.stderr) == (1, True)
    another = command.run("hub", "pair").stdout
    assert f"Open {running.url}/#pair=" in another
    code = another.split("Code ")[1].split()[0]
    command.pair(running.url, code)


def test_the_doctor_makes_a_round_trip(command: HubCommand) -> None:
    idle = command.run("doctor hub")
    assert "no hub runs; its port 8790" in idle.stdout
    assert command.run("hub", "pair").returncode == 1
    process, _, _ = command.serve()
    well = command.run("doctor hub")
    assert well.returncode == 0, well.stdout + well.stderr
    for words in (
        f"protocol 1, codekernel {__version__}\n",
        "a device can sign in",
        "machines that are connected: ",
        "events arrive",
    ):
        assert words in well.stdout
    assert "PROBLEM" not in well.stdout
    assert "doctor" not in command.run("hub", "devices").stdout
    process.kill()
    process.wait()
    broken = command.run("doctor hub")
    assert broken.returncode == 1
    assert "PROBLEM: the hub does not answer" in broken.stdout


def test_anywhere_is_encrypted_with_a_certificate_that_stays(command: HubCommand) -> None:
    process, running, code = command.serve("--anywhere")
    assert running.url.startswith("https://")
    address = f"https://127.0.0.1:{running.port}"
    pem = ssl.get_server_certificate(("127.0.0.1", running.port))
    assert format_fingerprint(ssl.PEM_cert_to_DER_cert(pem)) == running.fingerprint
    context = ssl.create_default_context(cadata=pem)
    phone = command.pair(address, code, context)
    assert phone.get("/api/sessions") == {"sessions": []}
    refused = phone.http.get("/api/sessions", headers={"Host": f"evil.example:{running.port}"})
    assert refused.status_code == 403
    with pytest.raises(httpx.HTTPError):
        httpx.get(f"http://127.0.0.1:{running.port}/health", trust_env=False)
    assert command.run("doctor hub").returncode == 0
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    _, again, _ = command.serve("--anywhere")
    assert again.fingerprint == running.fingerprint


def test_options_that_do_not_fit_are_refused(command: HubCommand) -> None:
    tunnel = command.run("hub", "--behind-tunnel")
    assert (tunnel.returncode, "tunnelUrl" in tunnel.stderr) == (2, True)
    half = command.run("hub", "--tls-cert", "x")
    assert (half.returncode, "belong together" in half.stderr) == (2, True)
    unpaired = command.run("hub", "join", "https://hub.example")
    assert (unpaired.returncode, "--code" in unpaired.stderr) == (2, True)
    plain = command.run("hub", "join", "http://hub.example", "--code", "x")
    assert (plain.returncode, "not encrypted" in plain.stderr) == (2, True)


def test_behind_a_tunnel_its_name_is_known(command: HubCommand) -> None:
    settings = '{"hub": {"tunnelUrl": "https://hub.example.com"}}'
    (command.user_data / "settings.json").write_text(settings, encoding="utf-8")
    _, running, code = command.serve("--anywhere", "--behind-tunnel")
    assert running.url == "https://hub.example.com"
    phone = command.pair(f"http://127.0.0.1:{running.port}", code)
    through = {"Host": "hub.example.com", "Origin": "https://hub.example.com"}
    assert phone.http.get("/api/sessions", headers=through).status_code == 200
    foreign = {"Host": "other.example.com"}
    assert phone.http.get("/api/sessions", headers=foreign).status_code == 403


def test_a_hub_that_was_killed_goes_on(command: HubCommand, repo: Path) -> None:
    process, running, code = command.serve()
    phone = command.pair(running.url, code)
    session_id = start_session(phone, repo)
    path = f"/api/sessions/{session_id}/messages"
    for number in range(3):
        stream = EventStream(phone, all="1")
        phone.post(path, {"text": f"message {number}", "localId": f"l{number}"})
        process.send_signal(signal.SIGKILL)
        process.wait()
        stream.wait_for_end()
        process, running, _ = command.serve()
        phone = sign_in(command.open_client(running.url), phone.key)
        # It does not know whether its message arrived, and sends it again.
        phone.post(path, {"text": f"message {number}", "localId": f"l{number}"})
        resumed = EventStream(phone, stream.last_id, all="1")
        assert resumed.first.data["data"]["resume"] == "gap"
        resumed.close()
    sent = [each["localId"] for each in phone.get(path, limit=200)["messages"] if each["localId"]]
    assert sent == ["l0", "l1", "l2"]


def test_a_kernel_that_dies_is_followed_again(command: HubCommand, repo: Path) -> None:
    _, running, code = command.serve()
    phone = command.pair(running.url, code)
    session_id = start_session(phone, repo)
    stream = EventStream(phone, all="1")
    path = f"/api/sessions/{session_id}"
    for name in ("first", "second"):
        SharedKernel(command.user_data).kill()
        wait_until(lambda: phone.get(path)["session"]["active"])
        assert phone.http.patch(path, json={"name": name}).status_code == 200
        told = stream.wait_for(partial(tells_of, name))
        assert told.data["sessionId"] == session_id


def tells_of(text: str, event: ServerSentEvent) -> bool:
    return text in str(event.data)


def test_another_machine_joins_with_a_code_and_again_without(
    command: HubCommand, tmp_path: Path
) -> None:
    _, running, code = command.serve()
    phone = command.pair(running.url, code)
    code = command.run("hub", "pair").stdout.split("Code ")[1].split()[0]
    laptop = HubCommand(tmp_path / "laptop")
    laptop.user_data.mkdir()
    with SharedKernel(laptop.user_data):
        for words in (("--code", code), ()):
            joining = subprocess.Popen(
                [*laptop._build("hub"), "join", running.url, *words],
                env={**os.environ, **ENVIRON},
                stderr=subprocess.DEVNULL,
            )
            try:
                wait_until(lambda: len(phone.get("/api/machines")["machines"]) == 2)
                assert "machine" in command.run("hub", "devices").stdout
            finally:
                joining.send_signal(signal.SIGTERM)
                joining.wait(60)
        used = laptop.run("hub", "join", running.url, "--code", code)
        assert (used.returncode, "refuses this machine" in used.stderr) == (2, True)


def test_a_code_is_drawn_with_its_quiet_zone() -> None:
    lines = render_qr_code("https://192.168.1.20:8790/#pair=ABCD-EFGH-JKLM-NPQR")
    assert len({len(line) for line in lines}) == 1
    assert set(lines[0]) == {"█"}
    assert all(line.startswith("██") and line.endswith("██") for line in lines)
    assert len(lines[0]) <= 60


def test_a_machine_knows_an_encrypted_hub_by_its_fingerprint(
    command: HubCommand, tmp_path: Path
) -> None:
    _, running, code = command.serve("--anywhere")
    address = f"https://127.0.0.1:{running.port}"
    laptop = HubCommand(tmp_path / "laptop")
    laptop.user_data.mkdir()
    wrong = ("--code", code, "--fingerprint", "AB:" + running.fingerprint[3:])
    with SharedKernel(laptop.user_data):
        refused = laptop.run("hub", "join", address, *wrong)
        assert (refused.returncode, "another fingerprint" in refused.stderr) == (2, True)
        right = ("--code", code, "--fingerprint", running.fingerprint.lower())
        joining = subprocess.Popen(
            [*laptop._build("hub"), "join", address, *right],
            env={**os.environ, **ENVIRON},
            stderr=subprocess.PIPE,
            text=True,
        )
        assert joining.stderr
        assert "connected to the hub" in joining.stderr.readline()
        assert "machine  last seen" in command.run("hub", "devices").stdout
        joining.send_signal(signal.SIGTERM)
        joining.communicate(timeout=60)

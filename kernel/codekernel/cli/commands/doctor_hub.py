"""``codekernel doctor hub``: whether the hub runs, lets a device in, and answers."""

import argparse
import http.client
import json
import os
import socket
import ssl
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from codekernel.adapters.hub.access.certificate import format_fingerprint
from codekernel.adapters.hub.access.devices import DeviceRegistry
from codekernel.adapters.hub.database import HubDatabase
from codekernel.adapters.hub.running_hub import RunningHub
from codekernel.cli.model_selection import load_settings
from codekernel.cli.output.terminal import print_line
from codekernel.cli.process import ExitCode
from codekernel.errors import NetworkError
from codekernel.storage.user_data import UserData, open_user_data
from codekernel.transport.listener import LOOPBACK_HOST

TIMEOUT_SECONDS = 10.0

DEVICE_NAME = "doctor"


def run_doctor_hub(args: argparse.Namespace) -> int:
    """Print what works and what does not. Raises KernelError."""
    user_data = open_user_data(args.user_data, os.environ)
    is_well = True
    for is_wrong, finding in _examine(user_data):
        is_well &= not is_wrong
        print_line(f"PROBLEM: {finding}" if is_wrong else finding)
    return ExitCode.OK if is_well else ExitCode.FAILED


def _examine(user_data: UserData) -> Iterator[tuple[bool, str]]:
    """Yield findings, and whether a person must act."""
    with closing(HubDatabase(user_data.root)) as database:
        devices = DeviceRegistry(database)
        yield False, f"devices and machines that are paired: {len(devices.list_all())}"
        running = RunningHub.read(user_data.root)
        if running is None:
            yield from _examine_port(load_settings(user_data.settings_file).hub.port)
            return
        yield False, f"the hub runs at {running.url}"
        device, key = devices.add(DEVICE_NAME)
        try:
            yield from _examine_hub(running, key)
        except (OSError, http.client.HTTPException, ValueError, NetworkError) as error:
            yield True, f"the hub does not answer on port {running.port}: {error}"
        finally:
            devices.revoke(device.id)


def _examine_port(port: int) -> Iterator[tuple[bool, str]]:
    with socket.socket() as probe:
        try:
            probe.bind((LOOPBACK_HOST, port))
        except OSError as error:
            yield True, f"no hub runs, and its port {port} cannot be used: {error.strerror}"
            return
    yield False, f"no hub runs; its port {port} is free"


def _examine_hub(running: RunningHub, key: str) -> Iterator[tuple[bool, str]]:
    """Make the round trip of a device: sign in, list, listen."""
    health = _request(running, "GET", "/health")
    version = health["capabilities"].get("codekernel", "of an unknown version")
    yield False, f"protocol {health['protocolVersion']}, codekernel {version}"
    token = _request(running, "POST", "/api/auth", {"accessToken": key})["token"]
    yield False, "a device can sign in"
    headers = {"Authorization": f"Bearer {token}"}
    machines = _request(running, "GET", "/api/machines", headers=headers)["machines"]
    names = ", ".join(machine["metadata"]["host"] for machine in machines)
    yield not machines, f"machines that are connected: {names or 'none'}"
    sessions = _request(running, "GET", "/api/sessions", headers=headers)["sessions"]
    yield False, f"agent sessions: {len(sessions)}"
    with closing(_connect(running)) as connection:
        connection.request("GET", "/api/events?all=1", headers=headers)
        line = connection.getresponse().readline()
    yield b"connection-changed" not in line, "events arrive"


def _request(
    running: RunningHub,
    method: str,
    path: str,
    body: dict[str, Any] | None = None,
    headers: dict[str, str] | None = None,
) -> dict[str, Any]:
    with closing(_connect(running)) as connection:
        connection.request(method, path, json.dumps(body) if body else None, headers or {})
        response = connection.getresponse()
        content: dict[str, Any] = json.loads(response.read())
    if response.status != http.HTTPStatus.OK:
        raise NetworkError(f"{method} {path}: {response.status} {content.get('error')}")
    return content


def _connect(running: RunningHub) -> http.client.HTTPConnection:
    """Connect on this machine; a certificate is compared with that of the hub."""
    if not running.is_secure:
        return http.client.HTTPConnection(LOOPBACK_HOST, running.port, timeout=TIMEOUT_SECONDS)
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE  # its fingerprint is compared instead
    connection = http.client.HTTPSConnection(
        LOOPBACK_HOST, running.port, timeout=TIMEOUT_SECONDS, context=context
    )
    connection.connect()
    certificate = connection.sock.getpeercert(binary_form=True) or b""
    if format_fingerprint(certificate) != running.fingerprint:
        connection.close()
        raise NetworkError("another program answers, with another certificate")
    return connection

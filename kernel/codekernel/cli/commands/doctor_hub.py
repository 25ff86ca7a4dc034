"""``codekernel doctor hub|lark|telegram``: whether the hub and its bots run and answer."""

import argparse
import http.client
import json
import os
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any, TypeVar

from codekernel.adapters.chat.bindings import ChatBindings
from codekernel.adapters.hub.certificate import format_fingerprint
from codekernel.adapters.hub.database import HubDatabase
from codekernel.adapters.hub.devices import DeviceRegistry
from codekernel.adapters.hub.running_hub import RunningHub
from codekernel.adapters.lark import inbox as lark
from codekernel.adapters.lark.api import LarkApi, resolve_domain
from codekernel.adapters.lark.cards import build_card, make_markdown
from codekernel.adapters.lark.connection import LongConnection
from codekernel.adapters.lark.turn_cards import make_unique_id
from codekernel.adapters.telegram import adapter as telegram
from codekernel.adapters.telegram.api import TelegramApi, TelegramRefused
from codekernel.cli.commands.hub import LARK_KEY_NAME, TELEGRAM_KEY_NAME, read_secret
from codekernel.cli.model_selection import load_settings
from codekernel.cli.output.terminal import print_line
from codekernel.cli.process import ExitCode
from codekernel.domain.untrusted_text import escape_line
from codekernel.errors import ApiKeyNotFound, KernelError, NetworkError
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


# What the app needs, and the rights of which one is enough.
REQUIRED_RIGHTS = (
    ("send messages", {"im:message", "im:message:send_as_bot"}),
    ("update cards", {"im:message", "im:message:send_as_bot", "im:message:update"}),
    (
        "receive messages",
        {"im:message", "im:message.p2p_msg", "im:message.p2p_msg:readonly"},
    ),
)

# The platform answers a ping within a second.
PONG_TIMEOUT_SECONDS = 20.0

# Whether a person must act, and the finding.
_Finding = tuple[bool, str]


def run_doctor_lark(args: argparse.Namespace) -> int:
    """Print one line per finding; FAILED if a person must act. Raises KernelError."""
    user_data = open_user_data(args.user_data, os.environ)
    problems = 0
    for is_problem, finding in examine_lark(user_data):
        problems += is_problem
        print_line(f"{'PROBLEM' if is_problem else 'ok'}: {finding}")
    return ExitCode.FAILED if problems else ExitCode.OK


def examine_lark(user_data: UserData) -> Iterator[_Finding]:
    """Yield whether a person must act, and the finding."""
    settings = load_settings(user_data.settings_file).lark
    if not settings.enabled:
        yield True, "lark.enabled in settings.json is false, so the hub has no bot"
    try:
        secret = read_secret(user_data, LARK_KEY_NAME)
    except ApiKeyNotFound:
        yield True, f"there is no app secret: codekernel key set {LARK_KEY_NAME}"
        return
    with closing(LarkApi(settings.app_id, secret, settings.domain)) as api:
        try:
            api.get_token()
            yield False, f"{resolve_domain(settings.domain)} accepts the app id and its secret"
            yield False, f"the app is the bot {escape_line(api.get_bot_name())}"
        except KernelError as error:
            yield True, str(error)
            return
        yield from _examine_rights(api)
        yield _try_connection(api)
        yield from _try_chats(api, user_data)


def _examine_rights(api: LarkApi) -> Iterator[_Finding]:
    try:
        granted = api.list_scopes()
    except KernelError as error:
        yield False, f"the rights cannot be read ({error}): compare them with docs/lark.md"
        return
    for purpose, rights in REQUIRED_RIGHTS:
        if rights & granted:
            yield False, f"the app may {purpose}"
        else:
            yield True, f"the app may not {purpose}: grant {' or '.join(sorted(rights))}"


def _try_connection(api: LarkApi) -> _Finding:
    """Open the long connection beside that of a running hub; what it gets, the hub gets again."""

    def refuse(_: dict[str, Any]) -> None:
        raise KernelError("this connection only tries whether there is one")

    has_pong = threading.Event()
    connection = LongConnection(api.get_endpoint, refuse, has_pong.set)
    connection.start()
    is_there = has_pong.wait(PONG_TIMEOUT_SECONDS)
    problem = connection.problem or "no answer to a ping"
    connection.stop()
    if is_there:
        return False, "the long connection is accepted and answers"
    return True, f"the long connection cannot be had: {problem}"


def _try_chats(api: LarkApi, user_data: UserData) -> Iterator[_Finding]:
    """Send a card to each chat that follows a session, and update it."""
    with closing(HubDatabase(user_data.root)) as database:
        bindings = ChatBindings(database, lark.PLATFORM)
        users, chats = bindings.list_users(), bindings.list_chats()
    if not users:
        yield True, f"nobody is bound: codekernel hub bind {lark.PLATFORM}"
    if not chats:
        yield False, "no chat follows a session yet: write /sessions or /new to the bot"
    for chat in chats:
        unique_id = make_unique_id(chat.chat_id, os.urandom(8).hex())
        try:
            sending = build_card("codekernel doctor", "", "wathet", [make_markdown("…")])
            message_id = api.send_card(chat.chat_id, sending, unique_id)
            shown = build_card("codekernel doctor", "", "green", [make_markdown("It works.")])
            api.update_card(message_id, shown)
        except KernelError as error:
            yield True, f"the chat {chat.chat_id} cannot be written to: {error}"
        else:
            yield False, f"a card was sent to the chat {chat.chat_id}, and updated"


MAX_ATTEMPTS = 4

Result = TypeVar("Result")


def run_doctor_telegram(args: argparse.Namespace) -> int:
    """Print one line per finding; FAILED if a person must act. Raises KernelError."""
    user_data = open_user_data(args.user_data, os.environ)
    problems = 0
    for is_problem, finding in examine_telegram(user_data):
        problems += is_problem
        print_line(f"{'PROBLEM' if is_problem else 'ok'}: {finding}")
    return ExitCode.FAILED if problems else ExitCode.OK


def examine_telegram(user_data: UserData) -> Iterator[tuple[bool, str]]:
    """Yield whether a person must act, and the finding."""
    settings = load_settings(user_data.settings_file).telegram
    if not settings.enabled:
        yield True, "telegram.enabled in settings.json is false, so the hub has no bot"
    try:
        token = read_secret(user_data, TELEGRAM_KEY_NAME)
    except ApiKeyNotFound:
        yield True, f"there is no token: codekernel key set {TELEGRAM_KEY_NAME}"
        return
    yield False, "a token is stored"
    with closing(TelegramApi(token, settings.api_base)) as api:
        try:
            bot = api.get_me()
        except KernelError as error:
            yield True, str(error)
            return
        yield False, f"{settings.api_base} knows the bot @{escape_line(bot.name)}"
        with closing(HubDatabase(user_data.root)) as database:
            users = ChatBindings(database, telegram.PLATFORM).list_users()
        if not users:
            yield True, f"nobody is bound: codekernel hub bind {telegram.PLATFORM}"
        for user in users:
            yield _make_round_trip(api, user.user_id, escape_line(user.name))


def _make_round_trip(api: TelegramApi, user_id: str, name: str) -> tuple[bool, str]:
    """Send a message, edit and delete it."""
    edited = "codekernel doctor: <b>it works</b>"
    try:
        message_id = _be_patient(
            lambda: api.send_message(user_id, "codekernel doctor …", is_silent=True)
        )
        _be_patient(lambda: api.edit_message(user_id, message_id, edited))
        _be_patient(lambda: api.delete_message(user_id, message_id))
    except KernelError as error:
        return True, f"{name} cannot be written to: {error}"
    return False, f"a message to {name} was sent, edited and deleted"


def _be_patient(call: Callable[[], Result]) -> Result:
    """Wait as long as Telegram asks for, a few times; the hub may be writing as well."""
    for _ in range(MAX_ATTEMPTS - 1):
        try:
            return call()
        except TelegramRefused as error:
            if not error.is_rate_limited:
                raise
            time.sleep(error.retry_after_seconds)
    return call()

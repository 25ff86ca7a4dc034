"""``codekernel doctor telegram``: the bot's token, who it is, who is bound, and a round trip."""

import argparse
import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import TypeVar

from codekernel.adapters.chat.bindings import ChatBindings
from codekernel.adapters.hub.database import HubDatabase
from codekernel.adapters.telegram.adapter import PLATFORM
from codekernel.adapters.telegram.api import TelegramApi, TelegramRefused
from codekernel.cli.commands.chats import TELEGRAM_KEY_NAME, read_secret
from codekernel.cli.model_selection import load_settings
from codekernel.cli.output.terminal import print_line
from codekernel.cli.process import ExitCode
from codekernel.domain.untrusted_text import escape_line
from codekernel.errors import ApiKeyNotFound, KernelError
from codekernel.storage.user_data import UserData, open_user_data

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
            users = ChatBindings(database, PLATFORM).list_users()
        if not users:
            yield True, f"nobody is bound: codekernel hub bind {PLATFORM}"
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

"""The chats of ``codekernel hub``: which of them run, and who may use them (``hub bind``)."""

import argparse
import os
from contextlib import closing
from datetime import UTC, datetime

from codekernel.adapters.chat.bindings import CODE_LIFETIME_SECONDS, ChatBindings
from codekernel.adapters.chat.repository_queries import RepositoryQueries
from codekernel.adapters.hub.database import HubDatabase
from codekernel.adapters.hub.service import ChatAdapter
from codekernel.adapters.lark.adapter import LarkAdapter
from codekernel.adapters.lark.api import LarkApi
from codekernel.adapters.telegram.adapter import TelegramAdapter
from codekernel.adapters.telegram.followed_chats import TelegramOptions
from codekernel.cli.output.terminal import print_line, print_notice, write_lines
from codekernel.cli.process import ExitCode
from codekernel.client.relay import Connect
from codekernel.domain.settings import Settings
from codekernel.domain.untrusted_text import escape_line
from codekernel.errors import ApiKeyNotFound
from codekernel.storage.user_data import UserData
from codekernel.storage.vault.vault import ApiKeys, CommandVault

# Names of secrets in the vault.
TELEGRAM_KEY_NAME = "telegram:bot"
LARK_KEY_NAME = "lark:secret"


def open_chats(
    settings: Settings, database: HubDatabase, user_data: UserData, connect: Connect
) -> list[ChatAdapter]:
    """Return the chats that the settings ask for; one without its secret is left out, and told."""
    chats: list[ChatAdapter] = []
    if settings.telegram.enabled:
        try:
            token = read_secret(user_data, TELEGRAM_KEY_NAME)
        except ApiKeyNotFound:
            print_notice(f"telegram has no token yet: codekernel key set {TELEGRAM_KEY_NAME}")
        else:
            options = TelegramOptions(
                token, settings.telegram.api_base, settings.telegram.notices_only
            )
            chats.append(TelegramAdapter(database, options, RepositoryQueries(user_data, connect)))
    if settings.lark.enabled:
        try:
            secret = read_secret(user_data, LARK_KEY_NAME)
        except ApiKeyNotFound:
            print_notice(f"lark has no app secret yet: codekernel key set {LARK_KEY_NAME}")
        else:
            api = LarkApi(settings.lark.app_id, secret, settings.lark.domain)
            queries = RepositoryQueries(user_data, connect)
            notices_only = settings.lark.notices_only
            chats.append(LarkAdapter(api, database, queries, notices_only=notices_only))
    return chats


def read_secret(user_data: UserData, name: str) -> str:
    """Return a secret of the vault. Raises ApiKeyNotFound."""
    if not user_data.database_file.exists():
        raise ApiKeyNotFound(f"nothing is stored under {name!r}")
    with closing(CommandVault(user_data, os.environ)) as vault:
        return ApiKeys(vault).get(name)


def bind_user(args: argparse.Namespace, user_data: UserData) -> int:
    """Print a code that binds one person to the bot of a platform."""
    with closing(HubDatabase(user_data.root)) as database:
        code = ChatBindings(database, args.platform).create_code()
    write_lines([f"/bind {code}"])
    minutes = CODE_LIFETIME_SECONDS // 60
    print_notice(f"send this to the bot; it binds one person, within {minutes} minutes")
    return ExitCode.OK


def unbind_user(args: argparse.Namespace, user_data: UserData) -> int:
    """Withdraw a person's right to use the bot of a platform; without a name, list them."""
    with closing(HubDatabase(user_data.root)) as database:
        bindings = ChatBindings(database, args.platform)
        users = bindings.list_users()
        if not args.user:
            for user in users:
                bound = datetime.fromtimestamp(user.bound_at, UTC).astimezone()
                print_line(f"{user.user_id}  {escape_line(user.name)}  {bound:%Y-%m-%d %H:%M}")
            if not users:
                print_notice(f"nobody is bound: codekernel hub bind {args.platform}")
            return ExitCode.OK
        if bindings.unbind_user(args.user):
            return ExitCode.OK
    print_notice(f"nobody with the id {args.user!r} is bound")
    return ExitCode.FAILED

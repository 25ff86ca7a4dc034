"""The bots of the hub that the settings ask for, on Telegram and Lark."""

from codekernel.adapters.chat.repository_queries import RepositoryQueries
from codekernel.adapters.hub.database import HubDatabase
from codekernel.adapters.hub.service import ChatAdapter
from codekernel.adapters.lark.adapter import LarkAdapter
from codekernel.adapters.lark.api import LarkApi
from codekernel.adapters.telegram.adapter import TelegramAdapter
from codekernel.adapters.telegram.followed_chats import TelegramOptions
from codekernel.cli.commands.hub import LARK_KEY_NAME, TELEGRAM_KEY_NAME, read_secret
from codekernel.cli.output.terminal import print_notice
from codekernel.client.relay import Connect
from codekernel.domain.settings import Settings
from codekernel.errors import ApiKeyNotFound
from codekernel.storage.user_data import UserData


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

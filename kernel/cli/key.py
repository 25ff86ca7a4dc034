"""``codekernel key``: the API keys of chat models, stored without ever standing in a command."""

import logging
import os
import signal
import sys
from contextlib import closing
from getpass import getpass

from kernel.cli.ask_models import how_to_add
from kernel.cli.search_models import settings_and_plan
from kernel.cli.search_streams import print_line, say
from kernel.domain.settings import GenerationModel
from kernel.domain.terminal_text import escape_line
from kernel.errors import KernelError, WrongParam
from kernel.storage.api_keys import ApiKeys
from kernel.storage.command_vault import CommandVault
from kernel.storage.user_data import UserData, open_user_data

DONE, TROUBLE = 0, 2
# Characters; real keys have some hundreds. More is a file given by mistake.
LONGEST_KEY = 10_000


def key(user_data_argument: str | None, action: str, name: str) -> int:
    """List, store or forget; 0 if that was done, 2 in trouble."""
    logging.getLogger().addHandler(logging.NullHandler())  # what matters is said, not logged
    try:
        user_data = open_user_data(user_data_argument, os.environ)
        with closing(CommandVault(user_data, os.environ)) as vault:
            _act(action, name, user_data, ApiKeys(vault))
    except KernelError as error:
        say(str(error))
        return TROUBLE
    return DONE


def _act(action: str, name: str, user_data: UserData, keys: ApiKeys) -> None:
    settings, _ = settings_and_plan(user_data.settings_file)
    models = settings.generation_models
    has_vault = user_data.database_file.exists()
    if action == "list":
        for model in models:
            print_line(_entry(model, has_key=has_vault and keys.has(model.name)))
        if not models:
            say(f"no chat model is set up. {how_to_add(user_data.settings_file)}")
    elif action == "set":
        keys.set(name, _read_key(name))
        if name not in {model.name for model in models}:
            known = ", ".join(model.name for model in models) or "none yet"
            say(f"stored, but no chat model is called {name!r}; the settings have: {known}")
    else:
        if not has_vault or not keys.has(name):
            raise WrongParam(f"there is no key for {name!r}")
        keys.set(name, "")


def _entry(model: GenerationModel, *, has_key: bool) -> str:
    state = "has a key" if has_key else "no key"
    missing = f": codekernel key set {model.name}" if model.needs_key and not has_key else ""
    return f"{model.name}  {state}{missing}"


def _read_key(name: str) -> str:
    if sys.stdin.isatty():
        # getpass turns the echo on again only if Ctrl-C is an exception.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            text = getpass(f"API key of {escape_line(name)}: ")
        except EOFError:
            text = ""
        finally:
            signal.signal(signal.SIGINT, before)
    else:
        text = sys.stdin.read(LONGEST_KEY + 1)
    entered = text.strip()
    if not entered:
        raise WrongParam("no key was entered, so nothing was stored")
    if len(entered) > LONGEST_KEY or any(map(str.isspace, entered)) or not entered.isprintable():
        raise WrongParam("this is no key: it must be one word; nothing was stored")
    return entered

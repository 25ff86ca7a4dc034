"""``codekernel models`` and ``codekernel key``.

List the installed models and verify their files; list, store and remove API keys of chat
models.
"""

import hashlib
import logging
import os
import signal
import sys
from contextlib import closing
from getpass import getpass
from pathlib import Path
from typing import Any

from codekernel.cli.model_selection import describe_model_setup, load_settings_and_plan
from codekernel.cli.output.terminal import print_line, print_notice
from codekernel.domain.settings import GenerationModel, LocalModel, Settings
from codekernel.domain.untrusted_text import escape_line
from codekernel.errors import InvalidModel, KernelError, WrongParam
from codekernel.inference.model_folder import read_model_folder
from codekernel.settings.loading import load_settings_file
from codekernel.settings.local_models import is_built_in, measure_model_mb, read_manifest
from codekernel.storage.user_data import UserData, open_user_data
from codekernel.storage.vault.tables import ApiKeys
from codekernel.storage.vault.vault import CommandVault


def run_models(user_data_argument: str | None) -> int:
    """Print each model of the settings; 0 if all can be used, 1 if one cannot."""
    settings, _ = load_settings_file(open_user_data(user_data_argument, os.environ).settings_file)
    shipped = read_manifest()
    problems = 0
    for model in settings.local_models:
        trouble = _find_problems(model, shipped.get(model.name, {}))
        problems += bool(trouble)
        print_line(
            f"{model.name}  {model.kind.value}, {measure_model_mb(model.path):.0f} MB"
            f"{_describe_use(model, settings)}"
        )
        print_line(f"    {model.path}")
        for line in [*_describe_model(model, shipped.get(model.name, {})), *trouble]:
            print_line(f"    {line}")
    return 1 if problems else 0


def _describe_use(model: LocalModel, settings: Settings) -> str:
    chosen = [config for config in settings.embedding_configs if config.model_name == model.name]
    names = [config.name for config in chosen if config.is_selected]
    names += [
        "rerank"
        for config in settings.rerank_configs
        if config.model_name == model.name and config.is_selected
    ]
    return f", used by {', '.join(names)}" if names else ", not used"


def _describe_model(model: LocalModel, entry: dict[str, Any]) -> list[str]:
    if not entry or not is_built_in(model):
        return []
    size = [f"{entry['dimensions']} dimensions"] if entry["dimensions"] else []
    return [", ".join([*size, entry["licence"], "comes with codekernel"])]


def _find_problems(model: LocalModel, entry: dict[str, Any]) -> list[str]:
    """What keeps the model from being used."""
    try:
        read_model_folder(model.path)
    except InvalidModel as error:
        return [f"PROBLEM: {error}"]
    if not is_built_in(model):
        return []
    changed = [
        name
        for name, digest in entry.get("files", {}).items()
        if _hash_file(model.path / name) != digest
    ]
    return [f"PROBLEM: {name} is not the file that was shipped" for name in changed]


def _hash_file(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""


EXIT_DONE, EXIT_ERROR = 0, 2

# Characters; real keys have some hundreds. More is a file given by mistake.
MAX_KEY_CHARS = 10_000


def run_key(user_data_argument: str | None, action: str, name: str) -> int:
    """List, store or forget; 0 if that was done, 2 in trouble."""
    logging.getLogger().addHandler(logging.NullHandler())  # what matters is said, not logged
    try:
        user_data = open_user_data(user_data_argument, os.environ)
        with closing(CommandVault(user_data, os.environ)) as vault:
            _run_action(action, name, user_data, ApiKeys(vault))
    except KernelError as error:
        print_notice(str(error))
        return EXIT_ERROR
    return EXIT_DONE


def _run_action(action: str, name: str, user_data: UserData, keys: ApiKeys) -> None:
    settings, _ = load_settings_and_plan(user_data.settings_file)
    models = settings.generation_models
    has_vault = user_data.database_file.exists()
    if action == "list":
        for model in models:
            print_line(_format_entry(model, has_key=has_vault and keys.has(model.name)))
        if not models:
            print_notice(
                f"no chat model is set up. {describe_model_setup(user_data.settings_file)}"
            )
    elif action == "set":
        keys.set(name, _read_key(name))
        if name not in {model.name for model in models}:
            known = ", ".join(model.name for model in models) or "none yet"
            print_notice(
                f"stored, but no chat model is called {name!r}; the settings have: {known}"
            )
    else:
        if not has_vault or not keys.has(name):
            raise WrongParam(f"there is no key for {name!r}")
        keys.set(name, "")


def _format_entry(model: GenerationModel, *, has_key: bool) -> str:
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
        text = sys.stdin.read(MAX_KEY_CHARS + 1)
    entered = text.strip()
    if not entered:
        raise WrongParam("no key was entered, so nothing was stored")
    if len(entered) > MAX_KEY_CHARS or any(map(str.isspace, entered)) or not entered.isprintable():
        raise WrongParam("this is no key: it must be one word; nothing was stored")
    return entered

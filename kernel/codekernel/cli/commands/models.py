"""``codekernel models``: list the installed models and verify their files.

``models allow|deny`` says which remote models may be sent a repository; ``codekernel key`` lists,
stores and removes the API keys of chat models.
"""

import argparse
import hashlib
import os
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from codekernel.cli.arguments import KODE_KEY_NAME
from codekernel.cli.commands.models_add import add_chat_model, read_key
from codekernel.cli.folder_session import FolderSession
from codekernel.cli.kernel_access import open_kernel
from codekernel.cli.model_selection import load_settings
from codekernel.cli.output.terminal import print_line, print_notice
from codekernel.cli.process import ExitCode
from codekernel.cli.project_folder import find_project_root
from codekernel.domain.settings import GenerationModel, LocalModel, RemoteModel, Settings
from codekernel.domain.untrusted_text import escape_line
from codekernel.errors import InvalidModel, WrongParam
from codekernel.inference.model_folder import read_model_folder
from codekernel.settings.loading import load_settings_file
from codekernel.settings.local_models import (
    MODEL_SETUP_ADVICE,
    is_built_in,
    measure_model_mb,
    read_manifest,
)
from codekernel.storage.user_data import UserData, open_user_data
from codekernel.storage.vault.vault import ApiKeys, CommandVault


def run_models(args: argparse.Namespace) -> int:
    """Add a chat model, or print each local one. Raises KernelError."""
    if args.action == "add":
        return add_chat_model(args, open_user_data(args.user_data, os.environ))
    return _list_models(args)


def _list_models(args: argparse.Namespace) -> int:
    """Print each model of the settings; FAILED if one cannot be used."""
    settings, _ = load_settings_file(open_user_data(args.user_data, os.environ).settings_file)
    shipped = read_manifest()
    has_problems = False
    for model in settings.local_models:
        if model.remote:
            print_line(f"{model.name}  {model.kind.value}, remote{_describe_use(model, settings)}")
            print_line(f"    {model.remote.model_name} at {model.remote.url}")
            continue
        problems = _find_problems(model, shipped.get(model.name, {}))
        has_problems |= bool(problems)
        print_line(
            f"{model.name}  {model.kind.value}, {measure_model_mb(model.path):.0f} MB"
            f"{_describe_use(model, settings)}"
        )
        print_line(f"    {model.path}")
        for line in [*_describe_model(model, shipped.get(model.name, {})), *problems]:
            print_line(f"    {line}")
    return ExitCode.FAILED if has_problems else ExitCode.OK


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
    """Return what keeps the model from being used."""
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


def run_key(args: argparse.Namespace) -> int:
    """List, store or remove API keys. Raises KernelError."""
    user_data = open_user_data(args.user_data, os.environ)
    with closing(CommandVault(user_data, os.environ)) as vault:
        _run_action(args.action, args.name, user_data, ApiKeys(vault))
    return ExitCode.OK


def _run_action(action: str, name: str, user_data: UserData, keys: ApiKeys) -> None:
    settings = load_settings(user_data.settings_file)
    remote = [model.remote for model in settings.local_models if model.remote]
    models: list[GenerationModel | RemoteModel] = [*settings.generation_models, *remote]
    has_vault = user_data.database_file.exists()
    if action == "list":
        for model in models:
            print_line(_format_entry(model, has_key=has_vault and keys.has(model.name)))
        if has_vault and keys.has(KODE_KEY_NAME):
            print_line(f"{KODE_KEY_NAME}  key of the clients of codekernel backend --http")
        if not models:
            print_notice(f"no chat model is set up. {MODEL_SETUP_ADVICE}")
    elif action == "set":
        keys.set(name, read_key(name))
        # One with a colon is of something else, such as telegram:bot.
        names = [model.name for model in models]
        if ":" not in name and name not in {KODE_KEY_NAME, *names}:
            known = ", ".join(names) or "none yet"
            print_notice(
                f"stored, but no chat model or remote model is called {name!r}; the settings"
                f" have: {known}"
            )
    else:
        if not has_vault or not keys.has(name):
            raise WrongParam(f"there is no key for {name!r}")
        keys.set(name, "")


def _format_entry(model: GenerationModel | RemoteModel, *, has_key: bool) -> str:
    state = "has a key" if has_key else "no key"
    missing = f": codekernel key set {model.name}" if model.needs_key and not has_key else ""
    return f"{model.name}  {state}{missing}"


_MEGABYTE = 1_000_000


def run_models_allow(args: argparse.Namespace) -> int:
    """Say what would be sent, ask, and keep the answer. Raises KernelError."""
    return _answer(args, allowed=True)


def run_models_deny(args: argparse.Namespace) -> int:
    """Keep that a repository is not sent to a remote model. Raises KernelError."""
    return _answer(args, allowed=False)


def _answer(args: argparse.Namespace, *, allowed: bool) -> int:
    root = find_project_root(args.repo)
    user_data = open_user_data(args.user_data, os.environ)
    with open_kernel(args, user_data, "models") as kernel:
        session = FolderSession(kernel)
        kernel.wait_for_reply(session.open(root))
        # What is counted before every file was read would be too little.
        asks = session.wait_for_index(until_complete=True).get("asks", [])
        asks = [each for each in asks if args.name in {None, each["model"]}]
        for ask in asks:
            print_line(describe_ask(ask))
        if not asks and args.name is None:
            print_line("no remote model waits for a permission here")
            return ExitCode.OK
        names = [args.name] if args.name else [each["model"] for each in asks]
        if allowed and not args.yes and not _confirm(str(root)):
            print_line("nothing is sent")
            return ExitCode.FAILED
        for name in names:
            session.request("allowEndpoint", model=name, allowed=allowed)
            print_line(f"{escape_line(name)}: {'allowed' if allowed else 'nothing is sent'}")
    return ExitCode.OK


def describe_ask(ask: dict[str, Any]) -> str:
    """Return one sentence on what would be sent."""
    name, endpoint = escape_line(ask["model"]), escape_line(ask["endpoint"])
    cost = "" if ask["cost"] is None else f", which cost about {ask['cost']:.2g}"
    size = ask["sizeBytes"] / _MEGABYTE
    when = "with each accurate search" if ask["eachSearch"] else "now, and later what changes"
    return (
        f"{name} would send to {endpoint}, {when}: {ask['chunks']:,} chunks of code,"
        f" {size:.2g} MB, about {ask['tokens']:,} tokens{cost}; secrets are masked"
    )


def _confirm(folder: str) -> bool:
    if not sys.stdin.isatty():
        print_notice("say --yes to allow it without being asked")
        return False
    print(f"Send code of {escape_line(folder)}? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in {"y", "yes"}

"""``codekernel models add``: set up a chat model, by options or by questions.

The kernel looks for servers on this machine, lists the models of an endpoint and tries one; this
command saves the settings as the settings page does.
"""

import argparse
import sys
from dataclasses import dataclass
from getpass import getpass
from typing import Any

from codekernel.cli.output.terminal import print_line, print_notice
from codekernel.cli.process import ExitCode, raise_on_interrupt
from codekernel.client.connection import KernelConnection
from codekernel.client.settings_saver import SettingsSaver
from codekernel.domain.untrusted_text import escape_line
from codekernel.errors import RefusedByKernel, WrongParam
from codekernel.storage.user_data import UserData

# More are not listed: a part of the name finds one.
MAX_SHOWN_MODELS = 30

# Of the prices that endpoints list.
LISTED_CURRENCY = "USD"

Entry = dict[str, Any]


def add_chat_model(args: argparse.Namespace, user_data: UserData) -> int:
    """Choose, try and save a chat model. Raises KernelError."""
    with KernelConnection.open(user_data.root, "models") as kernel:
        try:
            return _add(args, kernel, user_data)
        except RefusedByKernel as error:
            raise WrongParam(str(error)) from error


@dataclass(frozen=True, slots=True)
class _Endpoint:
    """Where the model is; ``models`` is None before its list was asked for."""

    title: str
    url: str
    key_page: str = ""
    models: list[Entry] | None = None


def _add(args: argparse.Namespace, kernel: KernelConnection, user_data: UserData) -> int:
    endpoint = _choose_endpoint(args, kernel)
    key = _read_endpoint_key(endpoint)
    model = _choose_model(args.model, endpoint, key, kernel)
    settings = kernel.request("getSettings")["settings"]
    saved = settings["conversationSettings"]["generationModel"]
    name = _find_free_name(args.name, model["name"], [each["name"] for each in saved])
    if not args.no_test:
        print_notice(f"asking {escape_line(model['name'])} at {endpoint.title}")
        kernel.request("testApi", {"modelName": model["name"], "url": endpoint.url, "api": key})
    if key:
        kernel.request("setApiKey", {"name": name, "apiKey": key})
    entry = {"name": name, "modelName": model["name"], "url": endpoint.url, "setApiKey": bool(key)}
    known = {field: model.get(field) for field in ("inputPrice", "outputPrice", "contextTokens")}
    conversation = settings["conversationSettings"]
    has_prices = any(each.get("inputPrice") is not None for each in saved)
    if known["inputPrice"] is not None and not has_prices and not conversation["currency"]:
        conversation["currency"] = LISTED_CURRENCY
    saved.append({**entry, **known})
    try:
        SettingsSaver(kernel.request, RefusedByKernel, user_data).save(settings)
    except RefusedByKernel:
        if key:  # it would be of no model
            kernel.request("setApiKey", {"name": name, "apiKey": ""})
        raise
    print_line(f'{escape_line(name)} can be used: codekernel ask --model "{escape_line(name)}" ...')
    return ExitCode.OK


def _choose_endpoint(args: argparse.Namespace, kernel: KernelConnection) -> _Endpoint:
    presets = kernel.request("getModelPresets")["presets"]
    if args.url:
        known = [each for each in presets if each["url"].rstrip("/") == args.url.rstrip("/")]
        is_local = any(host in args.url for host in ("//127.0.0.1", "//localhost", "//[::1]"))
        page = known[0]["keyPage"] if known else "" if is_local else "its provider"
        return _Endpoint(known[0]["title"] if known else args.url, args.url, page)
    if args.provider:
        found = [each for each in presets if args.provider.lower() in (each["name"], each["title"])]
        if not found:
            names = ", ".join(each["name"] for each in presets)
            raise WrongParam(f"no provider is called {args.provider!r}: {names}; or give --url")
        return _Endpoint(found[0]["title"], found[0]["url"], found[0]["keyPage"])
    if not sys.stdin.isatty():
        raise WrongParam("say which provider, or give --url: codekernel models add --help")
    return _ask_for_endpoint(presets, kernel.request("findLocalServers")["servers"])


def _ask_for_endpoint(presets: list[Entry], servers: list[Entry]) -> _Endpoint:
    titles = {each["name"]: each["title"] for each in presets}
    choices = [
        _Endpoint(titles[each["preset"]], each["url"], models=each["models"]) for each in servers
    ]
    labels = [
        f"{each.title} on this machine ({_format_count(each.models or [])})" for each in choices
    ]
    remote = [each for each in presets if not each["local"]]
    choices += [_Endpoint(each["title"], each["url"], each["keyPage"]) for each in remote]
    labels += [each["title"] for each in remote]
    if not servers:
        print_notice(
            "no server of models runs on this machine (Ollama, LM Studio, llama.cpp, vLLM)"
        )
    return choices[_ask_for_number("Which one? ", labels)]


def _read_endpoint_key(endpoint: _Endpoint) -> str:
    if not endpoint.key_page:
        return ""
    if sys.stdin.isatty():
        print_notice(f"a key can be had at {endpoint.key_page}")
    return read_key(endpoint.title)


def _choose_model(
    wanted: str | None, endpoint: _Endpoint, key: str, kernel: KernelConnection
) -> Entry:
    models = endpoint.models
    if models is None:
        try:
            fields = {"url": endpoint.url, "api": key}
            models = kernel.request("listEndpointModels", fields)["models"]
        except RefusedByKernel:
            if not wanted:  # some endpoints have no list
                raise
            models = []
    if wanted:
        return next((each for each in models if each["name"] == wanted), {"name": wanted})
    if len(models) == 1:
        return models[0]
    if not models:
        raise WrongParam(f"{endpoint.title} has no chat model yet: load one there, or say --model")
    if not sys.stdin.isatty():
        names = ", ".join(each["name"] for each in models[:MAX_SHOWN_MODELS])
        raise WrongParam(f"say which one with --model: {names}")
    return models[_ask_for_number("Which model? ", [each["name"] for each in models])]


def _ask_for_number(question: str, labels: list[str]) -> int:
    """Return the index of the label that is chosen by its number, or by a part of it."""
    shown = list(range(len(labels)))
    while True:
        for index in shown[:MAX_SHOWN_MODELS]:
            print_line(f"{index + 1:3}  {escape_line(labels[index])}")
        if len(shown) > MAX_SHOWN_MODELS:
            print_line(f"     and {len(shown) - MAX_SHOWN_MODELS} more: enter a part of the name")
        answer = _read_answer(question)
        if answer.isdecimal() and 0 < int(answer) <= len(labels):
            return int(answer) - 1
        found = [index for index, label in enumerate(labels) if answer and answer in label.lower()]
        if len(found) == 1:
            return found[0]
        shown = found or list(range(len(labels)))


def _read_answer(question: str) -> str:
    print_line(question.strip())
    with raise_on_interrupt():
        line = sys.stdin.readline()
    if not line:
        raise WrongParam("nothing was chosen, so nothing was added")
    return line.strip().lower()


def _format_count(models: list[Entry]) -> str:
    return f"{len(models)} model{'' if len(models) == 1 else 's'}"


def _find_free_name(wanted: str | None, model_name: str, taken: list[str]) -> str:
    if wanted and wanted in taken:
        raise WrongParam(f"there is a chat model called {wanted!r} already: choose another --name")
    name, number = wanted or model_name, 1
    while name in taken:
        number += 1
        name = f"{wanted or model_name}-{number}"
    return name


# Characters; real keys have some hundreds. More is a file given by mistake.
MAX_KEY_CHARS = 10_000


def read_key(name: str) -> str:
    """Return the key of a model. Raises WrongParam."""
    if sys.stdin.isatty():
        # getpass turns the echo on again only if Ctrl-C is an exception.
        with raise_on_interrupt():
            try:
                text = getpass(f"API key of {escape_line(name)}: ")
            except EOFError:
                text = ""
    else:
        text = sys.stdin.read(MAX_KEY_CHARS + 1)
    entered = text.strip()
    if not entered:
        raise WrongParam("no key was entered, so nothing was stored")
    if len(entered) > MAX_KEY_CHARS or any(map(str.isspace, entered)) or not entered.isprintable():
        raise WrongParam("this is no key: it must be one word; nothing was stored")
    return entered

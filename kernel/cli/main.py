"""From the command line to a command. Light, because ``serve`` must be ready at once."""

import os
import sys
from typing import TYPE_CHECKING

from kernel.interrupt import INTERRUPTED, end_on_interrupt

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

# The existing front end spawns its kernel with no arguments and no other variable than this.
FRONT_END_VARIABLE = "POCKETRAG_USERDATA_PATH"
# Whoever sets this one knows us, and is not that front end.
OUR_VARIABLE = "CODEKERNEL_USER_DATA"


def main(arguments: list[str] | None = None) -> int:
    """Run a command; its exit code."""
    end_on_interrupt()
    words = sys.argv[1:] if arguments is None else arguments
    if not words and os.environ.get(FRONT_END_VARIABLE):
        return _serve(None, for_pocketrag=not os.environ.get(OUR_VARIABLE))
    if words == ["serve"]:
        return _serve(None)
    try:
        return _run(words)
    except KeyboardInterrupt:
        return INTERRUPTED


def _run(words: list[str]) -> int:
    from kernel.cli.safe_streams import guard_streams  # noqa: PLC0415

    guard_streams()
    from kernel.cli.commands import parse  # noqa: PLC0415 - argparse costs more than serve's whole start

    if words[:1] == ["agent"]:
        from kernel.cli.agent_arguments import parsed  # noqa: PLC0415

        chosen = parsed(words, parse)
    else:
        chosen = parse(words)
    commands: dict[str, Callable[[argparse.Namespace], int]] = {
        "serve": lambda it: _serve(it.user_data),
        "web": _web,
        "agent": _agent,
        "backend": _backend,
        "mcp": _mcp,
        "ide-tools": _ide_tools,
        "search": _search,
        "ask": _ask,
        "key": _key,
        "models": _models,
        "eval": _eval,
        "doctor": _doctor,
        "completion": _completion,
    }
    return commands[chosen.command](chosen)


# Each command imports what it needs and nothing else.


def _serve(user_data: str | None, *, for_pocketrag: bool = False) -> int:
    from kernel.cli.serve import serve  # noqa: PLC0415 - the only one that claims the descriptors

    return serve(user_data, for_pocketrag=for_pocketrag)


def _web(chosen: "argparse.Namespace") -> int:
    from kernel.cli.web import web  # noqa: PLC0415

    return web(chosen)


def _agent(chosen: "argparse.Namespace") -> int:
    from kernel.cli.agent import agent  # noqa: PLC0415

    return agent(chosen)


def _backend(chosen: "argparse.Namespace") -> int:
    from kernel.cli.backend import backend  # noqa: PLC0415

    return backend(chosen)


def _mcp(chosen: "argparse.Namespace") -> int:
    from kernel.cli.mcp import mcp  # noqa: PLC0415

    return mcp(chosen)


def _ide_tools(chosen: "argparse.Namespace") -> int:
    from kernel.cli.ide_tools import ide_tools  # noqa: PLC0415

    return ide_tools(chosen)


def _search(chosen: "argparse.Namespace") -> int:
    from kernel.cli.search import search  # noqa: PLC0415

    return search(chosen)


def _ask(chosen: "argparse.Namespace") -> int:
    from kernel.cli.ask import ask  # noqa: PLC0415

    return ask(chosen)


def _key(chosen: "argparse.Namespace") -> int:
    from kernel.cli.key import key  # noqa: PLC0415

    return key(chosen.user_data, chosen.action, chosen.name)


def _models(chosen: "argparse.Namespace") -> int:
    from kernel.cli.models import models  # noqa: PLC0415

    return models(chosen.user_data)


def _eval(chosen: "argparse.Namespace") -> int:
    from kernel.cli.eval import evaluate  # noqa: PLC0415

    return evaluate(chosen.user_data, chosen.repo, most=chosen.commits, as_json=chosen.json)


def _doctor(chosen: "argparse.Namespace") -> int:
    if chosen.question == "why":
        from kernel.cli.why import why  # noqa: PLC0415

        return why(chosen.user_data, chosen.file, " ".join(chosen.query))
    from kernel.cli.doctor import doctor  # noqa: PLC0415

    return doctor(chosen.user_data, fix=chosen.fix)


def _completion(chosen: "argparse.Namespace") -> int:
    from kernel.cli.completion import completion  # noqa: PLC0415

    return completion(chosen.shell)

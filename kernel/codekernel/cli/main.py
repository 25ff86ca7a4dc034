"""The entry point: install the Ctrl-C handler and run one command.

Imports almost nothing, because ``serve`` must be ready at once.
"""

import _signal  # type: ignore[import-not-found] # signal itself imports enum
import os
import sys
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

EXIT_INTERRUPTED = 130  # as shells count Ctrl-C

_CLEAR_LINE = b"\r\x1b[K"


def install_interrupt_handler() -> None:
    """Install the handler; a process that was started to ignore Ctrl-C goes on ignoring it."""
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _exit_on_sigint)


def _exit_on_sigint(_number: int, _frame: FrameType | None) -> NoReturn:
    try:
        if os.isatty(2) and os.environ.get("TERM", "dumb") != "dumb":
            os.write(2, _CLEAR_LINE)  # a progress bar may stand there
    finally:
        os._exit(EXIT_INTERRUPTED)


if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

# The existing front end spawns its kernel with no arguments and no other variable than this.
FRONT_END_ENV_VARIABLE = "POCKETRAG_USERDATA_PATH"

# Whoever sets this one knows us, and is not that front end.
USER_DATA_ENV_VARIABLE = "CODEKERNEL_USER_DATA"


def main(arguments: list[str] | None = None) -> int:
    """Run a command; its exit code."""
    install_interrupt_handler()
    words = sys.argv[1:] if arguments is None else arguments
    if not words and os.environ.get(FRONT_END_ENV_VARIABLE):
        return _run_serve(None, for_pocketrag=not os.environ.get(USER_DATA_ENV_VARIABLE))
    if words == ["serve"]:
        return _run_serve(None)
    try:
        return _dispatch_command(words)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED


def _dispatch_command(words: list[str]) -> int:
    from codekernel.cli.output.terminal import install_safe_streams  # noqa: PLC0415

    install_safe_streams()
    from codekernel.cli.arguments import parse_arguments  # noqa: PLC0415 - argparse costs more than serve's whole start

    if words[:1] == ["agent"]:
        from codekernel.cli.arguments import parse_agent_arguments  # noqa: PLC0415

        chosen = parse_agent_arguments(words, parse_arguments)
    else:
        chosen = parse_arguments(words)
    commands: dict[str, Callable[[argparse.Namespace], int]] = {
        "serve": lambda it: _run_serve(it.user_data),
        "web": _run_web,
        "agent": _run_agent,
        "backend": _run_backend,
        "mcp": _run_mcp,
        "ide-tools": _run_ide_tools,
        "search": _run_search,
        "ask": _run_ask,
        "key": _run_key,
        "models": _run_models,
        "eval": _run_eval,
        "doctor": _run_doctor,
        "completion": _run_completion,
    }
    return commands[chosen.command](chosen)


# Each command imports what it needs and nothing else.


def _run_serve(user_data: str | None, *, for_pocketrag: bool = False) -> int:
    from codekernel.cli.commands.serve import run_serve  # noqa: PLC0415 - the only one that claims the descriptors

    return run_serve(user_data, for_pocketrag=for_pocketrag)


def _run_web(args: "argparse.Namespace") -> int:
    from codekernel.cli.commands.web import run_web  # noqa: PLC0415

    return run_web(args)


def _run_agent(args: "argparse.Namespace") -> int:
    from codekernel.cli.commands.agent import run_agent  # noqa: PLC0415

    return run_agent(args)


def _run_backend(args: "argparse.Namespace") -> int:
    from codekernel.cli.commands.backend import run_backend  # noqa: PLC0415

    return run_backend(args)


def _run_mcp(args: "argparse.Namespace") -> int:
    from codekernel.cli.commands.mcp import run_mcp  # noqa: PLC0415

    return run_mcp(args)


def _run_ide_tools(args: "argparse.Namespace") -> int:
    from codekernel.cli.commands.ide_tools import run_ide_tools  # noqa: PLC0415

    return run_ide_tools(args)


def _run_search(args: "argparse.Namespace") -> int:
    from codekernel.cli.commands.search import run_search  # noqa: PLC0415

    return run_search(args)


def _run_ask(args: "argparse.Namespace") -> int:
    from codekernel.cli.commands.ask import run_ask  # noqa: PLC0415

    return run_ask(args)


def _run_key(args: "argparse.Namespace") -> int:
    from codekernel.cli.commands.models import run_key  # noqa: PLC0415

    return run_key(args.user_data, args.action, args.name)


def _run_models(args: "argparse.Namespace") -> int:
    from codekernel.cli.commands.models import run_models  # noqa: PLC0415

    return run_models(args.user_data)


def _run_eval(args: "argparse.Namespace") -> int:
    from codekernel.cli.commands.eval import run_eval  # noqa: PLC0415

    return run_eval(args.user_data, args.repo, max_commits=args.commits, as_json=args.json)


def _run_doctor(args: "argparse.Namespace") -> int:
    if args.question == "why":
        from codekernel.cli.commands.doctor_why import run_why  # noqa: PLC0415

        return run_why(args.user_data, args.file, " ".join(args.query))
    from codekernel.cli.commands.doctor import run_doctor  # noqa: PLC0415

    return run_doctor(args.user_data, fix=args.fix)


def _run_completion(args: "argparse.Namespace") -> int:
    from codekernel.cli.commands.completion import run_completion  # noqa: PLC0415

    return run_completion(args.shell)

"""Parse a command line and run its command.

``agent --stdio`` and ``--uap`` also report usage errors as JSON lines.
"""

import argparse
import contextlib
import io
import os
import re
import sys
from importlib import import_module
from typing import NoReturn

from codekernel.cli.arguments import STDIO_FLAG, UAP_FLAG, find_parser
from codekernel.cli.main import NUMPY_THREADS_ENV_VARIABLE, run_serve
from codekernel.cli.output import terminal
from codekernel.cli.process import run_and_exit

# Commands whose function ``run_<command>`` is not in the module of their name.
_COMMAND_MODULES = {
    "completion": "man",
    "doctor_lark": "doctor_hub",
    "doctor_telegram": "doctor_hub",
    "history": "code_queries",
    "impact": "code_queries",
    "key": "models",
    "models_allow": "models",
    "models_deny": "models",
    "related": "code_queries",
    "savings": "status",
    "stop": "status",
    "team_token": "team",
    "uninstall": "install",
}


_NEGATED_FILTER = re.compile(r"-(?:lang|path|file|symbol|scope|repo):")


def run_command(words: list[str]) -> NoReturn:
    """Parse the command line, run the command and end the process with its exit code."""
    terminal.install_safe_streams()
    args = parse_arguments(words)
    if args.command == "serve":
        sys.exit(run_serve(args.user_data, standalone=args.standalone))
    if args.command != "backend":  # whose tools run the user's programs in this environment
        os.environ.setdefault(NUMPY_THREADS_ENV_VARIABLE, "1")
    if args.command not in {"mcp", "search"}:  # which do not load the library for that
        terminal.silence_logging()
    name = re.sub(r"\W", "_", args.command)

    def run() -> int:
        # Each is imported only when it runs.
        command = import_module(f"codekernel.cli.commands.{_COMMAND_MODULES.get(name, name)}")
        code: int = getattr(command, f"run_{name}")(args)
        terminal.write_lines(())  # flush: the process ends without destructors
        return code

    run_and_exit(run)


def parse_arguments(words: list[str]) -> argparse.Namespace:
    """Parse the command line; print help or a usage error and exit where that is due."""
    if words[:1] == ["agent"] and {STDIO_FLAG, UAP_FLAG} & set(words):
        return _parse_line_agent_arguments(words)
    return _parse_words(words)


def _parse_words(words: list[str]) -> argparse.Namespace:
    # A filter such as -path:tests is no option; a blank in front tells argparse so.
    words = [f" {word}" if _NEGATED_FILTER.match(word) else word for word in words]
    args = find_parser(words).parse_args(words or ["--help"])
    if args.command == "agent":
        _check_prompt_or_undo(args)
    return args


def _parse_line_agent_arguments(words: list[str]) -> argparse.Namespace:
    """Parse ``agent --stdio`` or ``--uap``; write a usage error to stdout as a line, too."""
    errors = io.StringIO()
    try:
        with contextlib.redirect_stderr(errors):
            return _parse_words(words)
    except SystemExit as ended:
        sys.stderr.write(errors.getvalue())
        if ended.code:
            from codekernel.cli.commands.agent import select_line_format

            message = errors.getvalue().strip().rpartition("error: ")[2]
            line_format = select_line_format(uap=STDIO_FLAG not in words)
            sys.stdout.buffer.write(line_format.format_error(message))
            sys.stdout.buffer.flush()
        raise


def _check_prompt_or_undo(args: argparse.Namespace) -> None:
    """Exit with a usage error unless there is either a prompt or ``--undo``."""
    if args.undo is None and not args.prompt:
        args.complain("the following arguments are required: PROMPT")
    if args.undo is not None and args.prompt:
        args.complain("--undo takes no PROMPT")

"""The argparse parser of every command.

``agent --stdio`` and ``--uap`` also report usage errors as JSON lines.
"""

import argparse
import contextlib
import io
import re
import sys
from typing import TypeAlias

from codekernel import __version__

STDIO_FLAG, UAP_FLAG = "--stdio", "--uap"


Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001 - argparse has no other name for it


def _add_agent(commands: Commands) -> None:
    agent = _add_command(commands, "agent", "have a chat model do a task in a folder, with tools")
    agent.set_defaults(complain=agent.error)
    agent.add_argument("prompt", metavar="PROMPT", nargs="*", help="what is to be done")
    form = agent.add_mutually_exclusive_group()
    form.add_argument(
        STDIO_FLAG,
        action="store_true",
        help="print JSON lines for programs (docs/protocols.md, 001)",
    )
    form.add_argument(
        UAP_FLAG,
        action="store_true",
        help="print agent messages as JSON lines (docs/protocols.md, 004)",
    )
    form.add_argument(
        "--undo",
        metavar="ID",
        nargs="?",
        const="",
        help="undo what a session changed (else the last one in this folder); no prompt",
    )
    agent.add_argument(
        "--partial", action="store_true", help="with --uap: messages also while they grow"
    )
    agent.add_argument(
        "--tools", metavar="A,B", help="the only tools it gets, besides plan (else the usual ones)"
    )
    agent.add_argument("-r", "--resume", metavar="ID", help="go on with an earlier session")
    agent.add_argument(
        "--model", metavar="NAME", help="which chat model (else the first of the settings)"
    )
    agent.add_argument(
        "--root", metavar="DIR", default=".", help="the folder to work in (else this one)"
    )
    agent.add_argument(
        "--allow",
        action="append",
        choices=["deletes", "runs"],
        default=[],
        help="without asking, besides reading and writing files",
    )
    agent.add_argument(
        "--rounds", metavar="N", type=_parse_count, help="how often the model is asked at the most"
    )
    agent.add_argument("--no-color", action="store_true", help="no colours (as does $NO_COLOR)")


def _parse_line_agent_arguments(words: list[str]) -> argparse.Namespace:
    """Parse ``agent --stdio`` or ``--uap``; write a usage error to stdout as a line, too."""
    errors = io.StringIO()
    try:
        with contextlib.redirect_stderr(errors):
            return _parse_words(words)
    except SystemExit as ended:
        sys.stderr.write(errors.getvalue())
        if ended.code:
            from codekernel.cli.commands.agent import select_line_format  # noqa: PLC0415 - seldom needed

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


_QUERY_HELP = (
    "words, a name, a question, an error message; '\"exact text\"', /regular expression/; and "
    "lang: path: file: symbol: in front of what it must be, with a minus sign of what it must not"
)

_NEGATED_FILTER = re.compile(r"-(?:lang|path|file|symbol):")

# As many as the kernel returns to any client.
MAX_HITS = 10_000

MAX_PORT = 65535


def parse_arguments(words: list[str]) -> argparse.Namespace:
    """Parse the command line; print help or a usage error and exit where that is due."""
    if words[:1] == ["agent"] and {STDIO_FLAG, UAP_FLAG} & set(words):
        return _parse_line_agent_arguments(words)
    return _parse_words(words)


def _parse_words(words: list[str]) -> argparse.Namespace:
    # A filter such as -path:tests is no option; a blank in front tells argparse so.
    words = [f" {word}" if _NEGATED_FILTER.match(word) else word for word in words]
    args = build_parser().parse_args(words or ["--help"])
    if args.command == "agent":
        _check_prompt_or_undo(args)
    return args


def build_parser() -> argparse.ArgumentParser:
    """Build the parser of all commands; help and completion are made from it."""
    parser = argparse.ArgumentParser(
        prog="codekernel",
        description="Finds and explains the code on your own machine.",
    )
    parser.add_argument("--version", action="version", version=f"codekernel {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)
    _add_search(commands)
    _add_ask(commands)
    _add_agent(commands)
    _add_web(commands)
    _add_backend(commands)
    _add_mcp(commands)
    _add_ide_tools(commands)
    _add_command(
        commands, "serve", "answer JSON lines on stdin and stdout, as a desktop front end expects"
    )
    _add_command(commands, "models", "list the models, what each is for, and whether it is whole")
    evaluation = _add_command(
        commands, "eval", "say how well search finds what your own commits changed, by setting"
    )
    evaluation.add_argument(
        "--repo", metavar="DIR", help="where to look (else the repository around this folder)"
    )
    evaluation.add_argument(
        "--commits", metavar="N", type=_parse_count, default=200, help="how many to ask (else 200)"
    )
    evaluation.add_argument("--json", action="store_true", help="for programs")
    doctor = _add_command(
        commands, "doctor", "say what is installed, what works, and what is wrong"
    )
    doctor.add_argument(
        "--fix", action="store_true", help="move what is damaged in an index aside; it is rebuilt"
    )
    questions = doctor.add_subparsers(dest="question", metavar="question")
    why = questions.add_parser("why", help="say whether a file is indexed, and if not, why")
    why.add_argument("file", metavar="FILE")
    why.add_argument("query", metavar="QUERY", nargs="*", help="and where it stands among answers")
    _add_key(commands)
    completion = commands.add_parser("completion", help="print the completions of a shell")
    completion.add_argument("shell", choices=["bash", "zsh", "fish"])
    return parser


def _add_search(commands: Commands) -> None:
    search = _add_command(
        commands, "search", "find code by what it does, what it says or what it is called"
    )
    search.add_argument("query", metavar="QUERY", nargs="+", help=_QUERY_HELP)
    search.add_argument(
        "--repo", metavar="DIR", help="where to look (else the repository around this folder)"
    )
    search.add_argument(
        "--limit", metavar="N", type=_parse_hit_limit, help="how many hits at the most"
    )
    search.add_argument("--words", action="store_true", help="answer by words alone, at once")
    search.add_argument("--wait", action="store_true", help="wait until everything is indexed")
    search.add_argument(
        "--accuracy", action="store_true", help="look at more, and ask the selected reranker"
    )
    search.add_argument("--explain", action="store_true", help="say why each hit is where it is")
    form = search.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print one array, as in the protocol")
    form.add_argument("--files", action="store_true", help="print the paths alone")
    search.add_argument("--no-color", action="store_true", help="no colours (as does $NO_COLOR)")


def _add_ask(commands: Commands) -> None:
    ask = _add_command(
        commands, "ask", "have a chat model answer a question about the code, with sources"
    )
    ask.add_argument("question", metavar="QUESTION", nargs="+", help="in your own words")
    ask.add_argument(
        "--repo", metavar="DIR", help="what it is about (else the repository around this folder)"
    )
    ask.add_argument(
        "--model", metavar="NAME", help="which chat model (else the first of the settings)"
    )
    ask.add_argument(
        "--continue",
        dest="goes_on",
        action="store_true",
        help="go on with the last conversation about this repository",
    )
    ask.add_argument("--wait", action="store_true", help="wait until everything is indexed")
    ask.add_argument("--json", action="store_true", help="print one line of JSON for each event")
    ask.add_argument("--no-color", action="store_true", help="no colours (as does $NO_COLOR)")


def _add_web(commands: Commands) -> None:
    web = _add_command(
        commands, "web", "show everything in a browser, served on this machine alone"
    )
    web.add_argument(
        "folder",
        metavar="DIR",
        nargs="?",
        help="what to begin with (else the repository around this folder)",
    )
    web.add_argument("--no-browser", action="store_true", help="print the address, open nothing")
    web.add_argument(
        "--port",
        metavar="N",
        type=_parse_port,
        default=0,
        help="which port (else any that is free)",
    )


def _add_backend(commands: Commands) -> None:
    backend = _add_command(
        commands, "backend", "let a program use the tools of an agent, by JSON lines"
    )
    backend.add_argument(
        "--stdio", action="store_true", required=True, help="calls on stdin, answers on stdout"
    )
    backend.add_argument(
        "--root", metavar="DIR", default=".", help="the folder to work in (else this one)"
    )
    backend.add_argument(
        "--allow",
        action="append",
        choices=["deletes", "runs"],
        default=[],
        help="besides reading and writing files",
    )
    backend.add_argument(
        "--read-first", action="store_true", help="change no file that was not read before"
    )


def _add_mcp(commands: Commands) -> None:
    mcp = _add_command(
        commands, "mcp", "let a coding agent use search, files and calls of a repository"
    )
    mcp.add_argument(
        "--repo", metavar="DIR", help="which one (else the repository around this folder)"
    )
    mcp.add_argument(
        "--http",
        metavar="PORT",
        type=_parse_port_or_zero,
        help="over HTTP on this port, 0 for any (else over stdin and stdout)",
    )


def _add_ide_tools(commands: Commands) -> None:
    ide = _add_command(commands, "ide-tools", "carry out what an IDE's backend asks of its plugin")
    way = ide.add_mutually_exclusive_group(required=True)
    way.add_argument("--connect", metavar="URL", help="dial the backend: ws://... or wss://...")
    way.add_argument(
        "--listen",
        metavar="PORT",
        type=_parse_port_or_zero,
        help="be dialled by it, on this port, 0 for any",
    )
    ide.add_argument(
        "--root", metavar="DIR", help="the project (else the repository around this folder)"
    )
    ide.add_argument("--read-only", action="store_true", help="change no file")
    ide.add_argument("--anywhere", action="store_true", help="not only on this machine")


def _add_key(commands: Commands) -> None:
    key = _add_command(commands, "key", "keep the API keys of chat models, encrypted")
    actions = key.add_subparsers(dest="action", metavar="action", required=True)
    actions.add_parser("list", help="say which chat models have a key").set_defaults(name="")
    for action, purpose in (
        ("set", "store the key of a chat model; it is asked for, or read from stdin"),
        ("remove", "forget the key of a chat model"),
    ):
        actions.add_parser(action, help=purpose, description=purpose).add_argument(
            "name", metavar="NAME", help="the model's name in the settings"
        )


def _add_command(commands: Commands, name: str, help_text: str) -> argparse.ArgumentParser:
    command = commands.add_parser(name, help=help_text, description=help_text)
    command.add_argument(
        "--user-data",
        metavar="DIR",
        help="where settings, index and keys lie (else $CODEKERNEL_USER_DATA, "
        "else $POCKETRAG_USERDATA_PATH, else the usual place of this system)",
    )
    return command


def _parse_count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 upwards")
    return int(text)


def _parse_port_or_zero(text: str) -> int:
    return 0 if text == "0" else _parse_port(text)


def _parse_port(text: str) -> int:
    port = _parse_count(text)
    if port > MAX_PORT:
        raise argparse.ArgumentTypeError(f"{text} is no port: at most {MAX_PORT}")
    return port


def _parse_hit_limit(text: str) -> int:
    hits = _parse_count(text)
    if hits > MAX_HITS:
        raise argparse.ArgumentTypeError(f"{text} is too many: at most {MAX_HITS}")
    return hits

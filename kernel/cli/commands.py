"""The commands and their arguments."""

import argparse
import re

from kernel import __version__
from kernel.cli.agent_arguments import add_agent

_QUERY = (
    "words, a name, a question, an error message; '\"exact text\"', /regular expression/; and "
    "lang: path: file: symbol: in front of what it must be, with a minus sign of what it must not"
)
_FILTER = re.compile(r"-(?:lang|path|file|symbol):")
# More would be no search; the kernel gives no more to anybody.
MOST_HITS = 10_000
LARGEST_PORT = 65535


def parse(words: list[str]) -> argparse.Namespace:
    """The command chosen; prints help or a usage error and exits where that is the answer."""
    # A filter such as -path:tests is no option; a blank in front says so to argparse.
    words = [f" {word}" if _FILTER.match(word) else word for word in words]
    return parser_of_commands().parse_args(words or ["--help"])


def parser_of_commands() -> argparse.ArgumentParser:
    """Every command with its arguments; completion and help are made from it."""
    parser = argparse.ArgumentParser(
        prog="codekernel",
        description="Finds and explains the code on your own machine.",
    )
    parser.add_argument("--version", action="version", version=f"codekernel {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)
    _add_search(commands)
    _add_ask(commands)
    agent = _add(commands, "agent", "have a chat model do a task in a folder, with tools")
    add_agent(agent, _count)
    _add_web(commands)
    _add_backend(commands)
    _add_mcp(commands)
    _add_ide_tools(commands)
    _add(commands, "serve", "answer JSON lines on stdin and stdout, as a desktop front end expects")
    _add(commands, "models", "list the models, what each is for, and whether it is whole")
    evaluation = _add(
        commands, "eval", "say how well search finds what your own commits changed, by setting"
    )
    evaluation.add_argument(
        "--repo", metavar="DIR", help="where to look (else the repository around this folder)"
    )
    evaluation.add_argument(
        "--commits", metavar="N", type=_count, default=200, help="how many to ask (else 200)"
    )
    evaluation.add_argument("--json", action="store_true", help="for programs")
    doctor = _add(commands, "doctor", "say what is installed, what works, and what is wrong")
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


def _add_search(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    search = _add(
        commands, "search", "find code by what it does, what it says or what it is called"
    )
    search.add_argument("query", metavar="QUERY", nargs="+", help=_QUERY)
    search.add_argument(
        "--repo", metavar="DIR", help="where to look (else the repository around this folder)"
    )
    search.add_argument("--limit", metavar="N", type=_hits, help="how many hits at the most")
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


def _add_ask(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    ask = _add(commands, "ask", "have a chat model answer a question about the code, with sources")
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


def _add_web(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    web = _add(commands, "web", "show everything in a browser, served on this machine alone")
    web.add_argument(
        "folder",
        metavar="DIR",
        nargs="?",
        help="what to begin with (else the repository around this folder)",
    )
    web.add_argument("--no-browser", action="store_true", help="print the address, open nothing")
    web.add_argument(
        "--port", metavar="N", type=_port, default=0, help="which port (else any that is free)"
    )


def _add_backend(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    backend = _add(commands, "backend", "let a program use the tools of an agent, by JSON lines")
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


def _add_mcp(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    mcp = _add(commands, "mcp", "let a coding agent use search, files and calls of a repository")
    mcp.add_argument(
        "--repo", metavar="DIR", help="which one (else the repository around this folder)"
    )
    mcp.add_argument(
        "--http",
        metavar="PORT",
        type=_any_port,
        help="over HTTP on this port, 0 for any (else over stdin and stdout)",
    )


def _add_ide_tools(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    ide = _add(commands, "ide-tools", "carry out what an IDE's backend asks of its plugin")
    way = ide.add_mutually_exclusive_group(required=True)
    way.add_argument("--connect", metavar="URL", help="dial the backend: ws://... or wss://...")
    way.add_argument(
        "--listen", metavar="PORT", type=_any_port, help="be dialled by it, on this port, 0 for any"
    )
    ide.add_argument(
        "--root", metavar="DIR", help="the project (else the repository around this folder)"
    )
    ide.add_argument("--read-only", action="store_true", help="change no file")
    ide.add_argument("--anywhere", action="store_true", help="not only on this machine")


def _add_key(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    key = _add(commands, "key", "keep the API keys of chat models, encrypted")
    actions = key.add_subparsers(dest="action", metavar="action", required=True)
    actions.add_parser("list", help="say which chat models have a key").set_defaults(name="")
    for action, purpose in (
        ("set", "store the key of a chat model; it is asked for, or read from stdin"),
        ("remove", "forget the key of a chat model"),
    ):
        actions.add_parser(action, help=purpose, description=purpose).add_argument(
            "name", metavar="NAME", help="the model's name in the settings"
        )


def _add(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, purpose: str
) -> argparse.ArgumentParser:
    command = commands.add_parser(name, help=purpose, description=purpose)
    command.add_argument(
        "--user-data",
        metavar="DIR",
        help="where settings, index and keys lie (else $CODEKERNEL_USER_DATA, "
        "else $POCKETRAG_USERDATA_PATH, else the usual place of this system)",
    )
    return command


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 upwards")
    return int(text)


def _any_port(text: str) -> int:
    return 0 if text == "0" else _port(text)


def _port(text: str) -> int:
    port = _count(text)
    if port > LARGEST_PORT:
        raise argparse.ArgumentTypeError(f"{text} is no port: at most {LARGEST_PORT}")
    return port


def _hits(text: str) -> int:
    hits = _count(text)
    if hits > MOST_HITS:
        raise argparse.ArgumentTypeError(f"{text} is too many: at most {MOST_HITS}")
    return hits

"""The commands and their arguments."""

import argparse

from kernel import __version__


def parse(words: list[str]) -> argparse.Namespace:
    """The command chosen; prints help or a usage error and exits where that is the answer."""
    parser = argparse.ArgumentParser(
        prog="codekernel",
        description="Finds and explains the code on your own machine.",
    )
    parser.add_argument("--version", action="version", version=f"codekernel {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)
    _add(commands, "serve", "answer JSON lines on stdin and stdout, as a desktop front end expects")
    _add(commands, "models", "list the models, what each is for, and whether it is whole")
    evaluation = _add(
        commands, "eval", "say how well search finds what your own commits changed, by setting"
    )
    evaluation.add_argument("--repo", metavar="DIR", default=".", help="default: this folder")
    evaluation.add_argument("--commits", metavar="N", type=_count, default=200)
    evaluation.add_argument("--json", action="store_true", help="for programs")
    doctor = _add(commands, "doctor", "say what is installed, what works, and what is wrong")
    questions = doctor.add_subparsers(dest="question", metavar="question")
    why = questions.add_parser("why", help="say whether a file is indexed, and if not, why")
    why.add_argument("file", metavar="FILE")
    return parser.parse_args(words or ["--help"])


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
    count = int(text)
    if count < 1:
        raise ValueError
    return count

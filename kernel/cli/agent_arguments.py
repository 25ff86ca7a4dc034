"""The arguments of ``codekernel agent``; whoever reads its JSON also gets wrong ones as JSON."""

import argparse
import contextlib
import io
import sys
from collections.abc import Callable

STDIO, UAP = "--stdio", "--uap"


def add_agent(
    agent: argparse.ArgumentParser, count: Callable[[str], int]
) -> argparse.ArgumentParser:
    """What can be said to it."""
    agent.set_defaults(complain=agent.error)
    agent.add_argument("prompt", metavar="PROMPT", nargs="*", help="what is to be done")
    form = agent.add_mutually_exclusive_group()
    form.add_argument(
        STDIO, action="store_true", help="print JSON lines for programs (docs/protocols.md, 001)"
    )
    form.add_argument(
        UAP, action="store_true", help="print agent messages as JSON lines (docs/protocols.md, 004)"
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
        "--rounds", metavar="N", type=count, help="how often the model is asked at the most"
    )
    agent.add_argument("--no-color", action="store_true", help="no colours (as does $NO_COLOR)")
    return agent


def parsed(
    words: list[str], parse: Callable[[list[str]], argparse.Namespace]
) -> argparse.Namespace:
    """The arguments; wrong ones are told on stderr, and as a line where lines are asked for."""
    if not {STDIO, UAP} & set(words):
        return _checked(parse(words))
    complaint = io.StringIO()
    try:
        with contextlib.redirect_stderr(complaint):
            return _checked(parse(words))
    except SystemExit as ended:
        sys.stderr.write(complaint.getvalue())
        if ended.code:
            from kernel.cli.agent_lines import voice_of  # noqa: PLC0415 - seldom needed

            said = complaint.getvalue().strip().rpartition("error: ")[2]
            sys.stdout.buffer.write(voice_of(uap=STDIO not in words).error(said))
            sys.stdout.buffer.flush()
        raise


def _checked(chosen: argparse.Namespace) -> argparse.Namespace:
    """A task or an undoing, never both and never neither; else a usage error."""
    if chosen.undo is None and not chosen.prompt:
        chosen.complain("the following arguments are required: PROMPT")
    if chosen.undo is not None and chosen.prompt:
        chosen.complain("--undo takes no PROMPT")
    return chosen

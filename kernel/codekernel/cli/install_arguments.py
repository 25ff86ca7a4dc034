"""The arguments of ``install`` and ``uninstall``."""

import argparse

# Parts of codekernel/adapters/agent_config/targets.py, which is imported when the command runs.
PARTS = ("instructions", "skill", "subagent")


def _add_install_arguments(install: argparse.ArgumentParser) -> None:
    """Add those of ``install``."""
    _add_common_arguments(install)
    install.add_argument(
        "--with",
        dest="parts",
        metavar="A,B",
        type=parse_parts,
        default=(),
        help=f"besides the server, where an agent knows them: {', '.join(PARTS)}",
    )


def parse_parts(text: str) -> tuple[str, ...]:
    """Return the parts in a list with commas."""
    parts = tuple(filter(None, (part.strip() for part in text.split(","))))
    for part in parts:
        if part not in PARTS:
            raise argparse.ArgumentTypeError(f"{part!r} is none of {', '.join(PARTS)}")
    return parts


def _add_common_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--agent",
        metavar="NAME",
        action="append",
        help="which one, also if it is not found; may be repeated (else all that are found)",
    )
    command.add_argument(
        "--project",
        metavar="DIR",
        nargs="?",
        const="",
        help="the files of a project (else of the one around this folder), not yours",
    )
    command.add_argument("--yes", action="store_true", help="do not ask")
    command.add_argument("--dry-run", action="store_true", help="only say what would be written")
    command.add_argument(
        "--json", action="store_true", help="for programs; asks for --yes to write"
    )


# What each command is for, and what adds its arguments.
INSTALL_COMMANDS = {
    "install": ("let the coding agents on this machine use codekernel", _add_install_arguments),
    "uninstall": ("take away what install has written", _add_common_arguments),
}

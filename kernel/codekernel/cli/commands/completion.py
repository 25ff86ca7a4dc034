"""``codekernel completion SHELL``: print a script that ``scripts/make_completions.py`` has made."""

import argparse
from pathlib import Path

from codekernel.cli.output.terminal import write_lines
from codekernel.cli.process import ExitCode

COMPLETIONS_FOLDER = Path(__file__).parents[1] / "completions"


def run_completion(args: argparse.Namespace) -> int:
    """Print the completion script of a shell."""
    script = (COMPLETIONS_FOLDER / args.shell).read_text(encoding="utf-8")
    write_lines([script.removesuffix("\n")])
    return ExitCode.OK

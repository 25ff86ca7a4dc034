"""Write the completion scripts of bash, zsh and fish from the argument parser, with shtab.

``python scripts/make_completions.py`` in the project's environment, after a change of the
arguments; a test fails until the scripts are up to date.
"""

import argparse
import sys
from pathlib import Path

import shtab

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "kernel"))

from codekernel.cli.arguments import SHELLS, build_parser
from codekernel.cli.commands.man import COMPLETIONS_FOLDER

PATHS = {"DIR": shtab.DIRECTORY, "FILE": shtab.FILE}

USAGE = {
    "bash": "# codekernel completion for bash. In ~/.bashrc: "
    "source <(codekernel completion bash)\n",
    "zsh": "# codekernel completion for zsh. In ~/.zshrc, after compinit: "
    "source <(codekernel completion zsh)\n",
    "fish": "# codekernel completion for fish. To keep it:\n"
    "# codekernel completion fish > ~/.config/fish/completions/codekernel.fish\n",
}

# shtab registers the function only inside of eval; ours also where the script is sourced.
ZSH_INSIDE_EVAL = "$zsh_eval_context[-1] == eval"
ZSH_NOT_AUTOLOADED = "$funcstack[1] != _codekernel"


def main() -> int:
    """Write the three scripts."""
    COMPLETIONS_FOLDER.mkdir(exist_ok=True)
    for shell in SHELLS:
        (COMPLETIONS_FOLDER / shell).write_text(make_script(shell), encoding="utf-8", newline="\n")
    return 0


def make_script(shell: str) -> str:
    """Return the completion script of a shell."""
    parser = build_parser()
    mark_paths(parser)
    lines = shtab.complete(parser, shell).replace(ZSH_INSIDE_EVAL, ZSH_NOT_AUTOLOADED).splitlines()
    head = [line for line in lines[:1] if line.startswith("#compdef")]  # must be the first line
    body = "\n".join(line.rstrip() for line in lines[len(head) :])
    usage, _, code = body.strip().partition("\n\n")
    notice = next(line for line in usage.splitlines() if "GENERATED" in line)
    return "\n".join([*head, notice, f"{USAGE[shell]}\n{code.strip()}\n"])


def mark_paths(parser: argparse.ArgumentParser) -> None:
    """Have folders and files completed where an argument takes them."""
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way to them
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for command in action.choices.values():
                mark_paths(command)
        elif action.metavar in PATHS:
            action.complete = PATHS[action.metavar]  # type: ignore[attr-defined]


if __name__ == "__main__":
    sys.exit(main())

"""``codekernel completion SHELL``: a script by which the shell completes commands and options."""

from kernel.cli.commands import parser_of_commands
from kernel.cli.completion_bash import bash
from kernel.cli.completion_fish import fish
from kernel.cli.completion_words import command_tree
from kernel.cli.completion_zsh import zsh


def completion(shell: str) -> int:
    """Print the script of one shell, made from the commands as they are."""
    script = {"bash": bash, "zsh": zsh, "fish": fish}[shell]
    print(script(command_tree(parser_of_commands())))
    return 0

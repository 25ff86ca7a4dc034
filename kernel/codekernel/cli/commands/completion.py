"""``codekernel completion SHELL``: the scripts of bash, zsh and fish, from the argument parser."""

import argparse
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from codekernel.cli.arguments import build_parser
from codekernel.cli.output.terminal import write_lines
from codekernel.cli.process import ExitCode

FOLDER_METAVAR, FILE_METAVAR = "DIR", "FILE"


@dataclass(frozen=True, slots=True)
class OptionSpec:
    """An option; ``value`` is the metavar of what it takes, empty if it takes nothing."""

    flags: tuple[str, ...]
    help_text: str
    value: str
    choices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CommandSpec:
    """A command with its options, its argument and its subcommands."""

    # From the program to this command: ("doctor", "why").
    words: tuple[str, ...]
    help_text: str
    options: tuple[OptionSpec, ...]
    # The metavar of its first argument, empty if it has none, and the choices.
    argument: str
    choices: tuple[str, ...]
    commands: tuple["CommandSpec", ...]

    @property
    def name(self) -> str:
        """The last of its words."""
        return self.words[-1] if self.words else ""

    def walk(self) -> Iterator["CommandSpec"]:
        """Yield the command and all its subcommands."""
        yield self
        for command in self.commands:
            yield from command.walk()


def read_command_tree(
    parser: argparse.ArgumentParser, words: tuple[str, ...] = (), help_text: str = ""
) -> CommandSpec:
    """Read the commands of a parser from its private attributes: argparse has no public ones."""
    options: list[OptionSpec] = []
    commands: list[CommandSpec] = []
    argument, choices = "", tuple[str, ...]()
    for action in parser._actions:  # noqa: SLF001
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            purposes = {pseudo.dest: pseudo.help or "" for pseudo in action._choices_actions}  # noqa: SLF001
            commands += [
                read_command_tree(inner, (*words, name), purposes.get(name, ""))
                for name, inner in action.choices.items()
            ]
        elif action.option_strings:
            options.append(_read_option(action))
        elif not argument:  # only the first: what follows a file is free text
            argument = str(action.metavar or action.dest)
            choices = tuple(map(str, action.choices or ()))
    return CommandSpec(words, help_text, tuple(options), argument, choices, tuple(commands))


def _read_option(action: argparse.Action) -> OptionSpec:
    takes_value = action.nargs != 0
    return OptionSpec(
        flags=tuple(action.option_strings),
        help_text=action.help or "",
        value=str(action.metavar or action.dest.upper()) if takes_value else "",
        choices=tuple(map(str, action.choices or ())),
    )


_BASH_SCRIPT = """\
# codekernel completion for bash. In ~/.bashrc: source <(codekernel completion bash)
_codekernel() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}}
    local command="" words="" place
    local IFS=$'\\n'
    for ((place = 1; place < COMP_CWORD; place++)); do
        case "$command ${{COMP_WORDS[place]}}" in
            {commands}) command="$command ${{COMP_WORDS[place]}}" ;;
        esac
    done
    case "$command $previous" in
{values}
    esac
    case "$command" in
{words}
    esac
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -F _codekernel codekernel"""

_BASH_FOLDERS = 'compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -d -- "$word")); return'

_BASH_FILES = 'compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$word")); return'

_BASH_NOTHING = "COMPREPLY=(); return"


def format_bash_script(root: CommandSpec) -> str:
    """Return the script for bash."""
    commands = list(root.walk())
    return _BASH_SCRIPT.format(
        commands="|".join(
            _double_quote(_join_command_path(command)) for command in commands if command.words
        ),
        values="\n".join(line for command in commands for line in _format_bash_values(command)),
        words="\n".join(map(_format_bash_words, commands)),
    )


def _format_bash_values(command: CommandSpec) -> Iterable[str]:
    """Return the cases of what may follow an option that takes a value."""
    for option in command.options:
        if option.value:
            places = "|".join(
                _double_quote(f"{_join_command_path(command)} {flag}") for flag in option.flags
            )
            act = _BASH_FOLDERS if option.value == FOLDER_METAVAR else _BASH_NOTHING
            if option.choices:
                act = (
                    f"COMPREPLY=($(compgen -W {_quote_bash_list(option.choices)} -- "
                    '"$word")); return'
                )
            yield f"        {places}) {act} ;;"


def _format_bash_words(command: CommandSpec) -> str:
    flags = (flag for option in command.options for flag in option.flags)
    words = [*(inner.name for inner in command.commands), *command.choices, *flags]
    act = {FILE_METAVAR: _BASH_FILES, FOLDER_METAVAR: _BASH_FOLDERS}.get(command.argument)
    paths = f"if [[ $word != -* ]]; then {act}; fi; " if act else ""
    return (
        f"        {_double_quote(_join_command_path(command))}) "
        f"{paths}words={_quote_bash_list(words)} ;;"
    )


def _join_command_path(command: CommandSpec) -> str:
    """Join the words of a command as the script collects them: each after a blank."""
    return "".join(f" {word}" for word in command.words)


def _quote_bash_list(words: Iterable[str]) -> str:
    return "$'" + "\\n".join(words) + "'"


def _double_quote(text: str) -> str:
    return f'"{text}"'


_FISH_HEAD = """\
# codekernel completion for fish. To keep it:
# codekernel completion fish > ~/.config/fish/completions/codekernel.fish
complete -c codekernel -f"""

_FISH_FOLDERS = "'(__fish_complete_directories)'"


def format_fish_script(root: CommandSpec) -> str:
    """Return the script for fish."""
    return "\n".join(
        [_FISH_HEAD, *(line for command in root.walk() for line in _format_fish_lines(command))]
    )


def _format_fish_lines(command: CommandSpec) -> Iterator[str]:
    here = f"complete -c codekernel -n {_quote_fish(_format_fish_condition(command))}"
    for inner in command.commands:
        yield f"{here} -a {inner.name} -d {_quote_fish(inner.help_text)}"
    for choice in command.choices:
        yield f"{here} -a {choice}"
    if command.argument == FILE_METAVAR:
        yield f"{here} -F"
    elif command.argument == FOLDER_METAVAR:
        yield f"{here} -a {_FISH_FOLDERS}"
    for option in command.options:
        yield f"{here} {_format_fish_option(option)}"


def _format_fish_condition(command: CommandSpec) -> str:
    """Return the condition: this command was typed, and none of its subcommands."""
    typed = [f"__fish_seen_subcommand_from {word}" for word in command.words]
    inside = " ".join(inner.name for inner in command.commands)
    if inside:
        typed.append(f"not __fish_seen_subcommand_from {inside}")
    return "; and ".join(typed)


def _format_fish_option(option: OptionSpec) -> str:
    flags = " ".join(
        f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in option.flags
    )
    value = ""
    if option.value:
        value = " -x"
        if option.value == FOLDER_METAVAR:
            value += f" -a {_FISH_FOLDERS}"
        elif option.choices:
            value += f" -a {_quote_fish(' '.join(option.choices))}"
    return f"{flags}{value} -d {_quote_fish(option.help_text)}"


def _quote_fish(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


_ZSH_HEAD = """\
#compdef codekernel
# codekernel completion for zsh. In ~/.zshrc, after compinit: source <(codekernel completion zsh)"""

_ZSH_TAIL = """\
if [[ $funcstack[1] == _codekernel ]]; then
    _codekernel "$@"
else
    compdef _codekernel codekernel
fi"""

_ZSH_PATHS = {FILE_METAVAR: "_files", FOLDER_METAVAR: "_files -/"}


def format_zsh_script(root: CommandSpec) -> str:
    """Return the script for zsh."""
    return "\n".join([_ZSH_HEAD, *map(_format_zsh_function, root.walk()), _ZSH_TAIL])


def _format_zsh_function(command: CommandSpec) -> str:
    specs = [_format_zsh_option(option) for option in command.options]
    if command.commands:
        inner = " ".join(
            f"{inner.name}\\:{_double_quote(_strip_zsh_signs(inner.help_text))}"
            for inner in command.commands
        )
        specs += [f"1:command:(({inner}))", "*::argument:->inside"]
    elif command.choices:
        specs.append(f"1:{command.argument}:({' '.join(command.choices)})")
    elif command.argument:
        specs.append(f"*:{command.argument}:{_ZSH_PATHS.get(command.argument, '')}")
    listed = " \\\n        ".join(_single_double_quote(spec) for spec in specs)
    lines = [
        f"{_name_zsh_function(command)}() {{",
        "    local line state",
        f"    _arguments -C {listed}",
    ]
    if command.commands:
        lines.append("    [[ $state == inside ]] || return 0")
        lines.append("    case $line[1] in")
        lines += [
            f"        {inner.name}) {_name_zsh_function(inner)} ;;" for inner in command.commands
        ]
        lines.append("    esac")
    return "\n".join([*lines, "}"])


def _format_zsh_option(option: OptionSpec) -> str:
    flags = option.flags[-1]
    others = f"({' '.join(option.flags)})" if len(option.flags) > 1 else ""
    if others:
        flags = "{" + ",".join(option.flags) + "}"
    value = ""
    if option.value:
        act = _ZSH_PATHS.get(option.value, "")
        act = f"({' '.join(option.choices)})" if option.choices else act
        value = f":{option.value}:{act}"
    return f"{others}{flags}[{_strip_zsh_signs(option.help_text)}]{value}"


def _name_zsh_function(command: CommandSpec) -> str:
    return "_".join(("_codekernel", *command.words))


def _strip_zsh_signs(text: str) -> str:
    """Remove the characters of a help text that mean something to ``_arguments``."""
    return text.translate({ord(sign): None for sign in "[]\\\"'`$"}).replace(":", " -")


def _single_double_quote(text: str) -> str:
    """Quote for the shell, except the braces that it must expand."""
    if "{" in text:
        before, _, rest = text.partition("{")
        inside, _, after = rest.partition("}")
        return f"'{before}'{{{inside}}}'{after}'"
    return f"'{text}'"


_FORMATTERS = {"bash": format_bash_script, "zsh": format_zsh_script, "fish": format_fish_script}


def run_completion(args: argparse.Namespace) -> int:
    """Print the completion script of a shell."""
    write_lines([_FORMATTERS[args.shell](read_command_tree(build_parser()))])
    return ExitCode.OK

"""The completion script of bash; it works with the 3.2 of macOS too."""

from collections.abc import Iterable

from kernel.cli.completion_words import FILE, FOLDER, Command

_SCRIPT = """\
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

_FOLDERS = 'compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -d -- "$word")); return'
_FILES = 'compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$word")); return'
_NOTHING = "COMPREPLY=(); return"


def bash(root: Command) -> str:
    """The script."""
    commands = list(root.all())
    return _SCRIPT.format(
        commands="|".join(_quoted(_way(command)) for command in commands if command.words),
        values="\n".join(line for command in commands for line in _values(command)),
        words="\n".join(map(_words, commands)),
    )


def _values(command: Command) -> Iterable[str]:
    """What may follow an option that takes a value."""
    for option in command.options:
        if option.value:
            places = "|".join(_quoted(f"{_way(command)} {flag}") for flag in option.flags)
            act = _FOLDERS if option.value == FOLDER else _NOTHING
            if option.choices:
                act = f'COMPREPLY=($(compgen -W {_list(option.choices)} -- "$word")); return'
            yield f"        {places}) {act} ;;"


def _words(command: Command) -> str:
    flags = (flag for option in command.options for flag in option.flags)
    words = [*(inner.name for inner in command.commands), *command.choices, *flags]
    act = {FILE: _FILES, FOLDER: _FOLDERS}.get(command.argument)
    paths = f"if [[ $word != -* ]]; then {act}; fi; " if act else ""
    return f"        {_quoted(_way(command))}) {paths}words={_list(words)} ;;"


def _way(command: Command) -> str:
    """The words that lead to a command, as the script collects them: each after a blank."""
    return "".join(f" {word}" for word in command.words)


def _list(words: Iterable[str]) -> str:
    return "$'" + "\\n".join(words) + "'"


def _quoted(text: str) -> str:
    return f'"{text}"'

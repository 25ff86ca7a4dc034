"""The completion script of zsh: a function for each command, in the words of ``_arguments``."""

from kernel.cli.completion_words import FILE, FOLDER, Command, Option

_HEAD = """\
#compdef codekernel
# codekernel completion for zsh. In ~/.zshrc, after compinit: source <(codekernel completion zsh)"""
_TAIL = """\
if [[ $funcstack[1] == _codekernel ]]; then
    _codekernel "$@"
else
    compdef _codekernel codekernel
fi"""

_PATHS = {FILE: "_files", FOLDER: "_files -/"}


def zsh(root: Command) -> str:
    """The script."""
    return "\n".join([_HEAD, *map(_function, root.all()), _TAIL])


def _function(command: Command) -> str:
    specs = [_option(option) for option in command.options]
    if command.commands:
        inner = " ".join(
            f"{inner.name}\\:{_quoted(_plain(inner.purpose))}" for inner in command.commands
        )
        specs += [f"1:command:(({inner}))", "*::argument:->inside"]
    elif command.choices:
        specs.append(f"1:{command.argument}:({' '.join(command.choices)})")
    elif command.argument:
        specs.append(f"*:{command.argument}:{_PATHS.get(command.argument, '')}")
    listed = " \\\n        ".join(_single(spec) for spec in specs)
    lines = [f"{_name(command)}() {{", "    local line state", f"    _arguments -C {listed}"]
    if command.commands:
        lines.append("    [[ $state == inside ]] || return 0")
        lines.append("    case $line[1] in")
        lines += [f"        {inner.name}) {_name(inner)} ;;" for inner in command.commands]
        lines.append("    esac")
    return "\n".join([*lines, "}"])


def _option(option: Option) -> str:
    flags = option.flags[-1]
    others = f"({' '.join(option.flags)})" if len(option.flags) > 1 else ""
    if others:
        flags = "{" + ",".join(option.flags) + "}"
    value = ""
    if option.value:
        act = _PATHS.get(option.value, "")
        act = f"({' '.join(option.choices)})" if option.choices else act
        value = f":{option.value}:{act}"
    return f"{others}{flags}[{_plain(option.purpose)}]{value}"


def _name(command: Command) -> str:
    return "_".join(("_codekernel", *command.words))


def _plain(text: str) -> str:
    """A purpose without the signs that mean something to ``_arguments``."""
    return text.translate({ord(sign): None for sign in "[]\\\"'`$"}).replace(":", " -")


def _quoted(text: str) -> str:
    return f'"{text}"'


def _single(text: str) -> str:
    """Quoted for the shell, but for the braces that it must expand itself."""
    if "{" in text:
        before, _, rest = text.partition("{")
        inside, _, after = rest.partition("}")
        return f"'{before}'{{{inside}}}'{after}'"
    return f"'{text}'"

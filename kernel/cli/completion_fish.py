"""The completion script of fish: one line for each word that can be completed."""

from collections.abc import Iterator

from kernel.cli.completion_words import FILE, FOLDER, Command, Option

_HEAD = """\
# codekernel completion for fish. To keep it:
# codekernel completion fish > ~/.config/fish/completions/codekernel.fish
complete -c codekernel -f"""
_FOLDERS = "'(__fish_complete_directories)'"


def fish(root: Command) -> str:
    """The script."""
    return "\n".join([_HEAD, *(line for command in root.all() for line in _lines(command))])


def _lines(command: Command) -> Iterator[str]:
    here = f"complete -c codekernel -n {_quoted(_condition(command))}"
    for inner in command.commands:
        yield f"{here} -a {inner.name} -d {_quoted(inner.purpose)}"
    for choice in command.choices:
        yield f"{here} -a {choice}"
    if command.argument == FILE:
        yield f"{here} -F"
    elif command.argument == FOLDER:
        yield f"{here} -a {_FOLDERS}"
    for option in command.options:
        yield f"{here} {_option(option)}"


def _condition(command: Command) -> str:
    """True where this command has been typed and none of those inside it."""
    typed = [f"__fish_seen_subcommand_from {word}" for word in command.words]
    inside = " ".join(inner.name for inner in command.commands)
    if inside:
        typed.append(f"not __fish_seen_subcommand_from {inside}")
    return "; and ".join(typed)


def _option(option: Option) -> str:
    flags = " ".join(
        f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in option.flags
    )
    value = ""
    if option.value:
        value = " -x"
        if option.value == FOLDER:
            value += f" -a {_FOLDERS}"
        elif option.choices:
            value += f" -a {_quoted(' '.join(option.choices))}"
    return f"{flags}{value} -d {_quoted(option.purpose)}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"

"""Pages of the documentation site that are made from the code: commands, messages, settings."""

import argparse
import re
import sys
from collections.abc import Iterator

from environment import ROOT

sys.path.insert(0, str(ROOT / "kernel"))

from codekernel.cli.arguments import build_parser

TYPES = ROOT / "electron-bridge" / "types" / "protocol.d.ts"
EXAMPLE = ROOT / "userData.example" / "settings.json"
INTERFACE = re.compile(
    r"(?:^(/\*\*.*?\*/)\n)?^export interface (\w+) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL
)
REQUEST = re.compile(r"^  (\w+): \{\s*fields: (?:Omit<(\w+)|\{)", re.MULTILINE)


def build_reference() -> dict[str, str]:
    """Return the text of each page by its name."""
    return {
        "commands.md": "\n".join(_describe_commands(build_parser())),
        "messages.md": "\n".join(_describe_messages()),
        "settings.md": "\n".join(_describe_settings()),
    }


def list_commands(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yield each command and each of its actions, with its whole name."""
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way to them
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for name, command in action.choices.items():
                whole = f"{parser.prog} {name}"
                command.prog = whole
                yield whole, command
                yield from list_commands(command)


def read_interfaces() -> dict[str, tuple[str, str]]:
    """Return comment and body of each interface of the wire's types, by name."""
    text = TYPES.read_text(encoding="utf-8")
    return {
        name: (_read_comment(comment or ""), body)
        for comment, name, body in INTERFACE.findall(text)
    }


def _describe_commands(parser: argparse.ArgumentParser) -> Iterator[str]:
    yield "# Options of all commands\n\nMade from the program's own help.\n"
    for name, command in list_commands(parser):
        yield f"## {name}\n"
        if command.description:
            yield f"{_escape(command.description)}\n"
        yield "| argument | meaning |\n|---|---|"
        for action in command._actions:  # noqa: SLF001
            if isinstance(action, argparse._SubParsersAction) or action.help == argparse.SUPPRESS:  # noqa: SLF001
                continue
            names = ", ".join(action.option_strings) or str(action.metavar or action.dest)
            takes = "" if action.nargs == 0 or not action.option_strings else action.metavar or ""
            shown = f"{names} {takes}".strip()
            yield f"| `{shown}` | {_escape((action.help or '') % vars(action))} |"
        yield ""


def _describe_messages() -> Iterator[str]:
    yield "# Messages\n\nWhat a front end may ask the kernel, from the declarations that the"
    yield "kernel itself reads. The [protocol](../protocol.md) explains order and failures.\n"
    interfaces = read_interfaces()
    for group, title in (("MainRequests", "To the kernel"), ("SessionRequests", "To a session")):
        yield f"## {title}\n"
        for message, declared in REQUEST.findall(interfaces[group][1]):
            comment, body = interfaces[declared]
            yield f"### {message}\n\n{_escape(comment)}\n\n```ts\n{_dedent(body)}```\n"


def _describe_settings() -> Iterator[str]:
    yield "# settings.json\n\nThe sections, from their declarations; then a file with every key"
    yield "explained.\n"
    interfaces = read_interfaces()
    waiting, shown = ["SettingsFile"], set[str]()
    while waiting:
        name = waiting.pop(0)
        if name in shown or name not in interfaces:
            continue
        shown.add(name)
        comment, body = interfaces[name]
        yield f"## {name}\n\n{_escape(comment)}\n\n```ts\n{_dedent(body)}```\n"
        waiting += re.findall(r": (\w+)(?:\[\])?;", body)
    yield f"## An example\n\n```jsonc\n{EXAMPLE.read_text(encoding='utf-8')}```\n"


def _read_comment(text: str) -> str:
    lines = (line.strip().strip("/").strip("*").strip() for line in text.splitlines())
    return " ".join(line for line in lines if line)


def _dedent(body: str) -> str:
    return re.sub(r"^  ", "", body, flags=re.MULTILINE)


def _escape(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")

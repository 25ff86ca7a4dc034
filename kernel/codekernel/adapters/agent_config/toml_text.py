"""Edit TOML: an entry is a table at the end of the file."""

import json
import re
import tomllib
from typing import Any

from codekernel.adapters.agent_config.text_edits import (
    BYTE_ORDER_MARK,
    BrokenConfig,
    ConfigFormat,
    RefusedEdit,
    append_block,
    find_line_end,
)

_HEADER = re.compile(r"(?m)^[ \t]*\[")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
# What follows a table and says something about the next one.
_TRAILING_COMMENTS = re.compile(r"(?:[ \t\r]*(?:#[^\n]*)?\n)+\Z")


def load_toml(text: str) -> dict[str, Any]:
    """Return the document. Raises BrokenConfig."""
    try:
        return tomllib.loads(text.removeprefix(BYTE_ORDER_MARK))
    except tomllib.TOMLDecodeError as error:
        raise BrokenConfig(str(error)) from error


def add_toml_entry(text: str, keys: tuple[str, ...], value: Any) -> str:
    """Return the text with a table at its end. Raises RefusedEdit."""
    rows = [f"[{'.'.join(map(_render_key, keys))}]"]
    rows += [f"{_render_key(name)} = {_render_value(each)}" for name, each in value.items()]
    added = append_block(text, "\n".join(rows) + "\n")
    try:
        load_toml(added)
    except BrokenConfig as error:
        raise RefusedEdit(f"no table can be added to its {keys[0]!r}: {error}") from error
    return added


def remove_toml_entry(text: str, keys: tuple[str, ...]) -> str:
    """Return the text without a table and the tables inside of it."""
    path = r"[ \t]*\.[ \t]*".join(rf"""["']?{re.escape(key)}["']?""" for key in keys)
    header = re.compile(
        rf"(?m)(?:^|(?<={BYTE_ORDER_MARK}))[ \t]*\[[ \t]*{path}[ \t]*(?:\.[^\]\n]*)?\]"
    )
    while found := header.search(text):
        following = _HEADER.search(text, find_line_end(text, found.start()))
        end = following.start() if following else len(text)
        body = text[found.start() : end]
        trailing = _TRAILING_COMMENTS.search(body)
        if following and trailing:
            end = find_line_end(text, found.start() + trailing.start())
        gap = re.search(r"(?<=\n)\r?\n\Z", text[: found.start()])
        text = text[: gap.start() if gap else found.start()] + text[end:]
    return text


def _render_key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else json.dumps(key, ensure_ascii=False)


def _render_value(value: Any) -> str:
    if isinstance(value, dict):
        pairs = (f"{_render_key(key)} = {_render_value(each)}" for key, each in value.items())
        return f"{{ {', '.join(pairs)} }}"
    return json.dumps(value, ensure_ascii=False)


TOML_FORMAT = ConfigFormat(load_toml, add_toml_entry, remove_toml_entry)

"""The formats of config files by their names; TOML, marked blocks and whole files.

An entry of TOML is a table at the end of the file. A block is between two marks in a Markdown file,
and a whole file is all ours.
"""

import json
import re
import tomllib
from typing import Any

from codekernel.adapters.agent_config.json_text import JSON_FORMAT, JSONC_FORMAT
from codekernel.adapters.agent_config.text_edits import (
    BYTE_ORDER_MARK,
    BrokenConfig,
    ConfigFormat,
    RefusedEdit,
    append_block,
    detect_line_end,
    find_line_end,
    is_blank,
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


# The one key of a document in these formats.
CONTENT_KEYS = ("content",)

BLOCK_BEGIN = "<!-- codekernel:begin (written by `codekernel install`) -->"

BLOCK_END = "<!-- codekernel:end -->"


def load_block(text: str) -> dict[str, Any]:
    """Return the text between the marks, if they are there. Raises BrokenConfig."""
    counts = text.count(BLOCK_BEGIN), text.count(BLOCK_END)
    if counts == (0, 0):
        return {}
    if counts != (1, 1) or text.index(BLOCK_BEGIN) > text.index(BLOCK_END):
        raise BrokenConfig(f"{BLOCK_BEGIN} and {BLOCK_END} are not there once and in this order")
    block = text[text.index(BLOCK_BEGIN) + len(BLOCK_BEGIN) : text.index(BLOCK_END)]
    return {CONTENT_KEYS[0]: block.replace("\r\n", "\n").strip("\n") + "\n"}


def add_block(text: str, _: tuple[str, ...], value: Any) -> str:
    """Return the text with a marked block at its end."""
    return append_block(text, f"{BLOCK_BEGIN}\n{value}{BLOCK_END}\n")


def remove_block(text: str, _: tuple[str, ...]) -> str:
    """Return the text without the marked block, its line and the empty line before it."""
    line_end = detect_line_end(text)
    before, _begin, rest = text.partition(BLOCK_BEGIN)
    after = rest.partition(BLOCK_END)[2].removeprefix(line_end)
    return before.removesuffix(line_end) + after


def load_whole_file(text: str) -> dict[str, Any]:
    """Return the whole text, unless it is blank."""
    return {} if is_blank(text) else {CONTENT_KEYS[0]: text.replace("\r\n", "\n")}


def add_whole_file(_text: str, _: tuple[str, ...], value: Any) -> str:
    """Return the new text of a file that was blank."""
    return str(value)


def remove_whole_file(_text: str, _: tuple[str, ...]) -> str:
    """Return nothing."""
    return ""


BLOCK_FORMAT = ConfigFormat(load_block, add_block, remove_block)

WHOLE_FILE_FORMAT = ConfigFormat(load_whole_file, add_whole_file, remove_whole_file)


BLOCK, WHOLE_FILE = "block", "file"

JSON, JSONC, TOML, YAML = "json", "jsonc", "toml", "yaml"

_FORMATS = {
    JSON: JSON_FORMAT,
    JSONC: JSONC_FORMAT,
    TOML: TOML_FORMAT,
    BLOCK: BLOCK_FORMAT,
    WHOLE_FILE: WHOLE_FILE_FORMAT,
}


def get_format(name: str) -> ConfigFormat:
    """Return the format with a name."""
    if name == YAML:
        from codekernel.adapters.agent_config.yaml_text import YAML_FORMAT  # noqa: PLC0415 - seldom

        return YAML_FORMAT
    return _FORMATS[name]

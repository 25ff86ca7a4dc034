"""Two formats without a syntax: a marked block in a Markdown file, and a file that is all ours."""

from typing import Any

from codekernel.adapters.agent_config.text_edits import (
    BrokenConfig,
    ConfigFormat,
    append_block,
    detect_line_end,
    is_blank,
)

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

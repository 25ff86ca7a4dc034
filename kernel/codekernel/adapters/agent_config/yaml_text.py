"""Edit YAML: an entry is a block at the beginning of its mapping.

PyYAML says where things lie; the text is ours to edit.
"""

import json
from typing import Any

import yaml

from codekernel.adapters.agent_config.text_edits import (
    BrokenConfig,
    ConfigFormat,
    RefusedEdit,
    append_block,
    detect_indent,
    detect_line_end,
    find_line_end,
    find_line_start,
    is_blank,
)


def load_yaml(text: str) -> dict[str, Any]:
    """Return the document. Raises BrokenConfig."""
    try:
        document = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise BrokenConfig(" ".join(str(error).split())) from error
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise BrokenConfig("it is not a mapping")
    return document


def add_yaml_entry(text: str, keys: tuple[str, ...], value: Any) -> str:
    """Return the text with an entry. Raises BrokenConfig or RefusedEdit."""
    load_yaml(text)
    indent = detect_indent(text)
    if "\t" in indent:
        raise RefusedEdit("it is indented with tabs")
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    added = _add_below(text, root, keys, value, indent)
    try:
        load_yaml(added)
    except BrokenConfig as error:
        raise RefusedEdit(f"nothing can be added to it: {error}") from error
    return added


def _add_below(
    text: str, root: yaml.Node | None, keys: tuple[str, ...], value: Any, indent: str
) -> str:
    node, parent = root, None
    for depth, key in enumerate(keys):
        if not isinstance(node, yaml.MappingNode) or not node.value:
            entry = _render(keys[depth:], value, indent)
            return _fill_mapping(text, parent, node, entry, indent)
        pair = _find_pair(node, key)
        if pair is None:
            entry = _render(keys[depth:], value, indent)
            if node.flow_style:
                return _add_to_flow(text, node, keys[depth:], value)
            column = node.value[0][0].start_mark.column
            if parent is None:
                return append_block(text, _shift(entry, " " * column))
            return _insert_after_line(text, parent.end_mark.index, _shift(entry, " " * column))
        parent, node = pair
    raise RefusedEdit(f"it has {'.'.join(keys)} already")


def remove_yaml_entry(text: str, keys: tuple[str, ...]) -> str:
    """Return the text without an entry; a mapping that becomes empty stays as ``{}``."""
    node, parent = yaml.compose(text, Loader=yaml.SafeLoader), None
    for key in keys[:-1]:
        pair = _find_pair(node, key) if isinstance(node, yaml.MappingNode) else None
        if pair is None:
            return text
        parent, node = pair
    pair = _find_pair(node, keys[-1]) if isinstance(node, yaml.MappingNode) else None
    if pair is None or node.flow_style:
        return text
    begin = find_line_start(text, pair[0].start_mark.index)
    end = find_line_end(text, max(begin, _find_last_offset(pair[1]) - 1))
    text = text[:begin] + text[end:]
    if parent is not None and len(node.value) == 1:
        colon = text.index(":", parent.end_mark.index) + 1
        text = f"{text[:colon]} {{}}{text[colon:]}"
    return text


def _find_pair(node: yaml.MappingNode, key: str) -> tuple[yaml.Node, yaml.Node] | None:
    return next((pair for pair in node.value if pair[0].value == key), None)


def _find_last_offset(node: yaml.Node) -> int:
    """Return where the last value inside of a node ends; a block itself ends after comments."""
    while isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        node = last[1] if isinstance(node, yaml.MappingNode) else last
    return int(node.end_mark.index)


def _fill_mapping(
    text: str, parent: yaml.Node | None, node: yaml.Node | None, entry: str, indent: str
) -> str:
    """Add the first entry of a mapping that is empty or was never written."""
    if parent is None:
        if node is None:
            return append_block(text, entry)
        if not is_blank(text[: node.start_mark.index] + text[node.end_mark.index :]):
            raise RefusedEdit("its mapping is empty, and something stands beside it")
        return entry.replace("\n", detect_line_end(text))
    if node is not None:  # ``{}``, ``~`` or ``null``
        if node.value not in ([], "", "~", "null"):
            raise RefusedEdit(f"its {parent.value!r} is no mapping")
        text = text[: node.start_mark.index].rstrip(" ") + text[node.end_mark.index :]
    prefix = " " * parent.start_mark.column + indent
    return _insert_after_line(text, parent.end_mark.index, _shift(entry, prefix))


def _add_to_flow(text: str, node: yaml.MappingNode, keys: tuple[str, ...], value: Any) -> str:
    for key in reversed(keys[1:]):
        value = {key: value}
    offset = node.start_mark.index + 1
    entry = f"{json.dumps(keys[0])}: {json.dumps(value, ensure_ascii=False)}, "
    return text[:offset] + entry + text[offset:]


def _insert_after_line(text: str, offset: int, entry: str) -> str:
    line_end = detect_line_end(text)
    at = find_line_end(text, offset)
    gap = "" if text[:at].endswith("\n") else line_end
    return text[:at] + gap + entry.replace("\n", line_end) + text[at:]


def _shift(entry: str, prefix: str) -> str:
    return "".join(prefix + line for line in entry.splitlines(keepends=True))


def _render(keys: tuple[str, ...], value: Any, indent: str) -> str:
    """Return lines without indentation; strings are quoted as in JSON, which YAML reads."""
    if keys:
        return f"{keys[0]}:\n{_shift(_render(keys[1:], value, indent), indent)}"
    rows = (f"{key}: {json.dumps(each, ensure_ascii=False)}\n" for key, each in value.items())
    return "".join(rows)


YAML_FORMAT = ConfigFormat(load_yaml, add_yaml_entry, remove_yaml_entry)

"""JSON of other people is edited as text: comments, commas, line ends and marks stay."""

import json
from typing import Any

import pytest
from codekernel.adapters.agent_config.json_text import (
    add_json_entry,
    load_json,
    load_jsonc,
    remove_json_entry,
)
from codekernel.adapters.agent_config.text_edits import BrokenConfig, RefusedEdit, TextEdit
from hypothesis import given
from hypothesis import strategies as st

KEYS = ("mcpServers", "codekernel")
ENTRY = {"command": "/opt/codekernel", "args": ["mcp"]}
ENTRY_LINES = """"codekernel": {
      "command": "/opt/codekernel",
      "args": [
        "mcp"
      ]
    }"""

ZED = """// Zed settings
{
  "ui_font_size": 16, // px
  /* servers */
  "mcpServers": {
    "other": { "command": "x" } // mine
  },
  "theme": { "mode": "system" },
}
"""


def test_an_entry_is_added_behind_the_others_and_comments_stay_where_they_are() -> None:
    expected = ZED.replace(
        '{ "command": "x" } // mine', '{ "command": "x" }, // mine\n    ' + ENTRY_LINES
    )
    assert add_json_entry(ZED, KEYS, ENTRY) == expected


def test_a_missing_container_is_added_with_the_comma_that_others_have() -> None:
    text = '{\n\t"a": 1,\n}\n'
    assert add_json_entry(text, ("servers", "codekernel"), {"x": 1}) == (
        '{\n\t"a": 1,\n\t"servers": {\n\t\t"codekernel": {\n\t\t\t"x": 1\n\t\t}\n\t},\n}\n'
    )


def test_windows_line_ends_and_a_byte_order_mark_stay() -> None:
    text = '\ufeff{\r\n    "a": 1\r\n}\r\n'
    added = add_json_entry(text, ("b", "c"), {"x": "é"})
    assert added == (
        '\ufeff{\r\n    "a": 1,\r\n    "b": {\r\n        "c": {\r\n'
        '            "x": "é"\r\n        }\r\n    }\r\n}\r\n'
    )


@pytest.mark.parametrize("text", ["", "\n", "  \r\n", "\ufeff"])
def test_a_blank_file_becomes_an_object(text: str) -> None:
    added = add_json_entry(text, KEYS, ENTRY)
    assert load_json(added) == {"mcpServers": {"codekernel": ENTRY}}
    assert added.startswith("\ufeff") == text.startswith("\ufeff")


def test_a_text_of_one_line_stays_one() -> None:
    assert add_json_entry('{"mcpServers":{}}', KEYS, {"x": 1}) == (
        '{"mcpServers":{"codekernel": {"x": 1}}}'
    )
    assert add_json_entry('{"mcpServers":{"a":{}}}', KEYS, {"x": 1}) == (
        '{"mcpServers":{"a":{}, "codekernel": {"x": 1}}}'
    )


def test_a_comment_in_an_empty_object_stays() -> None:
    text = '{\n  "mcpServers": { // none yet\n  }\n}\n'
    added = add_json_entry(text, KEYS, {"x": 1})
    assert "{ // none yet\n    " in added
    assert load_jsonc(added)["mcpServers"] == {"codekernel": {"x": 1}}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"a": 1', "line 1: a comma or } was expected"),
        ('{\n"a": 1\n"b": 2}', "line 3: a comma or } was expected"),
        ("{\n'a': 1}", "line 2: a key in double quotes"),
        ('{"a": nope}', "a value was expected"),
        ('{"a": 1} x', "more follows"),
        ('{"a": "b\nc"}', "a string is not closed"),
        ("[1]", "not an object"),
        ("{" * 3, "a key in double quotes"),
        ('{"a":' * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_json_is_refused_with_its_line(text: str, reason: str) -> None:
    with pytest.raises(BrokenConfig, match=reason):
        load_jsonc(text)


def test_a_client_without_comments_has_none() -> None:
    with pytest.raises(BrokenConfig, match="no JSON"):
        load_json('{"a": 1, // x\n}')


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"mcpServers": []}', "no object"),
        ('{"mcpServers": {}, "mcpServers": {}}', "twice"),
        ('{"mcpServers": {"codekernel": {}}}', "already"),
    ],
)
def test_a_document_of_another_shape_is_not_edited(text: str, reason: str) -> None:
    with pytest.raises(RefusedEdit, match=reason):
        add_json_entry(text, KEYS, ENTRY)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 1, "c": 2}', '{"a": 1}'),
        ('{"c": 2, "a": 1}', '{ "a": 1}'),
        ('{\n  "a": 1,\n  "c": 2,\n}', '{\n  "a": 1,\n}'),
        ('{\n  "a": 1, // one\n  "c": 2 // two\n}', '{\n  "a": 1 // one // two\n}'),
        ('{"a": 1}', '{"a": 1}'),
        ('{"c": {}}', "{}"),
    ],
)
def test_an_entry_is_removed_with_its_comma(text: str, expected: str) -> None:
    assert remove_json_entry(text, ("c",)) == expected


BLANKS = st.sampled_from(["", " ", "\n  ", "\r\n\t", " // note\n", " /* note, } */ ", "\n\n"])
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-9, 9), st.text(max_size=6), st.floats(0, 1)
)
NAMES = st.sampled_from(["mcpServers", "servers", "a", "b", "π", 'q"', "codekernels"])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
DOCUMENTS = st.dictionaries(NAMES, VALUES, max_size=4)


@st.composite
def texts(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A document, written by somebody with habits of his own."""
    document = draw(DOCUMENTS)
    mark = draw(st.sampled_from(["", "\ufeff"]))
    if draw(st.booleans()):
        indent = draw(st.sampled_from([None, 1, 2, 4, "\t"]))
        written = json.dumps(document, indent=indent, ensure_ascii=draw(st.booleans()))
        return mark + written.replace("\n", draw(st.sampled_from(["\n", "\r\n"]))), document
    return mark + draw(BLANKS) + _write(draw, document) + draw(BLANKS), document


def _write(draw: st.DrawFn, value: Any) -> str:
    """Write a value with blanks, comments and trailing commas in all places."""

    def blank() -> str:
        return draw(BLANKS)

    if isinstance(value, dict):
        items = [
            f"{blank()}{json.dumps(key)}{blank()}:{blank()}{_write(draw, each)}{blank()}"
            for key, each in value.items()
        ]
    elif isinstance(value, list):
        items = [f"{blank()}{_write(draw, each)}{blank()}" for each in value]
    else:
        return json.dumps(value, ensure_ascii=False)
    has_trailing_comma = draw(st.booleans())
    trailing = f",{blank()}" if items and has_trailing_comma else blank()
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return opening + ",".join(items) + trailing + closing


@given(texts())
def test_any_json_is_read_as_it_was_meant(written: tuple[str, dict[str, Any]]) -> None:
    text, document = written
    assert load_jsonc(text) == document


@given(texts(), st.sampled_from([("codekernel",), KEYS, ("a", "b", "codekernel")]))
def test_add_and_undo_is_a_round_trip_to_the_byte(
    written: tuple[str, dict[str, Any]], keys: tuple[str, ...]
) -> None:
    text, document = written
    try:
        added = add_json_entry(text, keys, ENTRY)
    except RefusedEdit:
        return  # something on the way is no object
    assert TextEdit.between(text, added).undo(added) == text
    expected: Any = json.loads(json.dumps(document))
    inner = expected
    for key in keys[:-1]:
        inner = inner.setdefault(key, {})
    inner[keys[-1]] = ENTRY
    assert load_jsonc(added) == expected
    del inner[keys[-1]]
    assert load_jsonc(remove_json_entry(added, keys)) == expected

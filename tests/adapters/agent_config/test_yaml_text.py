"""YAML of other people is edited as text: an entry is a block under its key."""

from typing import Any

import pytest
import yaml
from codekernel.adapters.agent_config.text_edits import BrokenConfig, RefusedEdit, TextEdit
from codekernel.adapters.agent_config.yaml_text import (
    add_yaml_entry,
    load_yaml,
    remove_yaml_entry,
)
from hypothesis import given
from hypothesis import strategies as st

KEYS = ("extensions", "codekernel")
ENTRY = {
    "name": "codekernel",
    "cmd": "C:\\ck.exe",
    "args": ["mcp", "a: b"],
    "envs": {},
    "enabled": True,
}
ROWS = (
    'name: "codekernel"\n',
    'cmd: "C:\\\\ck.exe"\n',
    'args: ["mcp", "a: b"]\n',
    "envs: {}\n",
    "enabled: true\n",
)

GOOSE = """GOOSE_PROVIDER: anthropic  # mine
extensions:
    # the usual one
    developer:
        bundled: true
        enabled: true
        name: developer
        type: builtin

# the end
GOOSE_MODE: auto
"""


def test_an_entry_is_the_first_of_its_mapping_with_the_indentation_of_the_others() -> None:
    block = "    codekernel:\n" + "".join(f"        {row}" for row in ROWS)
    assert add_yaml_entry(GOOSE, KEYS, ENTRY) == GOOSE.replace(
        "extensions:\n", f"extensions:\n{block}"
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# only a comment\n",
        "a: 1",
        "a: 1\r\nextensions:\r\n  x:\r\n    y: 1\r\n",
        "extensions: {}\n",
        "extensions: {} # none\na: 1\n",
        "extensions:\na: 1\n",
        "extensions: ~",
        "extensions: null\n",
        "extensions: {a: {b: 1}}\n",
        "{a: 1}\n",
        "{}\n",
        "\ufeffa: 1\n",
        "---\na: 1\n",
        "a: |\n  text\n  extensions:\n",
    ],
)
def test_an_entry_is_added_to_every_form_of_mapping_and_undone_to_the_byte(text: str) -> None:
    document = load_yaml(text)
    added = add_yaml_entry(text, KEYS, ENTRY)
    expected = {
        **document,
        "extensions": {"codekernel": ENTRY, **(document.get("extensions") or {})},
    }
    assert load_yaml(added) == expected
    assert TextEdit.between(text, added).undo(added) == text
    assert "\r\n" not in text or added.count("\n") == added.count("\r\n")


@pytest.mark.parametrize("text", ["a: [", "a: 1\n b: 2", "- 1", "a\tb: [}", "a: 1\n---\nb: 2\n"])
def test_what_is_no_mapping_of_yaml_is_refused(text: str) -> None:
    with pytest.raises(BrokenConfig):
        load_yaml(text)


@pytest.mark.parametrize(
    "text", ["extensions: [1]\n", "extensions: text\n", "# x\n{}\n", "a: 1\n...\n"]
)
def test_a_document_of_another_shape_is_not_edited(text: str) -> None:
    with pytest.raises(RefusedEdit):
        add_yaml_entry(text, KEYS, ENTRY)


def test_an_entry_is_removed_and_comments_behind_it_stay() -> None:
    added = add_yaml_entry(GOOSE, KEYS, ENTRY)
    assert remove_yaml_entry(added, KEYS) == GOOSE
    alone = "extensions:\n  codekernel:\n    a: 1\n# end\n"
    assert remove_yaml_entry(alone, KEYS) == "extensions: {}\n# end\n"


NAMES = st.sampled_from(["extensions", "a", "b c", "true", "é", "developer"])
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.text(max_size=8))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)


@st.composite
def texts(draw: st.DrawFn) -> str:
    document = draw(st.dictionaries(NAMES, VALUES, max_size=4))
    written: str = yaml.safe_dump(
        document,
        indent=draw(st.sampled_from([2, 4])),
        sort_keys=draw(st.booleans()),
        allow_unicode=draw(st.booleans()),
        default_flow_style=draw(st.sampled_from([False, None, True])),
        explicit_start=draw(st.booleans()),
        line_break=draw(st.sampled_from(["\n", "\r\n"])),
    )
    before = draw(st.sampled_from(["", "# head\n", "\ufeff"]))
    after = draw(st.sampled_from(["", "# tail\n", "\n\n"]))
    return before + written + after


@given(texts())
def test_add_and_undo_is_a_round_trip_to_the_byte(text: str) -> None:
    try:
        document: dict[str, Any] = load_yaml(text)
        added = add_yaml_entry(text, KEYS, ENTRY)
    except (BrokenConfig, RefusedEdit):
        return  # an empty document, or extensions that are no mapping
    assert TextEdit.between(text, added).undo(added) == text
    others = document.get("extensions") or {}
    assert load_yaml(added) == {**document, "extensions": {"codekernel": ENTRY, **others}}

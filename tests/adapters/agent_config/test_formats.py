"""TOML of other people is edited as text: an entry is a table at the end."""

from typing import Any

import pytest
from codekernel.adapters.agent_config.formats import (
    add_toml_entry,
    load_toml,
    remove_toml_entry,
)
from codekernel.adapters.agent_config.text_edits import BrokenConfig, RefusedEdit, TextEdit
from hypothesis import given
from hypothesis import strategies as st

KEYS = ("mcp_servers", "codekernel")
ENTRY = {"command": "C:\\Programs\\codekernel.exe", "args": ["mcp", "--repo", "a b"]}
ENTRY_LINES = (
    "[mcp_servers.codekernel]\n"
    'command = "C:\\\\Programs\\\\codekernel.exe"\n'
    'args = ["mcp", "--repo", "a b"]\n'
)

CODEX = """# my Codex
model = "gpt-5"   # the large one
approval_policy = "on-request"

[mcp_servers.docs]
command = "npx"
args = [
  "-y",
  "docs",  # trailing comma
]

[projects."/home/me/x"]
trust_level = "trusted"
"""


def test_a_table_is_added_behind_an_empty_line() -> None:
    assert add_toml_entry(CODEX, KEYS, ENTRY) == f"{CODEX}\n{ENTRY_LINES}"
    assert add_toml_entry("", KEYS, ENTRY) == ENTRY_LINES


def test_windows_line_ends_stay_and_a_last_line_without_one_is_ended() -> None:
    text = '\ufeffmodel = "x"\r\n[a]\r\nb = 1'
    added = add_toml_entry(text, KEYS, ENTRY)
    assert added == text + "\r\n\r\n" + ENTRY_LINES.replace("\n", "\r\n")
    assert load_toml(added)["mcp_servers"] == {"codekernel": ENTRY}


def test_what_is_no_toml_is_refused_with_its_line() -> None:
    with pytest.raises(BrokenConfig, match="line 2"):
        load_toml("a = 1\nb =\n")


@pytest.mark.parametrize(
    "text", ["mcp_servers = { a = { command = 'x' } }\n", "mcp_servers = []\n", CODEX + ENTRY_LINES]
)
def test_a_document_to_which_no_table_can_be_added_is_not_edited(text: str) -> None:
    with pytest.raises(RefusedEdit, match="no table can be added"):
        add_toml_entry(text, KEYS, ENTRY)


def test_a_table_is_removed_with_those_inside_of_it_and_the_comments_of_others_stay() -> None:
    inner = f'{ENTRY_LINES}\n[mcp_servers."codekernel".tools.search]\napproval = "auto"\n'
    follows = '\n# of another\n[other]\nx = "[mcp_servers.codekernel]"\n'
    removed = remove_toml_entry(f"{CODEX}\n{inner}{follows}", KEYS)
    assert removed == CODEX + follows


def test_removing_what_is_not_there_changes_nothing() -> None:
    assert remove_toml_entry(CODEX, KEYS) == CODEX


NAMES = st.sampled_from(["a", "b-c", "mcp_servers", "x"])
LINES = st.lists(
    st.sampled_from(
        [
            "", "# comment [a]", "k1 = 1", 'k2 = "[x]"', "k3 = [\n  1,\n  # two\n  2,\n]",
            "k4 = '''\n[no.header]\n'''", "[a]", "[mcp_servers.other]", "[[list]]", "k5.b = true",
            '[projects."/a b"]', "k6 = 1979-05-27", "  k7 = { a = 1 }",
        ]
    ),
    max_size=8,
)  # fmt: skip


@given(
    LINES,
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["", "\ufeff"]),
    st.sampled_from(["", "\n"]),
)
def test_add_and_undo_is_a_round_trip_to_the_byte(
    lines: list[str], line_end: str, mark: str, end: str
) -> None:
    text = mark + ("\n".join(lines) + end).replace("\n", line_end)
    try:
        document: dict[str, Any] = load_toml(text)
    except BrokenConfig:
        return  # a key twice
    added = add_toml_entry(text, KEYS, ENTRY)
    assert TextEdit.between(text, added).undo(added) == text
    removed = load_toml(remove_toml_entry(added, KEYS))
    assert removed == document
    document.setdefault("mcp_servers", {})["codekernel"] = ENTRY
    assert load_toml(added) == document

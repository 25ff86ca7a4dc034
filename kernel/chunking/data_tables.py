"""Tables of data, markup and queries: JSON, YAML, TOML, SQL, HTML, CSS."""

import re

from kernel.chunking.grammar import Grammar, Rule

JSON = Grammar("tree_sitter_json", {"pair": Rule("key", "key", top=True, introduces=False)})

YAML = Grammar(
    "tree_sitter_yaml",
    {"block_mapping_pair": Rule("key", "key", top=True, introduces=False)},
)

_TOML_KEY = "dotted_key|bare_key|quoted_key"
TOML = Grammar(
    "tree_sitter_toml",
    {
        "table": Rule("key", _TOML_KEY, introduces=False),
        "table_array_element": Rule("key", _TOML_KEY, introduces=False),
        "pair": Rule("key", _TOML_KEY, top=True, introduces=False),
    },
)

_OBJECT = "object_reference.name"
SQL = Grammar(
    "tree_sitter_sql",
    {
        "create_table": Rule("table", _OBJECT),
        "create_view": Rule("view", _OBJECT),
        "create_materialized_view": Rule("view", _OBJECT),
        "create_function": Rule("function", _OBJECT),
        "create_trigger": Rule("trigger", _OBJECT),
        "create_type": Rule("type", _OBJECT),
        "create_index": Rule("index", "column"),
        "create_schema": Rule("schema", "identifier"),
    },
    wrappers=frozenset({"statement"}),
)

HTML = Grammar("tree_sitter_html", {}, embeds={"script_element": "javascript"})

CSS = Grammar(
    "tree_sitter_css",
    {
        "rule_set": Rule("rule", "selectors", introduces=False),
        "media_statement": Rule("rule", pattern=re.compile(r"(@[^{]+)"), introduces=False),
        "keyframes_statement": Rule("rule", "keyframes_name", introduces=False),
    },
)

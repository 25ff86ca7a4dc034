"""Definition rules of scripting, data, markup and query languages.

Python, JavaScript, TypeScript, Ruby, PHP, Lua, Bash, Elixir, JSON, YAML, TOML, SQL, HTML, CSS.
"""

import re

from codekernel.chunking.grammar import DefinitionRule, Grammar, build_rules

_DOT_OR_COLON = re.compile(r"\.|::?")

PYTHON = Grammar(
    "tree_sitter_python",
    {
        **build_rules(function_definition="function", class_definition="class"),
        "assignment": DefinitionRule("const", "left", is_top_level_only=True),
        "type_alias_statement": DefinitionRule("type", "left", is_top_level_only=True),
    },
    wrapper_types=frozenset({"decorated_definition", "expression_statement"}),
)

_FUNCTION_VALUES = {
    "arrow_function": "function",
    "function_expression": "function",
    "generator_function": "function",
    "class": "class",
}

_JAVASCRIPT_RULES = {
    **build_rules(
        function_declaration="function",
        generator_function_declaration="function",
        class_declaration="class",
        method_definition="method",
    ),
    "variable_declarator": DefinitionRule(
        "const", kinds_by_value=_FUNCTION_VALUES, is_top_level_only=True
    ),
    "assignment_expression": DefinitionRule(
        "", "left", value_path="right", kinds_by_value=_FUNCTION_VALUES
    ),
    "pair": DefinitionRule("", "key", kinds_by_value=_FUNCTION_VALUES),
    "field_definition": DefinitionRule("", "property", kinds_by_value=_FUNCTION_VALUES),
}

_JAVASCRIPT_WRAPPERS = frozenset(
    {
        "export_statement",
        "lexical_declaration",
        "variable_declaration",
        "expression_statement",
    }
)

JAVASCRIPT = Grammar(
    "tree_sitter_javascript",
    _JAVASCRIPT_RULES,
    wrapper_types=_JAVASCRIPT_WRAPPERS,
    leading_types=frozenset({"decorator"}),
    name_separator=re.compile(r"\."),
)

_TYPESCRIPT_RULES = {
    **_JAVASCRIPT_RULES,
    **build_rules(
        interface_declaration="interface",
        type_alias_declaration="type",
        enum_declaration="enum",
        internal_module="module",
        module="module",
        abstract_class_declaration="class",
        function_signature="function",
        method_signature="method",
        abstract_method_signature="method",
    ),
    "public_field_definition": DefinitionRule("", kinds_by_value=_FUNCTION_VALUES),
}

del _TYPESCRIPT_RULES["field_definition"]


def _build_typescript(entry: str) -> Grammar:
    return Grammar(
        "tree_sitter_typescript",
        _TYPESCRIPT_RULES,
        entry_point=entry,
        wrapper_types=_JAVASCRIPT_WRAPPERS | {"ambient_declaration"},
        leading_types=frozenset({"decorator"}),
        name_separator=re.compile(r"\."),
    )


TYPESCRIPT = _build_typescript("language_typescript")

TSX = _build_typescript("language_tsx")

RUBY = Grammar(
    "tree_sitter_ruby",
    {
        **build_rules(method="method", singleton_method="method", module="module"),
        "class": DefinitionRule("class"),
        "assignment": DefinitionRule(
            "", "left", value_path="left", kinds_by_value={"constant": "const"}
        ),
    },
    name_separator=re.compile(r"::"),
)

PHP = Grammar(
    "tree_sitter_php",
    {
        **build_rules(
            function_definition="function",
            method_declaration="method",
            class_declaration="class",
            interface_declaration="interface",
            trait_declaration="trait",
            enum_declaration="enum",
        ),
        "const_declaration": DefinitionRule("const", "const_element.name"),
        "assignment_expression": DefinitionRule(
            "",
            "left.name",
            value_path="right",
            kinds_by_value={"anonymous_function": "function", "arrow_function": "function"},
        ),
    },
    entry_point="language_php",
    wrapper_types=frozenset({"expression_statement"}),
)

_LUA_FUNCTION = {"function_definition": "function"}

LUA = Grammar(
    "tree_sitter_lua",
    {
        "function_declaration": DefinitionRule("function"),
        "assignment_statement": DefinitionRule(
            "const",
            "variable_list.name",
            value_path="expression_list.value",
            kinds_by_value=_LUA_FUNCTION,
            is_top_level_only=True,
        ),
        "field": DefinitionRule("", kinds_by_value=_LUA_FUNCTION),
    },
    wrapper_types=frozenset({"variable_declaration"}),
    name_separator=_DOT_OR_COLON,
)

BASH = Grammar(
    "tree_sitter_bash",
    {
        "function_definition": DefinitionRule("function"),
        "variable_assignment": DefinitionRule("const", is_top_level_only=True),
    },
    wrapper_types=frozenset({"declaration_command"}),
)

_ELIXIR_NAME = re.compile(r"[a-z]+[\s(]+(?:unquote\()?:?([\w.]+[?!]?)")

ELIXIR = Grammar(
    "tree_sitter_elixir",
    {
        "call": DefinitionRule(
            "",
            name_pattern=_ELIXIR_NAME,
            value_path="target",
            kinds_by_keyword={
                "defmodule": "module",
                "defprotocol": "interface",
                "defimpl": "impl",
                "def": "function",
                "defp": "function",
                "defmacro": "macro",
                "defmacrop": "macro",
                "defguard": "function",
                "defdelegate": "function",
            },
        )
    },
    leading_types=frozenset({"unary_operator"}),
    merges_clauses=True,
)

JSON = Grammar(
    "tree_sitter_json",
    {"pair": DefinitionRule("key", "key", is_top_level_only=True, introduces_names=False)},
)

YAML = Grammar(
    "tree_sitter_yaml",
    {
        "block_mapping_pair": DefinitionRule(
            "key", "key", is_top_level_only=True, introduces_names=False
        )
    },
)

_TOML_KEY = "dotted_key|bare_key|quoted_key"

TOML = Grammar(
    "tree_sitter_toml",
    {
        "table": DefinitionRule("key", _TOML_KEY, introduces_names=False),
        "table_array_element": DefinitionRule("key", _TOML_KEY, introduces_names=False),
        "pair": DefinitionRule("key", _TOML_KEY, is_top_level_only=True, introduces_names=False),
    },
)

_OBJECT_NAME = "object_reference.name"

SQL = Grammar(
    "tree_sitter_sql",
    {
        "create_table": DefinitionRule("table", _OBJECT_NAME),
        "create_view": DefinitionRule("view", _OBJECT_NAME),
        "create_materialized_view": DefinitionRule("view", _OBJECT_NAME),
        "create_function": DefinitionRule("function", _OBJECT_NAME),
        "create_trigger": DefinitionRule("trigger", _OBJECT_NAME),
        "create_type": DefinitionRule("type", _OBJECT_NAME),
        "create_index": DefinitionRule("index", "column"),
        "create_schema": DefinitionRule("schema", "identifier"),
    },
    wrapper_types=frozenset({"statement"}),
)

HTML = Grammar("tree_sitter_html", {}, embedded_languages={"script_element": "javascript"})

CSS = Grammar(
    "tree_sitter_css",
    {
        "rule_set": DefinitionRule("rule", "selectors", introduces_names=False),
        "media_statement": DefinitionRule(
            "rule", name_pattern=re.compile(r"(@[^{]+)"), introduces_names=False
        ),
        "keyframes_statement": DefinitionRule("rule", "keyframes_name", introduces_names=False),
    },
)

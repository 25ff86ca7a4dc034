"""Tables of languages that are mostly run from source: Python, JavaScript, Ruby, PHP, Lua, ..."""

import re

from kernel.chunking.grammar import Grammar, Rule, kinds

_DOT_OR_COLON = re.compile(r"\.|::?")

PYTHON = Grammar(
    "tree_sitter_python",
    {
        **kinds(function_definition="function", class_definition="class"),
        "assignment": Rule("const", "left", top=True),
        "type_alias_statement": Rule("type", "left", top=True),
    },
    wrappers=frozenset({"decorated_definition", "expression_statement"}),
)

_FUNCTIONS = {
    "arrow_function": "function",
    "function_expression": "function",
    "generator_function": "function",
    "class": "class",
}
_JAVASCRIPT_RULES = {
    **kinds(
        function_declaration="function",
        generator_function_declaration="function",
        class_declaration="class",
        method_definition="method",
    ),
    "variable_declarator": Rule("const", values=_FUNCTIONS, top=True),
    "assignment_expression": Rule("", "left", value="right", values=_FUNCTIONS),
    "pair": Rule("", "key", values=_FUNCTIONS),
    "field_definition": Rule("", "property", values=_FUNCTIONS),
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
    wrappers=_JAVASCRIPT_WRAPPERS,
    leads=frozenset({"decorator"}),
    separator=re.compile(r"\."),
)

_TYPESCRIPT_RULES = {
    **_JAVASCRIPT_RULES,
    **kinds(
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
    "public_field_definition": Rule("", values=_FUNCTIONS),
}
del _TYPESCRIPT_RULES["field_definition"]


def _typescript(entry: str) -> Grammar:
    return Grammar(
        "tree_sitter_typescript",
        _TYPESCRIPT_RULES,
        entry=entry,
        wrappers=_JAVASCRIPT_WRAPPERS | {"ambient_declaration"},
        leads=frozenset({"decorator"}),
        separator=re.compile(r"\."),
    )


TYPESCRIPT = _typescript("language_typescript")
TSX = _typescript("language_tsx")

RUBY = Grammar(
    "tree_sitter_ruby",
    {
        **kinds(method="method", singleton_method="method", module="module"),
        "class": Rule("class"),
        "assignment": Rule("", "left", value="left", values={"constant": "const"}),
    },
    separator=re.compile(r"::"),
)

PHP = Grammar(
    "tree_sitter_php",
    {
        **kinds(
            function_definition="function",
            method_declaration="method",
            class_declaration="class",
            interface_declaration="interface",
            trait_declaration="trait",
            enum_declaration="enum",
        ),
        "const_declaration": Rule("const", "const_element.name"),
        "assignment_expression": Rule(
            "",
            "left.name",
            value="right",
            values={"anonymous_function": "function", "arrow_function": "function"},
        ),
    },
    entry="language_php",
    wrappers=frozenset({"expression_statement"}),
)

_LUA_FUNCTION = {"function_definition": "function"}
LUA = Grammar(
    "tree_sitter_lua",
    {
        "function_declaration": Rule("function"),
        "assignment_statement": Rule(
            "const",
            "variable_list.name",
            value="expression_list.value",
            values=_LUA_FUNCTION,
            top=True,
        ),
        "field": Rule("", values=_LUA_FUNCTION),
    },
    wrappers=frozenset({"variable_declaration"}),
    separator=_DOT_OR_COLON,
)

BASH = Grammar(
    "tree_sitter_bash",
    {
        "function_definition": Rule("function"),
        "variable_assignment": Rule("const", top=True),
    },
    wrappers=frozenset({"declaration_command"}),
)

_ELIXIR_NAME = re.compile(r"[a-z]+[\s(]+(?:unquote\()?:?([\w.]+[?!]?)")
ELIXIR = Grammar(
    "tree_sitter_elixir",
    {
        "call": Rule(
            "",
            pattern=_ELIXIR_NAME,
            value="target",
            words={
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
    leads=frozenset({"unary_operator"}),
    clauses=True,
)

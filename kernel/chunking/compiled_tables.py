"""Tables of languages that are compiled: Go, Rust, C, C++, Zig, Swift, Haskell."""

import re

from kernel.chunking.grammar import Grammar, Rule, kinds

_DOUBLE_COLON = re.compile(r"::")

GO = Grammar(
    "tree_sitter_go",
    {
        "function_declaration": Rule("function"),
        "method_declaration": Rule("method", owner="receiver"),
        "type_spec": Rule(
            "type",
            value="type",
            values={"struct_type": "struct", "interface_type": "interface"},
        ),
        "type_alias": Rule("type"),
        "const_spec": Rule("const", top=True),
        "var_spec": Rule("const", top=True),
    },
    wrappers=frozenset(
        {"type_declaration", "const_declaration", "var_declaration", "var_spec_list"}
    ),
)

RUST = Grammar(
    "tree_sitter_rust",
    {
        **kinds(
            function_item="function",
            function_signature_item="function",
            struct_item="struct",
            union_item="struct",
            enum_item="enum",
            trait_item="trait",
            mod_item="module",
            const_item="const",
            static_item="const",
            type_item="type",
            macro_definition="macro",
        ),
        "impl_item": Rule("impl", "type", introduces=False),
    },
    leads=frozenset({"attribute_item"}),
)

_C_RULES = {
    # A function always has parameters: class EXPORT Basket { is a class behind a macro.
    "function_definition": Rule(
        "function", "declarator*", value="declarator", values={"identifier": "class"}
    ),
    "struct_specifier": Rule("struct", needs="body"),
    "union_specifier": Rule("struct", needs="body"),
    "enum_specifier": Rule("enum", needs="body"),
    "type_definition": Rule("type", "declarator*"),
    "preproc_def": Rule("macro"),
    "preproc_function_def": Rule("macro"),
    "declaration": Rule(
        "", "declarator*", value="declarator", values={"init_declarator": "const"}, top=True
    ),
}
C = Grammar("tree_sitter_c", _C_RULES, wrappers=frozenset({"linkage_specification"}))

CPP = Grammar(
    "tree_sitter_cpp",
    {
        **_C_RULES,
        "class_specifier": Rule("class", needs="body"),
        "namespace_definition": Rule("module", introduces=False),
        "alias_declaration": Rule("type"),
        "concept_definition": Rule("type"),
    },
    wrappers=frozenset({"template_declaration", "linkage_specification"}),
    separator=_DOUBLE_COLON,
)

ZIG = Grammar(
    "tree_sitter_zig",
    {
        "function_declaration": Rule("function"),
        "variable_declaration": Rule(
            "const",
            "identifier",
            value="struct_declaration|enum_declaration|union_declaration|opaque_declaration",
            values={
                "struct_declaration": "struct",
                "enum_declaration": "enum",
                "union_declaration": "struct",
                "opaque_declaration": "struct",
            },
            top=True,
        ),
        "test_declaration": Rule("test", "string|identifier", introduces=False),
    },
)

SWIFT = Grammar(
    "tree_sitter_swift",
    {
        "class_declaration": Rule(
            "class",
            words={
                "struct": "struct",
                "enum": "enum",
                "extension": "impl",
                "actor": "class",
            },
        ),
        "protocol_declaration": Rule("interface"),
        "function_declaration": Rule("function"),
        "protocol_function_declaration": Rule("function"),
        "init_declaration": Rule("method", pattern=re.compile(r"\b(init)\b")),
        "deinit_declaration": Rule("method", pattern=re.compile(r"\b(deinit)\b")),
        "property_declaration": Rule("const", top=True),
        "typealias_declaration": Rule("type"),
    },
)

HASKELL = Grammar(
    "tree_sitter_haskell",
    {
        **kinds(
            function="function",
            bind="function",
            signature="function",
            data_type="type",
            newtype="type",
            type_synonym="type",
        ),
        "class": Rule("interface"),
        "instance": Rule("impl", introduces=False),
    },
    leads=frozenset({"haddock"}),
    clauses=True,
)

"""Definition rules of compiled languages.

Go, Rust, C, C++, Zig, Swift, Haskell, Java, Kotlin, C#, Scala.
"""

import re

from codekernel.chunking.grammar import DefinitionRule, Grammar, build_rules

_DOUBLE_COLON = re.compile(r"::")

GO = Grammar(
    "tree_sitter_go",
    {
        "function_declaration": DefinitionRule("function"),
        "method_declaration": DefinitionRule("method", owner_field="receiver"),
        "type_spec": DefinitionRule(
            "type",
            value_path="type",
            kinds_by_value={"struct_type": "struct", "interface_type": "interface"},
        ),
        "type_alias": DefinitionRule("type"),
        "const_spec": DefinitionRule("const", is_top_level_only=True),
        "var_spec": DefinitionRule("const", is_top_level_only=True),
    },
    wrapper_types=frozenset(
        {"type_declaration", "const_declaration", "var_declaration", "var_spec_list"}
    ),
)

RUST = Grammar(
    "tree_sitter_rust",
    {
        **build_rules(
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
        "impl_item": DefinitionRule("impl", "type", introduces_names=False),
    },
    leading_types=frozenset({"attribute_item"}),
)

_C_RULES = {
    # A function always has parameters: class EXPORT Basket { is a class behind a macro.
    "function_definition": DefinitionRule(
        "function", "declarator*", value_path="declarator", kinds_by_value={"identifier": "class"}
    ),
    "struct_specifier": DefinitionRule("struct", required_field="body"),
    "union_specifier": DefinitionRule("struct", required_field="body"),
    "enum_specifier": DefinitionRule("enum", required_field="body"),
    "type_definition": DefinitionRule("type", "declarator*"),
    "preproc_def": DefinitionRule("macro"),
    "preproc_function_def": DefinitionRule("macro"),
    "declaration": DefinitionRule(
        "",
        "declarator*",
        value_path="declarator",
        kinds_by_value={"init_declarator": "const"},
        is_top_level_only=True,
    ),
}

C = Grammar("tree_sitter_c", _C_RULES, wrapper_types=frozenset({"linkage_specification"}))

CPP = Grammar(
    "tree_sitter_cpp",
    {
        **_C_RULES,
        "class_specifier": DefinitionRule("class", required_field="body"),
        "namespace_definition": DefinitionRule("module", introduces_names=False),
        "alias_declaration": DefinitionRule("type"),
        "concept_definition": DefinitionRule("type"),
    },
    wrapper_types=frozenset({"template_declaration", "linkage_specification"}),
    name_separator=_DOUBLE_COLON,
)

ZIG = Grammar(
    "tree_sitter_zig",
    {
        "function_declaration": DefinitionRule("function"),
        "variable_declaration": DefinitionRule(
            "const",
            "identifier",
            value_path="struct_declaration|enum_declaration|union_declaration|opaque_declaration",
            kinds_by_value={
                "struct_declaration": "struct",
                "enum_declaration": "enum",
                "union_declaration": "struct",
                "opaque_declaration": "struct",
            },
            is_top_level_only=True,
        ),
        "test_declaration": DefinitionRule("test", "string|identifier", introduces_names=False),
    },
)

SWIFT = Grammar(
    "tree_sitter_swift",
    {
        "class_declaration": DefinitionRule(
            "class",
            kinds_by_keyword={
                "struct": "struct",
                "enum": "enum",
                "extension": "impl",
                "actor": "class",
            },
        ),
        "protocol_declaration": DefinitionRule("interface"),
        "function_declaration": DefinitionRule("function"),
        "protocol_function_declaration": DefinitionRule("function"),
        "init_declaration": DefinitionRule("method", name_pattern=re.compile(r"\b(init)\b")),
        "deinit_declaration": DefinitionRule("method", name_pattern=re.compile(r"\b(deinit)\b")),
        "property_declaration": DefinitionRule("const", is_top_level_only=True),
        "typealias_declaration": DefinitionRule("type"),
    },
)

HASKELL = Grammar(
    "tree_sitter_haskell",
    {
        **build_rules(
            function="function",
            bind="function",
            signature="function",
            data_type="type",
            newtype="type",
            type_synonym="type",
        ),
        "class": DefinitionRule("interface"),
        "instance": DefinitionRule("impl", introduces_names=False),
    },
    leading_types=frozenset({"haddock"}),
    merges_clauses=True,
)

JAVA = Grammar(
    "tree_sitter_java",
    build_rules(
        class_declaration="class",
        interface_declaration="interface",
        enum_declaration="enum",
        record_declaration="class",
        annotation_type_declaration="interface",
        method_declaration="method",
        constructor_declaration="method",
        compact_constructor_declaration="method",
        annotation_type_element_declaration="method",
    ),
)

KOTLIN = Grammar(
    "tree_sitter_kotlin",
    {
        "class_declaration": DefinitionRule(
            "class", kinds_by_keyword={"interface": "interface", "enum": "enum"}
        ),
        "object_declaration": DefinitionRule("object"),
        "companion_object": DefinitionRule("object", introduces_names=False),
        "function_declaration": DefinitionRule("function"),
        "property_declaration": DefinitionRule(
            "const", "variable_declaration.identifier", is_top_level_only=True
        ),
        "type_alias": DefinitionRule("type", "type|identifier"),
    },
)

C_SHARP = Grammar(
    "tree_sitter_c_sharp",
    {
        **build_rules(
            class_declaration="class",
            interface_declaration="interface",
            struct_declaration="struct",
            enum_declaration="enum",
            record_declaration="class",
            method_declaration="method",
            constructor_declaration="method",
            property_declaration="property",
            delegate_declaration="type",
            local_function_statement="function",
        ),
        "namespace_declaration": DefinitionRule("module", introduces_names=False),
    },
)

SCALA = Grammar(
    "tree_sitter_scala",
    {
        **build_rules(
            object_definition="object",
            class_definition="class",
            trait_definition="trait",
            enum_definition="enum",
            function_definition="function",
            function_declaration="function",
            type_definition="type",
            given_definition="const",
        ),
        "val_definition": DefinitionRule("const", "pattern", is_top_level_only=True),
    },
    leading_types=frozenset({"annotation"}),
)

"""Tables of languages made of classes: Java, Kotlin, C#, Scala."""

from kernel.chunking.grammar import Grammar, Rule, kinds

JAVA = Grammar(
    "tree_sitter_java",
    kinds(
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
        "class_declaration": Rule("class", words={"interface": "interface", "enum": "enum"}),
        "object_declaration": Rule("object"),
        "companion_object": Rule("object", introduces=False),
        "function_declaration": Rule("function"),
        "property_declaration": Rule("const", "variable_declaration.identifier", top=True),
        "type_alias": Rule("type", "type|identifier"),
    },
)

C_SHARP = Grammar(
    "tree_sitter_c_sharp",
    {
        **kinds(
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
        "namespace_declaration": Rule("module", introduces=False),
    },
)

SCALA = Grammar(
    "tree_sitter_scala",
    {
        **kinds(
            object_definition="object",
            class_definition="class",
            trait_definition="trait",
            enum_definition="enum",
            function_definition="function",
            function_declaration="function",
            type_definition="type",
            given_definition="const",
        ),
        "val_definition": Rule("const", "pattern", top=True),
    },
    leads=frozenset({"annotation"}),
)

"""Calls in Go, Rust, C, C++ and Swift."""

from kernel.callgraph import common_names
from kernel.callgraph.import_texts import go_imports, rust_imports
from kernel.callgraph.speech import Speech

GO = Speech(
    r"""
(function_declaration name: (_) @name parameters: (_) @parameters result: (_)? @returns) @function
(method_declaration receiver: (_) @owner name: (_) @name parameters: (_) @parameters
  result: (_)? @returns) @function
(type_spec name: (_) @name type: (struct_type)) @class
(type_spec name: (_) @name type: (interface_type)) @interface
(type_spec name: (_) @name type: [(function_type) (map_type) (slice_type) (type_identifier)]) @class
(method_elem name: (_) @name parameters: (_) @parameters result: (_)? @returns) @function
(call_expression function: (_) @callee arguments: (_) @arguments) @call
(call_expression function: (index_expression operand: (_) @callee) arguments: (_) @arguments) @call
(type_conversion_expression type: (generic_type type: (_) @callee)) @call
(short_var_declaration left: (expression_list . (identifier) @name)
  right: (expression_list . (_) @value)) @variable
(var_spec name: (_) @name type: (_)? @type value: (expression_list . (_) @value)?) @variable
(parameter_declaration name: (_) @name type: (_) @type) @variable
(range_clause left: (expression_list (identifier) @name)) @variable
(struct_type (field_declaration_list (field_declaration name: (_) @name type: (_) @type) @field))
(struct_type (field_declaration_list (field_declaration !name type: (_) @bases) @embedded))
(import_spec) @import
""",
    "go",
    own=frozenset(),
    supers=frozenset(),
    common=common_names.GO,
    imports=go_imports,
)

RUST = Speech(
    r"""
(function_item name: (_) @name parameters: (_) @parameters return_type: (_)? @returns) @function
(function_signature_item name: (_) @name parameters: (_) @parameters return_type: (_)? @returns)
  @function
(struct_item name: (_) @name) @class
(enum_item name: (_) @name) @class
(union_item name: (_) @name) @class
(trait_item name: (_) @name bounds: (_)? @bases) @interface
(impl_item trait: (_)? @bases type: (_) @name) @impl
(mod_item name: (_) @name body: (_)) @module
(macro_definition name: (_) @name) @function
(call_expression function: (_) @callee arguments: (_) @arguments) @call
(macro_invocation macro: (_) @callee) @call
(let_declaration pattern: (identifier) @name type: (_)? @type value: (_)? @value) @variable
(let_declaration pattern: (mut_pattern (identifier) @name) type: (_)? @type value: (_)? @value)
  @variable
(parameter pattern: (identifier) @name type: (_) @type) @variable
(parameter pattern: (mut_pattern (identifier) @name) type: (_) @type) @variable
(closure_parameters (identifier) @name @variable)
(for_expression pattern: (identifier) @name) @variable
(field_declaration name: (_) @name type: (_) @type) @field
(use_declaration) @import
""",
    "rust",
    own=frozenset({"self", "Self"}),
    supers=frozenset(),
    common=common_names.RUST,
    imports=rust_imports,
)

_C = r"""
(function_definition type: (_)? @returns
  declarator: (function_declarator declarator: (_) @name parameters: (_) @parameters)) @function
(function_definition type: (_) @returns declarator: (pointer_declarator
  declarator: (function_declarator declarator: (_) @name parameters: (_) @parameters))) @function
(function_definition declarator: (pointer_declarator declarator: (pointer_declarator
  declarator: (function_declarator declarator: (_) @name parameters: (_) @parameters)))) @function
(preproc_function_def name: (_) @name parameters: (_) @parameters) @function
(call_expression function: (_) @callee arguments: (_) @arguments) @call
(declaration type: (_) @type declarator: (identifier) @name) @variable
(declaration type: (_) @type declarator: (pointer_declarator declarator: (identifier) @name))
  @variable
(declaration type: (_) @type declarator: (init_declarator declarator: (identifier) @name
  value: (_) @value)) @variable
(declaration type: (_) @type declarator: (init_declarator declarator:
  (pointer_declarator declarator: (identifier) @name) value: (_) @value)) @variable
(parameter_declaration type: (_) @type declarator: (identifier) @name) @variable
(parameter_declaration type: (_) @type declarator: (pointer_declarator (identifier) @name))
  @variable
(parameter_declaration declarator: (function_declarator declarator: (parenthesized_declarator
  (pointer_declarator declarator: (identifier) @name)))) @variable
"""
C = Speech(_C, "c", own=frozenset(), supers=frozenset())

CPP = Speech(
    _C
    + r"""
(function_definition type: (_) @returns declarator: (reference_declarator
  (function_declarator declarator: (_) @name parameters: (_) @parameters))) @function
(class_specifier name: (_) @name (base_class_clause)? @bases body: (_)) @class
(struct_specifier name: (_) @name (base_class_clause)? @bases body: (_)) @class
(function_definition type: [(class_specifier) (struct_specifier)] declarator: (identifier) @name)
  @class
(namespace_definition name: (_) @name) @module
(new_expression type: (_) @callee arguments: (_)? @arguments) @new
(parameter_declaration type: (_) @type declarator: (reference_declarator (identifier) @name))
  @variable
(declaration type: (_) @type declarator: (init_declarator declarator:
  (reference_declarator (identifier) @name) value: (_) @value)) @variable
(field_declaration type: (_) @type declarator: (field_identifier) @name) @field
(field_declaration type: (_) @type declarator: (pointer_declarator declarator: (_) @name)) @field
(field_declaration type: (_) @type declarator: (reference_declarator (field_identifier) @name))
  @field
(field_declaration type: (_)? @returns declarator: (function_declarator declarator: (_) @name
  parameters: (_) @parameters) default_value: (_)) @function
""",
    "c",
    supers=frozenset(),
    implicit_own=True,
    calls_make=True,
    constructors=frozenset({""}),
    common=common_names.CPP,
)

SWIFT = Speech(
    r"""
(function_declaration name: (_) @name) @function
(protocol_function_declaration name: (_) @name) @function
(init_declaration "init" @name) @function
(class_declaration name: (_) @name (inheritance_specifier)* @bases) @class
(protocol_declaration name: (_) @name) @interface
(call_expression . (_) @callee (call_suffix) @arguments) @call
(property_declaration (pattern bound_identifier: (_) @name) (type_annotation)? @type
  value: (_)? @value) @variable
(class_body (property_declaration (pattern bound_identifier: (_) @name) (type_annotation)? @type
  value: (_)? @value) @field)
(parameter (simple_identifier) @name . (_) @type) @variable
""",
    "swift",
    own=frozenset({"self", "Self"}),
    implicit_own=True,
    calls_make=True,
    constructors=frozenset({"init"}),
    common=common_names.SWIFT,
)

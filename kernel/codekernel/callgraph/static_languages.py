"""Tree-sitter queries and specs of Go, Rust, C, C++, Swift, Java, Kotlin, C# and Scala."""

from codekernel.callgraph import language_spec
from codekernel.callgraph.language_spec import (
    LanguageSpec,
    parse_go_imports,
    parse_java_imports,
    parse_rust_imports,
)

GO = LanguageSpec(
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
    self_names=frozenset(),
    super_names=frozenset(),
    common_methods=language_spec.GO_COMMON_METHODS,
    parse_imports=parse_go_imports,
)

RUST = LanguageSpec(
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
    self_names=frozenset({"self", "Self"}),
    super_names=frozenset(),
    common_methods=language_spec.RUST_COMMON_METHODS,
    parse_imports=parse_rust_imports,
)

_C_QUERY = r"""
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

C = LanguageSpec(_C_QUERY, "c", self_names=frozenset(), super_names=frozenset())

CPP = LanguageSpec(
    _C_QUERY
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
    super_names=frozenset(),
    has_implicit_self=True,
    has_constructor_calls=True,
    constructors=frozenset({""}),
    common_methods=language_spec.CPP_COMMON_METHODS,
)

SWIFT = LanguageSpec(
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
    self_names=frozenset({"self", "Self"}),
    has_implicit_self=True,
    has_constructor_calls=True,
    constructors=frozenset({"init"}),
    common_methods=language_spec.SWIFT_COMMON_METHODS,
)

JAVA = LanguageSpec(
    r"""
(class_declaration name: (_) @name superclass: (_)? @bases interfaces: (_)? @bases) @class
(record_declaration name: (_) @name interfaces: (_)? @bases) @class
(enum_declaration name: (_) @name interfaces: (_)? @bases) @class
(interface_declaration name: (_) @name (extends_interfaces)? @bases) @interface
(method_declaration type: (_) @returns name: (_) @name parameters: (_) @parameters) @function
(constructor_declaration name: (_) @name parameters: (_) @parameters) @function
(method_invocation object: (_) @receiver name: (_) @name arguments: (_) @arguments) @call
(method_invocation !object name: (_) @name arguments: (_) @arguments) @call
(object_creation_expression type: (_) @callee arguments: (_) @arguments) @new
(explicit_constructor_invocation constructor: (_) @callee arguments: (_) @arguments) @call
(local_variable_declaration type: (_) @type
  declarator: (variable_declarator name: (_) @name value: (_)? @value)) @variable
(formal_parameter type: (_) @type name: (_) @name) @variable
(enhanced_for_statement type: (_) @type name: (_) @name) @variable
(resource type: (_) @type name: (_) @name value: (_) @value) @variable
(catch_formal_parameter (catch_type) @type name: (_) @name) @variable
(lambda_expression parameters: (identifier) @name) @variable
(inferred_parameters (identifier) @name @variable)
(field_declaration type: (_) @type declarator: (variable_declarator name: (_) @name)) @field
(record_declaration parameters: (formal_parameters
  (formal_parameter type: (_) @type name: (_) @name) @field))
(import_declaration) @import
""",
    "jvm",
    has_implicit_self=True,
    constructors=frozenset({""}),
    common_methods=language_spec.OBJECT_COMMON_METHODS,
    parse_imports=parse_java_imports,
)

KOTLIN = LanguageSpec(
    r"""
(class_declaration name: (_) @name (delegation_specifiers)? @bases) @class
(object_declaration name: (_) @name) @object
(function_declaration name: (_) @name (function_value_parameters) @parameters) @function
(call_expression . (_) @callee (value_arguments)? @arguments) @call
(property_declaration (variable_declaration (identifier) @name (_)? @type) (_)? @value) @variable
(class_body (property_declaration (variable_declaration (identifier) @name (_)? @type) (_)? @value)
  @field)
(parameter (identifier) @name (_) @type) @variable
(class_parameter (identifier) @name (_) @type) @field
(import) @import
""",
    "jvm",
    has_implicit_self=True,
    has_constructor_calls=True,
    common_methods=language_spec.OBJECT_COMMON_METHODS,
    parse_imports=parse_java_imports,
)

CSHARP = LanguageSpec(
    r"""
(class_declaration name: (_) @name (base_list)? @bases) @class
(struct_declaration name: (_) @name (base_list)? @bases) @class
(record_declaration name: (_) @name (base_list)? @bases) @class
(interface_declaration name: (_) @name (base_list)? @bases) @interface
(method_declaration returns: (_) @returns name: (_) @name parameters: (_) @parameters) @function
(constructor_declaration name: (_) @name parameters: (_) @parameters) @function
(local_function_statement name: (_) @name parameters: (_) @parameters) @function
(property_declaration name: (_) @name value: (_)) @function
(namespace_declaration name: (_) @name) @module
(invocation_expression function: [(identifier) (generic_name) (member_access_expression)] @callee
  arguments: (_) @arguments) @call
(invocation_expression function: (conditional_access_expression condition: (_) @receiver
  (member_binding_expression name: (_) @name)) arguments: (_) @arguments) @call
(object_creation_expression type: (_) @callee arguments: (_)? @arguments) @new
(constructor_initializer ["base" "this"] @callee (argument_list) @arguments) @call
(local_declaration_statement (variable_declaration type: (_) @type
  (variable_declarator name: (_) @name (_)? @value))) @variable
(parameter type: (_) @type name: (_) @name) @variable
(foreach_statement type: (_) @type left: (identifier) @name) @variable
(field_declaration (variable_declaration type: (_) @type (variable_declarator name: (_) @name)))
  @field
(property_declaration type: (_) @type name: (_) @name) @field
""",
    "csharp",
    super_names=frozenset({"base"}),
    has_implicit_self=True,
    constructors=frozenset({""}),
    common_methods=language_spec.OBJECT_COMMON_METHODS,
)

SCALA = LanguageSpec(
    r"""
(class_definition name: (_) @name extend: (_)? @bases) @class
(trait_definition name: (_) @name extend: (_)? @bases) @interface
(object_definition name: (_) @name extend: (_)? @bases) @object
(function_definition name: (_) @name parameters: (_)? @parameters return_type: (_)? @returns)
  @function
(function_declaration name: (_) @name parameters: (_)? @parameters return_type: (_)? @returns)
  @function
(call_expression function: (_) @callee arguments: (_) @arguments) @call
(instance_expression . (_) @callee) @new
(val_definition pattern: (identifier) @name type: (_)? @type value: (_) @value) @variable
(parameter name: (_) @name type: (_) @type) @variable
(class_parameter name: (_) @name type: (_) @type) @field
(import_declaration) @import
""",
    "jvm",
    has_implicit_self=True,
    has_constructor_calls=True,
    common_methods=language_spec.OBJECT_COMMON_METHODS,
    parse_imports=parse_java_imports,
)

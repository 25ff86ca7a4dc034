"""Calls in languages made of classes: Java, Kotlin, C#, Scala."""

from kernel.callgraph import common_names
from kernel.callgraph.import_texts import java_imports
from kernel.callgraph.speech import Speech

JAVA = Speech(
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
    implicit_own=True,
    constructors=frozenset({""}),
    common=common_names.OBJECTS,
    imports=java_imports,
)

KOTLIN = Speech(
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
    implicit_own=True,
    calls_make=True,
    common=common_names.OBJECTS,
    imports=java_imports,
)

C_SHARP = Speech(
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
    supers=frozenset({"base"}),
    implicit_own=True,
    constructors=frozenset({""}),
    common=common_names.OBJECTS,
)

SCALA = Speech(
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
    implicit_own=True,
    calls_make=True,
    common=common_names.OBJECTS,
    imports=java_imports,
)

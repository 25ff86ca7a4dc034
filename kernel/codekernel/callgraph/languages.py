"""Tree-sitter queries and specs of Python, JavaScript, TypeScript, Ruby and PHP, and LANGUAGES.

The table of all specs by language name.
"""

from codekernel.callgraph import language_spec, static_languages
from codekernel.callgraph.language_spec import (
    LanguageSpec,
    parse_javascript_imports,
    parse_php_imports,
    parse_python_imports,
    parse_ruby_imports,
)

PYTHON = LanguageSpec(
    r"""
(function_definition name: (_) @name parameters: (_) @parameters return_type: (_)? @returns)
  @function
(class_definition name: (_) @name superclasses: (_)? @bases) @class
(call function: (_) @callee arguments: (_) @arguments) @call
(decorator [(identifier) (attribute)] @callee) @call
(assignment left: (identifier) @name type: (_)? @type right: (_)? @value) @variable
(assignment left: (pattern_list (identifier) @name)) @variable
(named_expression name: (_) @name value: (_) @value) @variable
(assignment left: (attribute object: (identifier) @receiver attribute: (_) @name)
  type: (_)? @type right: (_)? @value) @field
(class_definition body: (block (expression_statement
  (assignment left: (identifier) @name type: (_)? @type right: (_)? @value) @field)))
(typed_parameter (identifier) @name type: (_) @type) @variable
(typed_default_parameter name: (identifier) @name type: (_) @type) @variable
(default_parameter name: (identifier) @name) @variable
(parameters (identifier) @name @variable)
(lambda_parameters (identifier) @name @variable)
(for_statement left: (identifier) @name) @variable
(with_item value: (as_pattern (_) @value alias: (as_pattern_target (identifier) @name))) @variable
(import_statement) @import
(import_from_statement) @import
""",
    "python",
    self_names=frozenset({"self", "cls"}),
    super_names=frozenset({"super()"}),
    has_constructor_calls=True,
    constructors=frozenset({"__init__", "__new__"}),
    common_methods=language_spec.PYTHON_COMMON_METHODS,
    parse_imports=parse_python_imports,
)

_JAVASCRIPT_QUERY = r"""
(function_declaration name: (_) @name parameters: (_) @parameters) @function
(generator_function_declaration name: (_) @name parameters: (_) @parameters) @function
(function_expression name: (identifier) @name parameters: (_) @parameters) @function
(method_definition name: (_) @name parameters: (_) @parameters) @function
(variable_declarator name: (identifier) @name
  value: (arrow_function parameters: (_)? @parameters)) @function
(variable_declarator name: (identifier) @name
  value: (function_expression parameters: (_) @parameters)) @function
(variable_declarator name: (identifier) @name
  value: (generator_function parameters: (_) @parameters)) @function
(assignment_expression left: (identifier) @name
  right: (arrow_function parameters: (_)? @parameters)) @function
(assignment_expression left: (identifier) @name
  right: (function_expression parameters: (_) @parameters)) @function
(variable_declarator name: (identifier) @name value: (class)) @class
(variable_declarator name: (identifier) @name value: (object)) @object
(pair key: (property_identifier) @name value: (arrow_function parameters: (_)? @parameters))
  @function
(pair key: (property_identifier) @name value: (function_expression parameters: (_) @parameters))
  @function
(assignment_expression left: (member_expression) @name
  right: (arrow_function parameters: (_)? @parameters)) @function
(assignment_expression left: (member_expression) @name
  right: (function_expression parameters: (_) @parameters)) @function
(call_expression function: (_) @callee arguments: (arguments) @arguments) @call
(new_expression constructor: (_) @callee arguments: (_)? @arguments) @new
(assignment_expression left: (member_expression object: (this) @receiver property: (_) @name)
  right: (_) @value) @field
(arrow_function parameter: (identifier) @name @variable)
(import_statement) @import
(export_statement source: (_)) @import
(export_statement (export_clause)) @import
(export_statement value: [(identifier) (object)]) @import
(export_statement declaration: (_) @exported) @import
(assignment_expression left: (member_expression) right: [(identifier) (object)]) @import
(variable_declarator name: (object_pattern) value: (call_expression function: (identifier))) @import
"""

_PLAIN_JAVASCRIPT_QUERY = r"""
(class_declaration name: (_) @name (class_heritage)? @bases) @class
(variable_declarator name: (identifier) @name value: (_)? @value) @variable
(formal_parameters (identifier) @name @variable)
(field_definition property: (_) @name
  value: (arrow_function parameters: (_)? @parameters)) @function
(field_definition property: (_) @name value: (_)? @value) @field
"""

_JSX_QUERY = r"""
(jsx_opening_element name: (_) @callee) @call
(jsx_self_closing_element name: (_) @callee) @call
"""

_TYPESCRIPT_QUERY = r"""
(function_declaration name: (_) @name parameters: (_) @parameters return_type: (_) @returns)
  @function
(method_definition name: (_) @name parameters: (_) @parameters return_type: (_) @returns) @function
(variable_declarator name: (identifier) @name
  value: (arrow_function parameters: (_)? @parameters return_type: (_) @returns)) @function
(class_declaration name: (_) @name (class_heritage)? @bases) @class
(abstract_class_declaration name: (_) @name (class_heritage)? @bases) @class
(interface_declaration name: (_) @name (extends_type_clause)? @bases) @interface
(method_signature name: (_) @name parameters: (_) @parameters return_type: (_)? @returns) @function
(abstract_method_signature name: (_) @name parameters: (_) @parameters) @function
(internal_module name: (_) @name) @module
(public_field_definition name: (_) @name
  value: (arrow_function parameters: (_)? @parameters)) @function
(public_field_definition name: (_) @name type: (_)? @type value: (_)? @value) @field
(property_signature name: (_) @name type: (_)? @type) @field
(property_signature name: (_) @name
  type: (type_annotation (function_type parameters: (_) @parameters))) @function
(type_alias_declaration name: (_) @name value: (object_type)) @interface
(variable_declarator name: (identifier) @name type: (_)? @type value: (_)? @value) @variable
(required_parameter pattern: (identifier) @name type: (_)? @type) @variable
(optional_parameter pattern: (identifier) @name type: (_)? @type) @variable
(required_parameter (accessibility_modifier) pattern: (identifier) @name type: (_)? @type) @field
"""


def _make_javascript_spec(query: str) -> LanguageSpec:
    return LanguageSpec(
        query,
        "javascript",
        constructors=frozenset({"constructor"}),
        common_methods=language_spec.JAVASCRIPT_COMMON_METHODS,
        parse_imports=parse_javascript_imports,
    )


JAVASCRIPT = _make_javascript_spec(_JAVASCRIPT_QUERY + _PLAIN_JAVASCRIPT_QUERY + _JSX_QUERY)

TYPESCRIPT = _make_javascript_spec(_JAVASCRIPT_QUERY + _TYPESCRIPT_QUERY)

TSX = _make_javascript_spec(_JAVASCRIPT_QUERY + _TYPESCRIPT_QUERY + _JSX_QUERY)

RUBY = LanguageSpec(
    r"""
(method name: (_) @name parameters: (_)? @parameters) @function
(singleton_method name: (_) @name parameters: (_)? @parameters) @function
(class name: (_) @name superclass: (superclass (_) @bases)?) @class
(module name: (_) @name) @module
(call receiver: (_) @receiver method: (_) @name arguments: (_)? @arguments) @call
(call !receiver method: (identifier) @name arguments: (_)? @arguments) @call
(super) @call @callee
(assignment left: (identifier) @name right: (_) @value) @variable
(assignment left: (instance_variable) @name right: (_) @value) @field
(method_parameters (identifier) @name @variable)
(block_parameters (identifier) @name @variable)
(call method: (identifier) arguments: (argument_list (string))) @import
""",
    "ruby",
    self_names=frozenset({"self"}),
    has_implicit_self=True,
    constructors=frozenset({"initialize"}),
    common_methods=language_spec.RUBY_COMMON_METHODS,
    parse_imports=parse_ruby_imports,
)

PHP = LanguageSpec(
    r"""
(function_definition name: (_) @name parameters: (_) @parameters return_type: (_)? @returns)
  @function
(method_declaration name: (_) @name parameters: (_) @parameters return_type: (_)? @returns)
  @function
(class_declaration name: (_) @name (base_clause)? @bases (class_interface_clause)? @bases) @class
(interface_declaration name: (_) @name (base_clause)? @bases) @interface
(trait_declaration name: (_) @name) @class
(enum_declaration name: (_) @name) @class
(function_call_expression function: (_) @callee arguments: (_) @arguments) @call
(member_call_expression object: (_) @receiver name: (_) @name arguments: (_) @arguments) @call
(nullsafe_member_call_expression object: (_) @receiver name: (_) @name arguments: (_) @arguments)
  @call
(scoped_call_expression scope: (_) @receiver name: (_) @name arguments: (_) @arguments) @call
(object_creation_expression [(name) (qualified_name)] @callee (arguments)? @arguments) @new
(assignment_expression left: (variable_name) @name right: (_) @value) @variable
(assignment_expression left: (member_access_expression object: (_) @receiver name: (_) @name)
  right: (_) @value) @field
(simple_parameter type: (_)? @type name: (_) @name) @variable
(property_promotion_parameter type: (_)? @type name: (_) @name) @field
(property_declaration type: (_)? @type (property_element name: (_) @name)) @field
(namespace_use_declaration) @import
""",
    "php",
    self_names=frozenset({"$this", "this", "self", "static"}),
    super_names=frozenset({"parent"}),
    constructors=frozenset({"__construct"}),
    parse_imports=parse_php_imports,
)

LANGUAGES: dict[str, LanguageSpec] = {
    "python": PYTHON,
    "javascript": JAVASCRIPT,
    "jsx": JAVASCRIPT,
    "typescript": TYPESCRIPT,
    "tsx": TSX,
    "ruby": RUBY,
    "php": PHP,
    "go": static_languages.GO,
    "rust": static_languages.RUST,
    "c": static_languages.C,
    "cpp": static_languages.CPP,
    "swift": static_languages.SWIFT,
    "java": static_languages.JAVA,
    "kotlin": static_languages.KOTLIN,
    "csharp": static_languages.CSHARP,
    "scala": static_languages.SCALA,
}

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

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

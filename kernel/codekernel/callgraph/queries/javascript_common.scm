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

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

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

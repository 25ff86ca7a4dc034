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

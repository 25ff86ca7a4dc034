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

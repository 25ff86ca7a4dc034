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

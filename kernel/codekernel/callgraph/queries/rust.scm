(function_item name: (_) @name parameters: (_) @parameters return_type: (_)? @returns) @function
(function_signature_item name: (_) @name parameters: (_) @parameters return_type: (_)? @returns)
  @function
(struct_item name: (_) @name) @class
(enum_item name: (_) @name) @class
(union_item name: (_) @name) @class
(trait_item name: (_) @name bounds: (_)? @bases) @interface
(impl_item trait: (_)? @bases type: (_) @name) @impl
(mod_item name: (_) @name body: (_)) @module
(macro_definition name: (_) @name) @function
(call_expression function: (_) @callee arguments: (_) @arguments) @call
(macro_invocation macro: (_) @callee) @call
(let_declaration pattern: (identifier) @name type: (_)? @type value: (_)? @value) @variable
(let_declaration pattern: (mut_pattern (identifier) @name) type: (_)? @type value: (_)? @value)
  @variable
(parameter pattern: (identifier) @name type: (_) @type) @variable
(parameter pattern: (mut_pattern (identifier) @name) type: (_) @type) @variable
(closure_parameters (identifier) @name @variable)
(for_expression pattern: (identifier) @name) @variable
(field_declaration name: (_) @name type: (_) @type) @field
(use_declaration) @import

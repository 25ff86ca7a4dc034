(function_definition type: (_) @returns declarator: (reference_declarator
  (function_declarator declarator: (_) @name parameters: (_) @parameters))) @function
(class_specifier name: (_) @name (base_class_clause)? @bases body: (_)) @class
(struct_specifier name: (_) @name (base_class_clause)? @bases body: (_)) @class
(function_definition type: [(class_specifier) (struct_specifier)] declarator: (identifier) @name)
  @class
(namespace_definition name: (_) @name) @module
(new_expression type: (_) @callee arguments: (_)? @arguments) @new
(parameter_declaration type: (_) @type declarator: (reference_declarator (identifier) @name))
  @variable
(declaration type: (_) @type declarator: (init_declarator declarator:
  (reference_declarator (identifier) @name) value: (_) @value)) @variable
(field_declaration type: (_) @type declarator: (field_identifier) @name) @field
(field_declaration type: (_) @type declarator: (pointer_declarator declarator: (_) @name)) @field
(field_declaration type: (_) @type declarator: (reference_declarator (field_identifier) @name))
  @field
(field_declaration type: (_)? @returns declarator: (function_declarator declarator: (_) @name
  parameters: (_) @parameters) default_value: (_)) @function

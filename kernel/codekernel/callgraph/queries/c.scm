(function_definition type: (_)? @returns
  declarator: (function_declarator declarator: (_) @name parameters: (_) @parameters)) @function
(function_definition type: (_) @returns declarator: (pointer_declarator
  declarator: (function_declarator declarator: (_) @name parameters: (_) @parameters))) @function
(function_definition declarator: (pointer_declarator declarator: (pointer_declarator
  declarator: (function_declarator declarator: (_) @name parameters: (_) @parameters)))) @function
(preproc_function_def name: (_) @name parameters: (_) @parameters) @function
(call_expression function: (_) @callee arguments: (_) @arguments) @call
(declaration type: (_) @type declarator: (identifier) @name) @variable
(declaration type: (_) @type declarator: (pointer_declarator declarator: (identifier) @name))
  @variable
(declaration type: (_) @type declarator: (init_declarator declarator: (identifier) @name
  value: (_) @value)) @variable
(declaration type: (_) @type declarator: (init_declarator declarator:
  (pointer_declarator declarator: (identifier) @name) value: (_) @value)) @variable
(parameter_declaration type: (_) @type declarator: (identifier) @name) @variable
(parameter_declaration type: (_) @type declarator: (pointer_declarator (identifier) @name))
  @variable
(parameter_declaration declarator: (function_declarator declarator: (parenthesized_declarator
  (pointer_declarator declarator: (identifier) @name)))) @variable

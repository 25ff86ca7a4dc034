(class_declaration name: (_) @name (class_heritage)? @bases) @class
(variable_declarator name: (identifier) @name value: (_)? @value) @variable
(formal_parameters (identifier) @name @variable)
(field_definition property: (_) @name
  value: (arrow_function parameters: (_)? @parameters)) @function
(field_definition property: (_) @name value: (_)? @value) @field

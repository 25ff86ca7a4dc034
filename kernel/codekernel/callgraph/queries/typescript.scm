(function_declaration name: (_) @name parameters: (_) @parameters return_type: (_) @returns)
  @function
(method_definition name: (_) @name parameters: (_) @parameters return_type: (_) @returns) @function
(variable_declarator name: (identifier) @name
  value: (arrow_function parameters: (_)? @parameters return_type: (_) @returns)) @function
(class_declaration name: (_) @name (class_heritage)? @bases) @class
(abstract_class_declaration name: (_) @name (class_heritage)? @bases) @class
(interface_declaration name: (_) @name (extends_type_clause)? @bases) @interface
(method_signature name: (_) @name parameters: (_) @parameters return_type: (_)? @returns) @function
(abstract_method_signature name: (_) @name parameters: (_) @parameters) @function
(internal_module name: (_) @name) @module
(public_field_definition name: (_) @name
  value: (arrow_function parameters: (_)? @parameters)) @function
(public_field_definition name: (_) @name type: (_)? @type value: (_)? @value) @field
(property_signature name: (_) @name type: (_)? @type) @field
(property_signature name: (_) @name
  type: (type_annotation (function_type parameters: (_) @parameters))) @function
(type_alias_declaration name: (_) @name value: (object_type)) @interface
(variable_declarator name: (identifier) @name type: (_)? @type value: (_)? @value) @variable
(required_parameter pattern: (identifier) @name type: (_)? @type) @variable
(optional_parameter pattern: (identifier) @name type: (_)? @type) @variable
(required_parameter (accessibility_modifier) pattern: (identifier) @name type: (_)? @type) @field

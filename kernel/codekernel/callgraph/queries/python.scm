(function_definition name: (_) @name parameters: (_) @parameters return_type: (_)? @returns)
  @function
(class_definition name: (_) @name superclasses: (_)? @bases) @class
(call function: (_) @callee arguments: (_) @arguments) @call
(decorator [(identifier) (attribute)] @callee) @call
(assignment left: (identifier) @name type: (_)? @type right: (_)? @value) @variable
(assignment left: (pattern_list (identifier) @name)) @variable
(named_expression name: (_) @name value: (_) @value) @variable
(assignment left: (attribute object: (identifier) @receiver attribute: (_) @name)
  type: (_)? @type right: (_)? @value) @field
(class_definition body: (block (expression_statement
  (assignment left: (identifier) @name type: (_)? @type right: (_)? @value) @field)))
(typed_parameter (identifier) @name type: (_) @type) @variable
(typed_default_parameter name: (identifier) @name type: (_) @type) @variable
(default_parameter name: (identifier) @name) @variable
(parameters (identifier) @name @variable)
(lambda_parameters (identifier) @name @variable)
(for_statement left: (identifier) @name) @variable
(with_item value: (as_pattern (_) @value alias: (as_pattern_target (identifier) @name))) @variable
(import_statement) @import
(import_from_statement) @import

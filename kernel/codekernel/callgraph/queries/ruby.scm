(method name: (_) @name parameters: (_)? @parameters) @function
(singleton_method name: (_) @name parameters: (_)? @parameters) @function
(class name: (_) @name superclass: (superclass (_) @bases)?) @class
(module name: (_) @name) @module
(call receiver: (_) @receiver method: (_) @name arguments: (_)? @arguments) @call
(call !receiver method: (identifier) @name arguments: (_)? @arguments) @call
(super) @call @callee
(assignment left: (identifier) @name right: (_) @value) @variable
(assignment left: (instance_variable) @name right: (_) @value) @field
(method_parameters (identifier) @name @variable)
(block_parameters (identifier) @name @variable)
(call method: (identifier) arguments: (argument_list (string))) @import

(jsx_opening_element name: (_) @callee) @call
(jsx_self_closing_element name: (_) @callee) @call

"""One loop for conversations and the agent: call the model, run its tool calls, call it again.

Modules, in the order data meets them:

    loop.py               the loop, its task, its calls of the model, repairs, the budget of tokens
    text_tool_parser.py   the text of a reply as blocks, while it streams
    text_tool_calls.py    the syntaxes of tool calls that a model writes as text
    search_tool.py        the search tool of a conversation, called natively or by a fence
"""

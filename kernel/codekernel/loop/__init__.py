"""One loop for conversations and the agent: call the model, run its tool calls, call it again.

Modules, in the order data meets them:

    loop.py               the loop, the task it runs, and the repair of refused requests
    token_budget.py       how many tokens a request may have, and which texts fit
    model_call.py         one request: what is sent, received and used, as events
    text_tool_parser.py   the text of a reply as blocks, while it streams
    text_tool_calls.py    the syntaxes of tool calls that a model writes as text
    search_tool.py        the search tool of a conversation, called natively or by a fence
"""

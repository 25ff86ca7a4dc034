"""One model loop for conversations and the agent.

The token budget, one model call as events, and the tool calls a model writes.

Modules, in the order data meets them:

    text_tool_calls.py
    text_tool_parser.py
    token_budget.py
    search_tool.py
    model_call.py
"""

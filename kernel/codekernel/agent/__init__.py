"""The coding agent: its tool-calling loop, its turns in a conversation, its saved sessions.

Undo. Knows no wire protocol; adapters translate its events.

Modules, in the order data meets them:

    message_stream.py
    loop.py
    system_prompt.py
    transcript.py
    agent_thread.py
    turns.py
    session_file.py
    session_store.py
    undo.py
    plan.py
    tool_policy.py
    tool.py
    registry.py
"""

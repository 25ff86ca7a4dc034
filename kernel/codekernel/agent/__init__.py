"""The coding agent: its task for the loop, its turns in conversations, its sessions and undo.

It knows no wire protocol; adapters translate its events.

Modules, in the order data meets them:

    turns.py            agent turns in conversations: begin, permissions, undo, delete
    turn_workspace.py   the session, journal and root of a turn; undoing its changes
    agent_thread.py     runs an agent on its own thread; its events, and messages made of them
    loop.py             the agent's task for the loop, and the sessions that it runs in
    system_prompt.py    the system prompt and the specifications of the tools
    transcript.py       the messages of a session, masked and truncated to the budget
    registry.py         tools by name: decode arguments, check permissions, run
    tool.py             what a tool is, its context, its outcome; the plan of tasks
    tool_policy.py      permissions, policies, limits and the error of a failed call
    code_queries.py     questions about places in the code, as agents and people ask them
    change_impact.py    what a change of places reaches: callers, and tests by evidence
    permission_rules.py  what a person has allowed for good; edits that wait for a person
    session_store.py    sessions on disk, and the format of their files

Packages: ``tools`` (what a model may call) and ``workspace`` (files, processes, undo journal).
"""

"""The Agent Client Protocol, both ways, on the official SDK.

Nothing here is imported before an ACP agent is used, or ``codekernel acp`` is: the SDK and pydantic
take 34 MB. Modules, in the order data meets them:

  codekernel drives an agent
    agent_process.py  the agent as a child process, within limits; lines to the SDK's event loop
    connection.py     the SDK's client over it, on an event loop of its own
    update_reader.py  what the agent tells -> steps of a turn
    session.py        a session: its turns as messages of document 004, permissions, cancelling
    turn_changes.py   what a turn changed: listed, and recorded for undo
    backend.py        all of it as an agent of the sync engine

  an editor uses our agent
    stdio_server.py   stdin and stdout of ``codekernel acp``
    agent.py          the requests of an editor, answered from the kernel's agent sessions
    editor_session.py an open session: events shown, permissions asked
    update_writer.py  messages -> updates
"""

"""The sync engine of document 004: keeps agent sessions, runs their agents, tells every device.

Modules, in the order data meets them:

    agents.py        what an agent is to the engine, agents by kind, the running ones
    database.py      userData/agent/sync.db: opening, damage, the lock; the id of the machine
    store.py         states, messages and the log of permissions
    state.py         numbered events with replay; store and events, changed together under one lock
    permissions.py   the permission desk: the first answer wins
    runner.py        runs the messages of one session, one after another; the sessions that work
    turn_feed.py     what is shown of a running turn, for any number of windows
    own_agent.py     our own agent as a backend
    session_folder.py  questions about the folder of a session
    engine.py        AgentSessions of the kernel
    question_turns.py  questions that are answered without their window
    conversation_turns.py  turns that windows begin, as sessions of the engine
    kernel_agents.py  opens the engine with the kinds of agents that there are
"""

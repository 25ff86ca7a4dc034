"""Answer questions about a repository, and keep the history of conversations.

Modules, in the order data meets them:

    conversations.py    accepts, stops, recovers and deletes; one turn per conversation at a time
    turn.py             a running turn: journal, errors, cancellation, result; answering a question
    repository_access.py  the repository as conversations and agents need it
    retriever.py        the searches of a round, what a question names with an @, whole definitions
    prompt_builder.py   the messages of a request: rules, past turns, excerpts within the budget
    citations.py        parses the citations of an answer and verifies them
    history.py          the history files, edits that wait for the disk, copies for PocketRAG
    turn_store.py       a turn built from its events, its journal, and saving it exactly once
    archive.py          lists and reads the saved conversations of a repository
"""

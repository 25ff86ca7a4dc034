"""Answer questions about a repository, and keep the history of conversations.

Modules, in the order data meets them:

    chat_services.py    opens models, conversations and the usage ledger of a userData folder
    conversations.py    accepts, stops, recovers and deletes; one turn per conversation at a time
    turn.py             a running turn: journal, errors, cancellation, result
    answer_task.py      the task of a question for the loop: prompt, search tool, end
    retriever.py        runs the searches of a round and expands hits to definitions
    prompt_builder.py   the messages of a request: rules, past turns, excerpts within the budget
    citations.py        parses the citations of an answer and verifies them
    turn_builder.py     builds a turn from its events, for history, recovery and views
    history.py          the history files, the turn journals, and edits that wait for the disk
    turn_store.py       saves a finished turn exactly once: history, ledger, journal
    save_retry.py       retries what the disk has refused
    archive.py          lists and reads the saved conversations of a repository
    history_mirror.py   copies histories into repositories for PocketRAG's front end
"""

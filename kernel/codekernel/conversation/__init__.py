"""Answer questions about a repository.

Accept a turn, run rounds of retrieval, stream an answer with checked citations, and keep the
history.

Modules, in the order data meets them:

    chat_services.py
    conversations.py
    turn.py
    answer_task.py
    retriever.py
    prompt_builder.py
    citations.py
    turn_builder.py
    history.py
    turn_store.py
    archive.py
    history_mirror.py
"""

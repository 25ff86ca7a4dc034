"""Values and pure functions shared by every layer; imports the standard library only.

Modules, in the order data meets them:

    concurrency.py
    garbage_collection.py
    child_process.py
    chat.py
    turn.py
    turn_events.py
    call_graph.py
    index.py
    source_files.py
    settings.py
    lexical_tokenizer.py
    lexical_tokenizer_unicode.py
    untrusted_text.py
    diff.py
    native_memory.py
"""

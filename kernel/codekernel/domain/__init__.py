"""Values and pure functions shared by every layer; imports the standard library only.

Modules, in the order data meets them:

    concurrency.py                 cancel tokens, pausing, throttling, lazy and shared values
    garbage_collection.py          tuning of Python's collector
    native_memory.py               tuning of glibc's allocator
    child_process.py               starting our own modules as child processes
    word_sets.py                   sets of words written as one text
    settings.py                    the settings in use
    untrusted_text.py              JSON depth limit, escapes for terminals, paths as text
    confinement/                   paths that cannot leave a root folder
    source_files.py                files found or skipped, language detection (languages.txt)
    index.py                       chunks, files and status of an index
    lexical_tokenizer.py           text -> terms of lexical search
    lexical_tokenizer_unicode.py   the same for other scripts than ASCII
    call_graph.py                  definitions, calls, call chains
    chat.py                        requests to a chat model and its stream
    turn.py                        a turn of a conversation
    turn_events.py                 the events of a turn
    diff.py                        line diffs as jsdiff makes them
"""

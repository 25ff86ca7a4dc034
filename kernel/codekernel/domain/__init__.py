"""Values and pure functions shared by every layer; imports the standard library only.

Modules, in the order data meets them:

    concurrency.py             cancel tokens, pausing, throttling, lazy and shared values
    progress.py                how work that is waited for tells how far it is
    memory.py                  tuning of the garbage collector and of glibc's allocator
    child_process.py           starting our own modules as child processes
    child_requests.py          requests and replies on the side of such a process
    settings.py                the settings in use
    untrusted_text.py          JSON depth limit, escapes for terminals, paths as text
    confined_path.py           paths that cannot leave a root folder, by links or swapped folders
    folder_handle.py           an open folder, with openat
    folder_handle_windows.py   the same for Windows
    index.py                   source files, chunks and status of an index (languages.txt)
    lexical_tokenizer.py       text -> terms of lexical search
    call_graph.py              definitions, calls, call chains
    chat.py                    requests to a chat model and its stream
    turn.py                    a turn of a conversation
    turn_events.py             the events of a turn
    agent_sessions.py          agent sessions as every device sees them
    diff.py                    line diffs as jsdiff makes them
"""

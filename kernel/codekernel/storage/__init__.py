"""Everything kept on disk under userData.

Files written atomically, the vault, the index of each repository, conversation histories.

Modules, in the order data meets them:

    user_data.py
    os_errors.py
    safe_files.py
    quarantine.py
    file_locks.py
    engine_errors.py
    sqlite_files.py
    conversation_files.py
    index_store.py
    index_examination.py
"""

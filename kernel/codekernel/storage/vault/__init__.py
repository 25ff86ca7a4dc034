"""The encrypted database of API keys, repositories and usage, its key, and its recovery.

Modules, in the order data meets them:

    os_keyring.py
    vault_key.py
    encrypted_database.py
    recovery.py
    opening.py
    vault.py
    tables.py
"""

"""The encrypted database of API keys, repositories and usage, its key, and its recovery.

Modules, in the order data meets them:

    vault_key.py            finding or creating the key of the vault; the OS keyring
    encrypted_database.py   the SQLCipher database: connections, migrations, errors
    opening.py              opening, quarantining, recovering and refilling the vault
    vault.py                queries, transactions, repair; API keys, repositories, usage
    merging.py              the rows of another vault
"""

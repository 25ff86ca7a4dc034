"""The encrypted database of API keys, repositories and usage, its key, and its recovery.

Modules, in the order data meets them:

    os_keyring.py           secrets in the keyring of the operating system
    vault_key.py            finding or creating the key of the vault
    encrypted_database.py   the SQLCipher database: connections, migrations, errors
    recovery.py             rows of a damaged or foreign database; the list of repositories
    opening.py              opening, quarantining and refilling the vault
    vault.py                the vault: queries, transactions, repair
    tables.py               API keys, repositories, usage
"""

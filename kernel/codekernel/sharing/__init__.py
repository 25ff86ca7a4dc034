"""What a team shares: vectors of texts that one of them has embedded, in a store of their own.

object_store.py    a folder or a bucket: list, read, write, delete, within a time; causes in words
vector_pack.py     vectors as one immutable object: keys, rows, and what proves each of them
store_backoff.py   how long a store that failed is left alone
pack_index.py      which pack has which text
contributions.py   what this machine contributes: an outbox on disk, and the thread that sends it
vector_speeds.py   whether computing a vector here is quicker than fetching it
team_vectors.py    the packs of one model: look texts up
served_models.py   what the team has noted of remote models
team.py            the settings and secrets -> the store; what this machine has contributed
"""

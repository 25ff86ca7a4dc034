"""What a team shares: vectors of texts that one of them has embedded, in a store of their own.

object_store.py    a folder or a bucket: list, read, write, delete, within a time; causes in words
vector_pack.py     vectors as one immutable object: keys, rows, and what proves each of them
pack_index.py      which pack has which text
team_vectors.py    the packs of one model: look texts up, contribute new ones
team.py            the settings and secrets -> the store; what this machine has contributed
"""

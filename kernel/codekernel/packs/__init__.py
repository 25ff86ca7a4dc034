"""Whole indexes that a team shares: built by one, usually CI, opened by everybody.

pack_archive.py    one object: parts, a manifest, and what proves them
signatures.py      which member of the team made a pack, as minisign says it
index_parts.py     an index on disk -> parts; parts -> an index at another place
commits.py         which commits are near; the files of one of them
index_packs.py     the packs in the store of a team: names, list, send, fetch, delete
pack_opening.py    a repository that is opened for the first time takes the nearest pack
pack_building.py   index a commit, and send the pack
"""

"""Keep the index of a repository in step with its files.

RepositoryIndex opens the store and runs an IndexWorker on it: a state machine (IndexState) with an
inbox (WorkRequest) that scans, chunks and writes on one thread, and embeds on another.

    STARTING -> REBUILDING -> INDEXING <-> IDLE       with a paused or embedding index in between
    any of them -> FAILED -> REBUILDING               a full disk or a missing folder, after a wait
    damage -> a new worker on a store rebuilt from the files
    READ_ONLY -> STARTING                             when the process that writes the index ends

Modules, in the order data meets them:

    folder_preview.py    what would be indexed of a folder, before it is
    index_plan.py        what the settings ask of an index; how long its threads wait
    repository_index.py  the index of one open repository: open, replace, status, progress
    damage_report.py     what is said of a damaged index while it is rebuilt
    team_index.py        an index that a team mate has built, taken over before the first scan
    files_elsewhere.py   files that a team's base has, which are not indexed here
    index_state.py       states, inboxes and events of its two threads; the progress of each file
    index_worker.py      the state machine on one opened store
    indexer.py           scan, index changed paths, rechunk, as generators of events
    outcome_writer.py    catalog and lexical index, written so that a crash loses nothing
    chunk_pool.py        read files, and chunk them in child processes ahead of the writer
    chunk_worker.py      what such a process runs
    store_reopening.py   a store that can do more, once another process has ended
    embed_worker.py      the thread that embeds
    model_swap.py        which vector indexes are searched while the settings change
    vector_index_opening.py  a vector index with its model, from here or from elsewhere
    unused_vectors.py    what no config uses any more is deleted
    remote_indexing.py   consent and waiting, where the model is remote
    vector_index.py      one model and its vectors; how many texts are embedded at once
    known_vectors.py     vectors of other indexes and of a team, which need not be computed
    seed_trial.py        whether vectors that came from elsewhere are those of this model
    battery.py           whether the machine runs on its battery
    index_map.py         what is indexed and skipped, folder by folder
"""

"""The base of a team: the chunks of many repositories in one table, searched where it lies.

base_place.py        where a base lies in the store; whether the store keeps what it acknowledges
manifest.py          what one build of a base holds, by repository
term_statistics.py   how many chunks have a term
part_building.py     some files -> rows, file list and term counts: the work of one worker
part_worker.py       such a worker as a child process
build_engines.py     where workers run: processes of this machine
ray_engine.py        the same on a cluster of Ray
sources.py           repositories -> parts to build
base_building.py     parts -> table -> indexes -> a published tag
base_reader.py       a base at its tag; one repository of it, with a deadline
base_session.py      the base of an open repository: off, away or open
base_opening.py      the base of the settings, and a repository in it
bm25.py              scores of two indexes that can be compared
overlay_state.py     which files of the base are hidden, and how terms weigh
overlay_catalog.py   files and chunks of both
overlay_view.py      one search of both
"""

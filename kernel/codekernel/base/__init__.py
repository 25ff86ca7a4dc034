"""The base of a team: the chunks of many repositories in one table, searched where it lies.

base_place.py        where a base lies in the store; whether the store keeps what it acknowledges
manifest.py          what one build of a base holds, by repository
term_statistics.py   how many chunks have a term
part_building.py     some files -> rows, file list and term counts: the work of one worker
part_worker.py       such a worker as a child process
build_engines.py     where workers run: processes of this machine
sources.py           repositories -> parts to build
base_building.py     parts -> table -> indexes -> a published tag
"""

"""Searching while files change: ``live.py --repos DIR [--repository NAME] [--edits N]``.

A real kernel process on a copy of one repository; one window is searched without pause by a thread
of its own, another is used to look. Measured: from a save to the first reply that has it, and to
its vectors; how long searches take when all is quiet and while a mass change is indexed; what
10,000 edits of single files leave on disk; and a branch switch of 5,000 files (live_switch.py).
"""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

import live_edits
import live_mass
import live_saves
import live_switch
import rivals
from index_disk import VECTOR_BYTES, tree_bytes, wait_until_settled
from kernel_talk import KernelTalk, index_folder
from rival_venv import ROOT
from verdicts import verdict

LOOKING, SEARCHING = 1, 2  # the two windows
VERSIONS_TARGET = 10
DISK_TARGET = 1.5  # of source + vectors


def main() -> int:
    """Print the figures; 0 if all targets are met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bench", type=Path, default=ROOT.parent / "shared" / "bench")
    parser.add_argument("--repos", type=Path, required=True)
    parser.add_argument("--repository", default="pydantic")
    parser.add_argument("--saves", type=int, default=200)
    parser.add_argument("--edits", type=int, default=10_000)
    parser.add_argument("--under-way", type=int, default=4, help="files edited at the same time")
    parser.add_argument("--switched", type=int, default=5_000, help="files of the branch switch")
    options = parser.parse_args()
    queries = rivals.queries(options.bench, options.repository)
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        repo = root / options.repository
        shutil.copytree(options.repos / options.repository, repo, symlinks=True)
        with KernelTalk(root) as talk:
            talk.register(repo, LOOKING, SEARCHING)
            status = talk.wait_for_idle(LOOKING)
            print(f"live: {repo.name}, {status['files']} files, {status['chunks']} chunks\n")
            met = live_saves.measure_saves(talk, repo, queries, options.saves)
            met += live_mass.measure_mass_change(talk, repo, queries)
            met += _edits(talk, root, repo, options)
    if options.switched:
        with tempfile.TemporaryDirectory() as name:
            met += live_switch.measure_branch_switch(Path(name), options.switched)
    return 0 if all(met) else 1


def _edits(talk: KernelTalk, root: Path, repo: Path, options: argparse.Namespace) -> list[bool]:
    """What many small changes leave, once the kernel has had time to tidy up."""
    before = wait_until_settled(index_folder(root))
    seconds = live_edits.edit_files(talk, repo, options.edits, options.under_way, LOOKING)
    talk.wait_for_idle(LOOKING)
    after = wait_until_settled(index_folder(root))
    status = talk.status(LOOKING)
    allowed = tree_bytes(repo) + int(str(status["chunks"])) * VECTOR_BYTES
    print(
        f"\n{options.edits} edits of single files, {options.under_way} under way: "
        f"{seconds:.1f} s, {options.edits / seconds:.1f} a second; {status['chunks']} chunks\n"
        f"  before: {before.sentence()}\n  after:  {after.sentence()}\n"
        f"  memory of the kernel: {talk.child.resident_kilobytes() / 1e3:.0f} MB"
    )
    return [
        verdict("LanceDB versions after idle", after.versions, VERSIONS_TARGET),
        verdict("disk / (source + vectors of chunks)", after.total / allowed, DISK_TARGET, "x"),
    ]


if __name__ == "__main__":
    sys.exit(main())

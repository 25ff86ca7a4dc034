"""A branch switch of thousands of files, there and back, in a repository of 20,000 chunks.

Every file differs between the two branches. Measured: from the end of ``git checkout`` until the
words of twenty files are found, and until all is idle; searches meanwhile; how many texts were
embedded for the way back, which are all known; memory while idle, and after the repository is
closed.
"""

import re
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import scale_tree
from kernel_talk import KernelTalk
from live_files import Words
from live_saves import Searches
from rival_tables import percentile
from verdicts import verdict

LOOKING, SEARCHING = 1, 2
CHUNKS_PER_FILE = 4
SEED = 14
QUERIES = 200
# Each probe is a search of its own: 500 of them were 2 to 4 s of the 11 that were measured.
PROBE_STEP = 250
TIMEOUT_SECONDS = 120.0
LOOK_SECONDS = 0.02
# Tidying begins two seconds after the last work, and says then how many texts were embedded.
TIDY_SECONDS = 4.0
WORDS_TARGET_SECONDS, SEARCH_TARGET, MEMORY_TARGET_MB = 3.0, 2.0, 250.0
COUNTED = re.compile(r"index \S+: (\d+) texts embedded, (\d+) taken over")
BRANCHES = ("other", "main")


def measure_branch_switch(root: Path, files: int) -> list[bool]:
    """Index the first branch, then switch twice."""
    repo = root / "switched"
    words = _make_branches(repo, files)
    probes = words[::PROBE_STEP]
    met: list[bool] = []
    with KernelTalk(root) as talk:
        talk.register(repo, LOOKING, SEARCHING)
        status = talk.wait_for_idle(LOOKING)
        time.sleep(TIDY_SECONDS)
        print(f"\nbranches of {files} files, {status['chunks']} chunks")
        queries = scale_tree.queries(QUERIES)
        quiet = _search_quietly(talk, queries)
        memory = talk.child.resident_kilobytes() / 1e3
        met.append(verdict("memory of the idle kernel", memory, MEMORY_TARGET_MB, " MB"))
        for branch in BRANCHES:
            embedded = _count_embedded(root)
            with Searches(talk, queries) as searches:
                began = time.perf_counter()
                _git(repo, "checkout", "--quiet", branch)
                switched = time.perf_counter()
                found = _wait_for_words(talk, probes, are_there=branch == "other") - switched
                talk.wait_for_idle(LOOKING)
                idle = time.perf_counter() - switched
            time.sleep(TIDY_SECONDS)
            embedded = _count_embedded(root) - embedded
            print(
                f"switch to {branch}: git took {switched - began:.2f} s, all words after"
                f" {found:.2f} s, idle after {idle:.2f} s; {embedded} texts embedded; meanwhile"
                f" {searches.sentence()}"
            )
            met.append(verdict(f"words of {branch}", found, WORDS_TARGET_SECONDS, " s"))
            for share in (0.5, 0.95):
                ratio = percentile(searches.seconds, share) / percentile(quiet, share)
                name = f"search p{share * 100:.0f} meanwhile / quiet"
                met.append(verdict(name, ratio, SEARCH_TARGET, "x"))
        met.append(verdict("texts embedded for the way back", embedded, 0))
        talk.close(LOOKING, SEARCHING)
        time.sleep(TIDY_SECONDS)
        closed = talk.child.resident_kilobytes() / 1e3
        print(f"memory: {memory:.0f} MB idle, {closed:.0f} MB after the repository was closed")
    return met


def _make_branches(repo: Path, files: int) -> list[str]:
    """Make a repository of two branches; return the word of each file of the second."""
    scale_tree.generate(repo, files, files * CHUNKS_PER_FILE)
    _git(repo, "init", "--quiet", "--initial-branch=main")
    _commit(repo)
    _git(repo, "checkout", "--quiet", "-b", "other")
    drawn, words = Words(SEED), []
    for file in sorted(each for each in repo.rglob("*_*.*") if each.is_file()):
        words.append(drawn.next())
        with file.open("a", encoding="utf-8") as content:
            content.write(f"\n{words[-1]}\n")
    _commit(repo)
    _git(repo, "checkout", "--quiet", "main")
    return words


def _commit(repo: Path) -> None:
    _git(repo, "add", "--all")
    author = ("-c", "user.name=bench", "-c", "user.email=bench@localhost")
    _git(repo, *author, "commit", "--quiet", "--message=all")


def _git(repo: Path, *words: str) -> None:
    command = ["git", "-C", str(repo), *words]
    subprocess.run(command, check=True)


def _search_quietly(talk: KernelTalk, queries: Sequence[str]) -> list[float]:
    with Searches(talk, queries) as searches:
        while len(searches.seconds) < QUERIES:
            time.sleep(LOOK_SECONDS)
    return searches.seconds


def _wait_for_words(talk: KernelTalk, words: Sequence[str], *, are_there: bool) -> float:
    """Look until every word is found, or none is; return when that was."""
    started, open_words = time.perf_counter(), list(words)
    while open_words:
        if time.perf_counter() - started > TIMEOUT_SECONDS:
            raise SystemExit(f"{len(open_words)} words are not as they should be.")
        hits = talk.search(open_words[-1], LOOKING, 1)
        if any(open_words[-1] in str(hit["content"]) for hit in hits) is are_there:
            open_words.pop()
        else:
            time.sleep(LOOK_SECONDS)
    return time.perf_counter()


def _count_embedded(root: Path) -> int:
    """Return how many texts the kernel says it has embedded."""
    log = root / "userData" / "logs" / "kernel.log"
    text = log.read_text(encoding="utf-8") if log.exists() else ""
    return sum(int(each[1]) for each in COUNTED.finditer(text))

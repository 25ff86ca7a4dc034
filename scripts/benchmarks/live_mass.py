"""How long searches take when all is quiet, and while a mass change is indexed."""

import time
from collections.abc import Sequence
from pathlib import Path

from kernel_talk import KernelTalk
from live_files import Words, editable, function
from live_saves import Done, Searches
from rival_tables import percentile

LOOKING, SEARCHING = 1, 2
FILES = 500
QUIET_SEARCHES = 300
SEED = 12


def measure_mass_change(talk: KernelTalk, repo: Path, queries: Sequence[str]) -> list[bool]:
    """Rewrite many files at once, as a checkout of another branch does; there is no target."""
    talk.wait_for_idle(LOOKING)
    quiet = []
    for number in range(QUIET_SEARCHES):
        started = time.perf_counter()
        talk.search(queries[number % len(queries)], SEARCHING)
        quiet.append(time.perf_counter() - started)
    done, words, files = Done(talk), Words(SEED), editable(repo)[:FILES]
    with Searches(talk, queries) as searches:
        started = time.perf_counter()
        for file in files:
            old = file.read_text(encoding="utf-8", errors="replace")
            file.write_text(function(words.next()) + old, encoding="utf-8")
        written = time.perf_counter()
        last = max(done.after(file.relative_to(repo).as_posix(), started) for file in files)
    print(
        f"\n{len(files)} files rewritten at once, in {written - started:.2f} s; "
        f"the last is done {last - written:.2f} s after that; meanwhile {searches.sentence()}"
    )
    for share in (0.5, 0.95):
        idle, busy = (percentile(times, share) * 1e3 for times in (quiet, searches.seconds))
        print(
            f"  search p{share * 100:.0f}: {idle:.1f} ms quiet ({QUIET_SEARCHES} searches), "
            f"{busy:.1f} ms meanwhile: {busy / idle:.1f}x"
        )
    return []

"""What ``codekernel eval --tune`` gains: ``history_tuning.py FOLDERS MIRRORS [--commits N]``.

FOLDERS has one folder a repository, called OWNER+NAME, as ``ranking_lists.py`` exports them to
``WORK/folders``; MIRRORS has their git directories. Repositories with fewer commits than asked are
left out.
"""

import argparse
import sys
from pathlib import Path
from statistics import fmean

from codekernel.domain.concurrency import CancelToken
from codekernel.search.evaluation import mine_questions
from codekernel.search.tuning import learn_weights
from ranking_lists import read_commits

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
from kernel_searchers import Static


def main() -> None:
    """Print a row for each repository, and what all gain."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", type=Path)
    parser.add_argument("mirrors", type=Path)
    parser.add_argument("--commits", type=int, default=500)
    options = parser.parse_args()
    searcher, gains = Static(), []
    print("| repository | before | gain on those set aside | kept |\n|---|---|---|---|")
    for folder in sorted(options.folders.glob("*+*")):
        paths = {it.relative_to(folder).as_posix() for it in folder.rglob("*") if it.is_file()}
        commits = read_commits(options.mirrors / folder.name / "repo")
        mined = mine_questions(commits, paths.__contains__, options.commits)
        if len(mined) < options.commits:
            continue
        index = searcher.index(folder)
        learned = learn_weights(
            [(each.text, each.paths) for each in mined], index[1].prepare, CancelToken()
        )
        searcher.close(index)
        gain = learned.gain
        gains.append((gain.mean, learned.holds))
        interval = f"{gain.mean:+.3f} ({gain.low:+.3f} to {gain.high:+.3f})"
        kept = "yes" if learned.holds else "no"
        print(f"| {folder.name} | {learned.before:.3f} | {interval} | {kept} |", flush=True)
    kept_gains = [gain for gain, holds in gains if holds]
    print(f"\n{len(gains)} repositories: {fmean(gain for gain, _ in gains):+.4f} if all were kept;")
    print(f"{len(kept_gains)} are, and gain {fmean(kept_gains or [0.0]):+.4f}")


if __name__ == "__main__":
    main()

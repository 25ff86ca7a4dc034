"""What each constant is worth, and whether the choice of their values holds for other languages."""

import argparse
import subprocess
from collections.abc import Callable
from statistics import fmean

from quality_replay import Replayed, Row, replayed
from quality_settings import ABLATIONS, AS_IT_IS, described, grid
from rival_venv import ROOT


def ablations(options: argparse.Namespace) -> None:
    """Print the table of docs/search.md."""
    found = replayed(
        options.bench, options.repos, options.only, list(ABLATIONS.values()), chinese=True
    )
    print(f"\nNDCG@10 with one thing switched off, at {_commit()}:\n")
    print("| switched off | all | file name not in query | symbol | Chinese |")
    print("|---|---|---|---|---|")
    before = _figures(found, AS_IT_IS)
    for name, setting in ABLATIONS.items():
        after = _figures(found, setting)
        cells = [
            f"{value:.3f}" + ("" if setting == AS_IT_IS else f" ({value - old:+.3f})")
            for value, old in zip(after, before, strict=True)
        ]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def cross_validation(options: argparse.Namespace) -> None:
    """For each language choose on all others; what that scores on the one left out."""
    choices = grid()
    found = replayed(
        options.bench, options.repos, options.only, [AS_IT_IS, *choices], chinese=False
    )
    languages = sorted({row.language for row in found.rows})
    best = max(choices, key=found.overall)
    held_out: dict[str, float] = {}
    print(f"\nleave one language out, {len(choices)} combinations, at {_commit()}:\n")
    print("| left out | chosen on the others | scores there | as it is |")
    print("|---|---|---|---|")
    for language in languages:
        here, elsewhere = _is(language), _is_not(language)
        chosen = max(choices, key=lambda it, w=elsewhere: found.overall(it, w))
        score = found.overall(chosen, here)
        held_out |= {row.repo: _repo(found, chosen, row.repo) for row in found.rows if here(row)}
        as_it_is = found.overall(AS_IT_IS, here)
        print(f"| {language} | {described(chosen)} | {score:.3f} | {as_it_is:.3f} |", flush=True)
    print(
        f"\nmean over repositories: held out {fmean(held_out.values()):.4f}, "
        f"as it is {found.overall(AS_IT_IS):.4f}, "
        f"best in sample {found.overall(best):.4f} ({described(best)})"
    )


def _figures(found: Replayed, setting: object) -> tuple[float, float, float, float]:
    return (
        found.overall(setting),
        found.plain(setting, lambda row: not row.named),
        found.plain(setting, lambda row: row.category == "symbol"),
        found.overall(setting, chinese=True),
    )


def _repo(found: Replayed, setting: object, repo: str) -> float:
    return found.overall(setting, lambda row: row.repo == repo)


def _is(language: str) -> Callable[[Row], bool]:
    return lambda row: row.language == language


def _is_not(language: str) -> Callable[[Row], bool]:
    return lambda row: row.language != language


def _commit() -> str:
    """The commit that is measured; a mark says that files have changed since."""
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    return done.stdout.strip() or "an unknown commit"

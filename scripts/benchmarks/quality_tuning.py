"""What each ranking constant is worth, and whether its value holds for other languages."""

import argparse
import subprocess
from collections.abc import Callable
from functools import partial
from statistics import fmean

from quality_replay import Replay, Row, replay
from quality_settings import ABLATIONS, DEFAULTS, Setting, describe, list_grid
from rival_venv import ROOT


def print_ablations(options: argparse.Namespace) -> None:
    """Print the table of docs/search.md."""
    found = replay(
        options.bench, options.repos, options.only, list(ABLATIONS.values()), chinese=True
    )
    print(f"\nNDCG@10 with one thing switched off, at {_describe_commit()}:\n")
    print("| switched off | all | file name not in query | symbol | Chinese |")
    print("|---|---|---|---|---|")
    before = _compute_figures(found, DEFAULTS)
    for name, setting in ABLATIONS.items():
        after = _compute_figures(found, setting)
        cells = [
            f"{value:.3f}" + ("" if setting == DEFAULTS else f" ({value - old:+.3f})")
            for value, old in zip(after, before, strict=True)
        ]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def print_cross_validation(options: argparse.Namespace) -> None:
    """Choose values for each language on all others, and print their score on it."""
    choices = list_grid()
    found = replay(options.bench, options.repos, options.only, [DEFAULTS, *choices], chinese=False)
    languages = sorted({row.language for row in found.rows})
    best = max(choices, key=found.average_repositories)
    held_out: dict[str, float] = {}
    print(f"\nleave one language out, {len(choices)} combinations, at {_describe_commit()}:\n")
    print("| left out | chosen on the others | scores there | defaults |")
    print("|---|---|---|---|")
    for language in languages:
        here, elsewhere = _is(language), _is_not(language)
        chosen = max(choices, key=partial(_score_on, found, elsewhere))
        score = found.average_repositories(chosen, here)
        held_out |= {row.repo: _repo(found, chosen, row.repo) for row in found.rows if here(row)}
        defaults = found.average_repositories(DEFAULTS, here)
        print(f"| {language} | {describe(chosen)} | {score:.3f} | {defaults:.3f} |", flush=True)
    print(
        f"\nmean over repositories: held out {fmean(held_out.values()):.4f}, "
        f"defaults {found.average_repositories(DEFAULTS):.4f}, "
        f"best in sample {found.average_repositories(best):.4f} ({describe(best)})"
    )


def _score_on(found: Replay, is_wanted: Callable[[Row], bool], setting: Setting) -> float:
    return found.average_repositories(setting, is_wanted)


def _compute_figures(found: Replay, setting: Setting) -> tuple[float, float, float, float]:
    return (
        found.average_repositories(setting),
        found.average_queries(setting, lambda row: not row.named),
        found.average_queries(setting, lambda row: row.category == "symbol"),
        found.average_repositories(setting, chinese=True),
    )


def _repo(found: Replay, setting: Setting, repo: str) -> float:
    return found.average_repositories(setting, lambda row: row.repo == repo)


def _is(language: str) -> Callable[[Row], bool]:
    return lambda row: row.language == language


def _is_not(language: str) -> Callable[[Row], bool]:
    return lambda row: row.language != language


def _describe_commit() -> str:
    """Return the measured commit, marked if files have changed since."""
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    return done.stdout.strip() or "an unknown commit"

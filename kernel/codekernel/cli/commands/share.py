"""``codekernel share``: what a team's store holds, and what this machine has contributed to it."""

import argparse
import json
import os
import sys
from dataclasses import asdict

from codekernel.base.base_listing import delete_base, list_bases
from codekernel.cli.model_selection import load_settings
from codekernel.cli.output.terminal import print_line, print_notice
from codekernel.cli.process import ExitCode
from codekernel.cli.team_access import count_packs, delete_own_packs, open_team
from codekernel.domain.settings import SharingMode, SharingSettings
from codekernel.domain.untrusted_text import escape_line
from codekernel.errors import StorageError
from codekernel.sharing.team import ContributedModel, Team
from codekernel.sharing.vector_speeds import VectorSpeed
from codekernel.storage.user_data import open_user_data

_MEGABYTE = 2**20

_WHAT_LEAVES = {
    SharingMode.READ: "nothing leaves this machine but the names of the packs it reads",
    SharingMode.READ_WRITE: "vectors and salted hashes of the texts embedded here leave",
}


def run_share(args: argparse.Namespace) -> int:
    """Run one action. Raises KernelError."""
    user_data = open_user_data(args.user_data, os.environ)
    settings = load_settings(user_data.settings_file).sharing
    with open_team(user_data, settings) as team:
        if args.action == "forget" and args.base:
            return _delete_base(team, args.base, is_confirmed=args.yes)
        if args.action == "forget":
            return _forget(team, settings, is_confirmed=args.yes)
        if args.action == "send":
            print_line(f"sent: {team.send_waiting()} vectors")
            return ExitCode.OK
        return _print_status(team, settings, as_json=args.json)


def _print_status(team: Team, settings: SharingSettings, *, as_json: bool) -> int:
    """Print what the store holds; FAILED if it cannot be used as the settings ask."""
    problem = team.try_store() if settings.store else ""
    models = team.list_contributions() if settings.store and not problem else []
    if as_json:
        fields = {
            "store": settings.store,
            "mode": settings.mode.value,
            "problem": problem,
            "waiting": team.count_waiting(),
            "speeds": {model: asdict(each) for model, each in team.read_speeds().items()},
        }
        print_line(json.dumps({**fields, "models": [_encode(each) for each in models]}))
        return ExitCode.FAILED if problem else ExitCode.OK
    if not settings.store:
        print_line("nothing is shared: sharing.store in settings.json is empty")
        return ExitCode.OK
    print_line(f"store: {escape_line(settings.store)}")
    print_line(f"{settings.mode.value}: {_WHAT_LEAVES[settings.mode]}")
    if waiting := team.count_waiting():
        print_line(f"{waiting} vectors wait to be contributed")
    if problem:
        print_line(f"PROBLEM: {escape_line(problem)}")
        return ExitCode.FAILED
    print_line("\n".join(map(_format_model, models)) or "it holds no vectors yet")
    for model, speed in team.read_speeds().items():
        print_line(_format_speed(model, speed))
    packs, own, megabytes = count_packs(team)
    if packs:
        print_line(f"whole indexes: {packs}, {megabytes:.1f} MB; of this machine {own}")
    for base in list_bases(team.open_store()):
        print_line(f"base {base.name}: {base.objects} objects, {base.size / _MEGABYTE:.1f} MB")
    return ExitCode.OK


def _forget(team: Team, settings: SharingSettings, *, is_confirmed: bool) -> int:
    if not is_confirmed:
        own = sum(each.own_vectors for each in team.list_contributions())
        if not _ask(f"{own} vectors that this machine has contributed will be deleted"):
            return ExitCode.OK
    packs = delete_own_packs(team)
    print_line(f"deleted: {team.forget_contributions()} vectors and {packs} whole indexes")
    if settings.mode is SharingMode.READ_WRITE:
        print_notice('what is embedded from now on is contributed again; sharing.mode "read" ends')
    return ExitCode.OK


def _delete_base(team: Team, name: str, *, is_confirmed: bool) -> int:
    if not team.can_write:
        raise StorageError(f'{name} is not deleted: sharing.mode in settings.json is "read"')
    if not is_confirmed and not _ask(f"the base {name} will be deleted, for all of your team"):
        return ExitCode.OK
    count = delete_base(team.open_store(), name)
    print_line(f"deleted: {count} objects" if count else f"there is no base called {name}")
    return ExitCode.OK if count else ExitCode.FAILED


def _ask(notice: str) -> bool:
    """Return whether a person agrees; without a terminal nobody is asked."""
    if not sys.stdin.isatty():
        return True
    print_notice(notice)
    print("Delete them? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() in {"y", "yes"}:
        return True
    print_line("nothing was deleted")
    return False


def _format_model(model: ContributedModel) -> str:
    salt = "" if model.is_own_salt else " (of another salt, not used here)"
    size = model.size_bytes / _MEGABYTE
    return (
        f"model {model.model[:16]}: {model.vectors} vectors, {model.packs} packs, {size:.1f} MB;"
        f" of this machine {model.own_vectors} in {model.own_packs}{salt}"
    )


def _format_speed(model: str, speed: VectorSpeed) -> str:
    """Say why the store is asked for vectors of a model, or not."""
    computed, given = (
        f"{rate:.0f} a second" if rate else "not timed yet"
        for rate in (speed.computed, speed.fetched)
    )
    verdict = "asked" if speed.is_fetching_quicker else "not asked, for computing is quicker"
    return f"model {model}: computed here: {computed}; from the store: {given}; it is {verdict}"


def _encode(model: ContributedModel) -> dict[str, object]:
    return {
        "model": model.model,
        "isOwnSalt": model.is_own_salt,
        "packs": model.packs,
        "vectors": model.vectors,
        "sizeBytes": model.size_bytes,
        "ownPacks": model.own_packs,
        "ownVectors": model.own_vectors,
    }

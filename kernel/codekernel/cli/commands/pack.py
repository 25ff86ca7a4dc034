"""``codekernel pack``: whole indexes in a team's store: build, pull, list, delete old ones."""

import argparse
import json
import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from codekernel.cli.folder_session import POLL_INTERVAL_SECONDS, FolderSession
from codekernel.cli.kernel_access import open_kernel
from codekernel.cli.model_selection import load_settings
from codekernel.cli.output.progress_bar import IndexingProgress, ProgressBar
from codekernel.cli.output.terminal import StatusLine, print_line, print_notice
from codekernel.cli.process import ExitCode
from codekernel.cli.project_folder import find_project_root
from codekernel.cli.team_access import open_team
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.index import RepositoryIndexStatus
from codekernel.domain.untrusted_text import escape_line
from codekernel.errors import KernelError, StorageError, WrongParam
from codekernel.indexing.index_plan import build_index_plan
from codekernel.inference.model_pool import ModelPool
from codekernel.packs.commits import find_commit
from codekernel.packs.index_packs import IndexPacks, StoredIndexPack, select_expired
from codekernel.packs.pack_building import PackBuilder
from codekernel.packs.pack_opening import PackOpener
from codekernel.packs.signatures import SigningKey
from codekernel.sharing.object_store import ObjectMissing
from codekernel.sharing.team import SIGNING_KEY_NAME, SIGNING_KEY_VARIABLE, Team
from codekernel.storage.user_data import UserData, open_user_data

_MEGABYTE = 1e6


def run_pack(args: argparse.Namespace) -> int:
    """Run one action. Raises KernelError."""
    if args.action == "key":
        return _make_key()
    user_data = open_user_data(args.user_data, os.environ)
    settings = load_settings(user_data.settings_file)
    with open_team(user_data, settings.sharing) as team:
        match args.action:
            case "build":
                return _build(args, team, user_data)
            case "pull":
                return _pull(args, team, user_data)
            case "clean":
                return _clean(args, team)
            case _:
                return _list(team, as_json=args.json)


def _make_key() -> int:
    """Print a new pair of keys; nothing keeps it."""
    key = SigningKey.make()
    print_line(f"public key, for sharing.trustedKeys of everybody: {key.public.encode()}")
    print_line(
        f"secret key, for codekernel key set {SIGNING_KEY_NAME} or in CI"
        f" {SIGNING_KEY_VARIABLE}: {key.encode()}"
    )
    return ExitCode.OK


def _build(args: argparse.Namespace, team: Team, user_data: UserData) -> int:
    """Build the packs of all repositories; those that fail are tried once more at the end."""
    roots = [find_project_root(repo) for repo in args.repo or [None]]
    if len(roots) > 1 and (args.label or args.commit != "HEAD"):
        raise WrongParam("--label and --commit are for one --repo")
    plan = build_index_plan(load_settings(user_data.settings_file), is_certain=True)
    pool = ModelPool()
    builder = PackBuilder(team, user_data, plan, lambda: pool)
    problems: dict[Path, KernelError] = {}
    for root in roots:
        _try_build(builder, root, args, problems)
    if len(roots) > 1:
        for root in list(problems):
            _try_build(builder, root, args, problems)
    team.send_waiting()
    for root, problem in problems.items():
        print_notice(f"{root} has no pack: {problem}")
    if not problems:
        _delete_expired(builder.packs, args, is_wanted=args.days > 0)
    return ExitCode.FAILED if problems else ExitCode.OK


def _try_build(
    builder: PackBuilder, root: Path, args: argparse.Namespace, problems: dict[Path, KernelError]
) -> None:
    problems.pop(root, None)
    try:
        print_line(_build_one(builder, root, args))
    except KernelError as error:
        problems[root] = error


def _build_one(builder: PackBuilder, root: Path, args: argparse.Namespace) -> str:
    """Build the pack of a commit; return what there is to say. Raises KernelError."""
    place, bar = find_commit(root, args.commit), ProgressBar(sys.stderr)
    commit = f"{root.name} {place.commit[:12]}"
    if (there := builder.find(place)) and not args.force:
        return f"{commit} has a pack already, of {there.size / _MEGABYTE:.1f} MB"

    def show(status: RepositoryIndexStatus) -> None:
        total = status.files + status.files_waiting
        share = status.files / total if total else 0.0
        bar.show(IndexingProgress(status.files, total, status.chunks, share))

    try:
        built = builder.build(root, place, args.label or "", show)
    finally:
        bar.clear()
    if there and there.name != built.name:
        builder.packs.delete(there)
    return (
        f"{commit}: sent the index, {built.files} files, {built.chunks} chunks,"
        f" {built.size / _MEGABYTE:.1f} MB, {built.embedded} embedded"
    )


def _pull(args: argparse.Namespace, team: Team, user_data: UserData) -> int:
    """Fetch the nearest pack, and open the repository with it; it is what opening does, too."""
    root = find_project_root(args.repo)
    if not team.is_shared:
        team.open_store()  # which says what to do
    with open_kernel(args, user_data, "pack") as kernel:
        indexes: list[dict[str, Any]] = kernel.request("getIndexes")["indexes"]
        known = [each for each in indexes if each["path"] == str(root) and each["chunks"]]
        if known:
            name = known[0]["repoName"]
            print_line(
                f"{root} has an index already, of {known[0]['files']} files; what changes is"
                f" indexed as you work. codekernel repos remove {name} deletes it"
            )
            return ExitCode.OK
        _fetch(root, team, user_data)
        session = FolderSession(kernel)
        kernel.wait_for_reply(session.open(root))
        status = session.wait_for_index(until_complete=True)
        while status["state"] == "embedding":  # which ends with what ``notice`` says
            time.sleep(POLL_INTERVAL_SECONDS)
            status = session.request("getIndexStatus")
        print_line(status.get("notice") or "the index was built here")
        print_line(f"{status['files']} files, {status['chunks']} chunks")
    return ExitCode.OK


def _fetch(root: Path, team: Team, user_data: UserData) -> None:
    """Fetch the pack to where the kernel looks for it. Raises KernelError."""
    plan = build_index_plan(load_settings(user_data.settings_file), is_certain=True)
    opener, line = PackOpener(team, user_data.sharing_folder), StatusLine(sys.stderr)
    found = opener.find(root, plan)
    if found is None:
        raise StorageError(
            f"your team has no pack of {root}: none of a commit that is checked out, or before it,"
            " with the models that you have selected. codekernel pack list shows all"
        )
    nearest = found.nearest
    behind = f", {nearest.distance} commits before yours" if nearest.distance else ""
    print_notice(
        f"the pack of {nearest.place.commit[:12]}{behind}, {nearest.pack.size / _MEGABYTE:.1f} MB"
    )
    try:
        opener.fetch(found, CancelToken(), line.draw)
    finally:
        line.clear()


def _list(team: Team, *, as_json: bool) -> int:
    packs = IndexPacks(team.open_store())
    described = [_describe(packs, pack) for pack in packs.list_packs()]
    if as_json:
        print_line(json.dumps(described))
    elif not described:
        print_line("the team has no packs yet")
    for each in () if as_json else described:
        signed = ", signed" if each["isSigned"] else ""
        content = each["problem"] or f"{each['files']} files, {each['chunks']} chunks{signed}"
        print_line(
            f"{each['label']}  {each['commit'][:12]:12}  {each['days']:.0f} days old,"
            f" {each['megabytes']:.1f} MB, {escape_line(str(content))}"
        )
    return ExitCode.OK


def _describe(packs: IndexPacks, pack: StoredIndexPack) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "name": pack.name,
        "label": pack.label,
        "days": round(pack.days, 2),
        "megabytes": round(pack.size / _MEGABYTE, 2),
        "isSigned": pack.is_signed,
        "commit": "",
        "prefix": "",
        "files": 0,
        "chunks": 0,
        "builtAt": 0.0,
        "problem": "",
    }
    try:
        manifest = packs.read_manifest(pack)
    except StorageError as error:
        return fields | {"problem": f"it is not used: {error}"}
    return fields | {
        "commit": manifest.commit,
        "prefix": manifest.prefix,
        "files": manifest.files,
        "chunks": manifest.chunks,
        "builtAt": manifest.built_at,
    }


def _clean(args: argparse.Namespace, team: Team) -> int:
    if not team.can_write and not args.dry_run:
        raise StorageError('packs are not deleted: sharing.mode is not "read-write"')
    return _delete_expired(IndexPacks(team.open_store()), args)


def _delete_expired(packs: IndexPacks, args: argparse.Namespace, *, is_wanted: bool = True) -> int:
    """Delete packs that are old, but never the newest of a repository."""
    expired = select_expired(packs.list_packs(), args.days, args.keep) if is_wanted else []
    is_trial = getattr(args, "dry_run", False)
    for pack in expired:
        print_line(
            f"{'would delete' if is_trial else 'deleted'}: {pack.label}, {pack.days:.0f} days"
        )
        if not is_trial:
            with suppress(ObjectMissing):
                packs.delete(pack)
    if not expired and args.action == "clean":
        print_line("no pack is old enough to go")
    return ExitCode.OK

"""``codekernel build-base``: many repositories in one table of a team's store."""

import argparse
import os
import sys
import time
from importlib import import_module
from pathlib import Path

from codekernel.base.base_building import BaseBuilder, BuildProgress, select_base_model
from codekernel.base.base_place import find_base_place
from codekernel.base.build_engines import BuildEngine, LocalEngine
from codekernel.base.sources import find_sources
from codekernel.cli.model_selection import load_settings
from codekernel.cli.output.terminal import StatusLine, print_line, print_notice
from codekernel.cli.process import ExitCode
from codekernel.cli.team_access import open_team
from codekernel.errors import StorageError, WrongParam
from codekernel.indexing.index_plan import build_index_plan
from codekernel.inference.model_pool import ModelPool
from codekernel.storage.user_data import open_user_data


def run_build_base(args: argparse.Namespace) -> int:
    """Build and publish a base. Raises KernelError."""
    user_data = open_user_data(args.user_data, os.environ)
    settings = load_settings(user_data.settings_file)
    sources = find_sources(_list_repositories(args))
    plan = build_index_plan(settings, is_certain=True)
    with open_team(user_data, settings.sharing) as team:
        opened = team.open_store()
        if not team.can_write:
            raise StorageError(
                'no base is built: sharing.mode in settings.json is not "read-write"'
            )
        place = find_base_place(opened, args.name, os.environ)
        engine, line = _start_engine(args), StatusLine(sys.stderr)
        began = time.monotonic()
        try:
            model = select_base_model(plan, ModelPool())
            builder = BaseBuilder(
                place, model, plan.performance, engine, lambda it: line.draw(_describe(it))
            )
            built = builder.build(sources)
        finally:
            line.clear()
            engine.close()
    for label, problem in built.problems.items():
        kept = built.manifest.find(label)
        state = "stays as it was" if kept else "is missing"
        print_notice(f"{label} {state}: {problem}")
    print_line(
        f"{args.name}: version {built.version} is published,"
        f" {len(built.manifest.repositories)} repositories, {built.manifest.chunks} chunks,"
        f" {built.parts_built} parts built, {time.monotonic() - began:.1f} s"
    )
    return ExitCode.FAILED if built.problems else ExitCode.OK


def _start_engine(args: argparse.Namespace) -> BuildEngine:
    """Raises StorageError if there is no Ray, or no cluster."""
    if args.on == "local":
        return LocalEngine(args.workers or os.cpu_count() or 1)
    try:
        engine: BuildEngine = import_module("codekernel.base.ray_engine").RayEngine(
            args.ray_address
        )
    except (ImportError, ConnectionError, ValueError) as error:
        raise StorageError(
            f"no cluster of Ray can be used: {error}. pip install 'codekernel[ray]' installs Ray,"
            " and ray start --head a first node"
        ) from error
    return engine


def _list_repositories(args: argparse.Namespace) -> list[tuple[str, Path]]:
    """Return the names, which may be empty, and the folders. Raises WrongParam."""
    named: list[str] = list(args.repo)
    if args.repos:
        try:
            lines = args.repos.read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise WrongParam(f"{args.repos} cannot be read: {error}") from error
        named += [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    if not named:
        raise WrongParam("which repositories? --repo DIR, or --repos with a file that lists them")
    found = []
    for each in named:
        name, separator, folder = each.rpartition("=")
        found.append((name if separator else "", Path(folder).expanduser().absolute()))
    return found


def _describe(progress: BuildProgress) -> str:
    return (
        f"{progress.step}: {progress.repositories} of {progress.total} repositories,"
        f" {progress.parts} parts built"
    )

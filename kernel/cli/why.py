"""``codekernel doctor why FILE``: whether a file is indexed, and if not, which rule says so."""

import os
from collections.abc import Iterator
from pathlib import Path

from kernel.cli.search_streams import print_line
from kernel.domain.path_text import existing_path, terminal_path
from kernel.domain.repo import Repo
from kernel.domain.source import FoundFile, LeftOut
from kernel.errors import KernelError
from kernel.storage.catalogue import Catalogue
from kernel.storage.index_store import CATALOGUE_FILE
from kernel.storage.repo_registry import RepoRegistry
from kernel.storage.user_data import UserData, open_user_data
from kernel.storage.vault import Vault
from kernel.walking.reading import read
from kernel.walking.walk import Walk


def why(user_data_argument: str | None, file: str, query: str) -> int:
    """Print what is known of a file; 0 if it is indexed and up to date, 1 if not.

    With a query also where the file stands among the answers.
    """
    user_data = open_user_data(user_data_argument, os.environ)
    named = existing_path(Path.cwd(), file)
    path = Path(os.path.abspath(named))  # noqa: PTH100 - a link is asked about by its own name
    vault = Vault(user_data, os.environ, may_set_aside=lambda: False)
    try:
        repo = _repository_of(path, user_data, vault)
    except KernelError as error:
        print_line(f"PROBLEM: {error}")
        return 1
    finally:
        vault.close()
    root = repo.path if repo else _nearest_root(path)
    relative = path.relative_to(root).as_posix()
    unknown = "" if repo else ", which is not a registered repository"
    print_line(f"{terminal_path(relative)} in {terminal_path(str(root))}{unknown}")
    indexable, verdict = _verdict(root, relative)
    print_line(f"  rules: {verdict}")
    if query and indexable:
        folder = user_data.index_of(repo.id) if repo else user_data.index_of_folder(root)
        for sentence in _answers(root, folder, user_data.settings_file, query, relative):
            print_line(f"  query: {sentence}")
    if repo is None:
        return 0 if indexable else 1
    findings = list(_indexed(user_data.index_of(repo.id), root, relative))
    for _, finding in findings:
        print_line(f"  index: {finding}")
    return 0 if indexable and all(good for good, _ in findings) else 1


def _answers(root: Path, folder: Path, settings: Path, query: str, relative: str) -> list[str]:
    from kernel.cli.why_rank import place_among_answers  # noqa: PLC0415 - indexes the folder

    return place_among_answers(root, folder, settings, query, relative)


def _repository_of(path: Path, user_data: UserData, vault: Vault) -> Repo | None:
    """The innermost registered repository around a file."""
    if not user_data.database_file.exists():
        return None
    around = [repo for repo in RepoRegistry(vault).all() if path.is_relative_to(repo.path)]
    return max(around, key=lambda repo: len(repo.path.parts), default=None)


def _nearest_root(path: Path) -> Path:
    parents = list(path.parents)
    return next((folder for folder in parents if (folder / ".git").exists()), parents[0])


def _verdict(root: Path, relative: str) -> tuple[bool, str]:
    """What the rules say of the file as it is now."""
    item = Walk(root).verdict(relative)
    if item is None:
        return False, "there is no such file"
    if isinstance(item, FoundFile):
        source = read(root, item)
        if not isinstance(source, LeftOut):
            return True, f"to be indexed, as {source.encoding} text"
        item = source
    return False, f"left out, {item.reason}: {item.detail}"


def _indexed(folder: Path, root: Path, relative: str) -> Iterator[tuple[bool, str]]:
    """What the index has of the file."""
    if not (folder / CATALOGUE_FILE).exists():
        yield False, "this repository has not been indexed yet; open it"
        return
    catalogue = Catalogue(folder / CATALOGUE_FILE)
    known, refusal = catalogue.file(relative), catalogue.refusal(relative)
    if known:
        chunks = len(catalogue.chunks_of(known.id))
        yield True, f"{chunks} chunks"
        found = (root / relative).stat() if (root / relative).exists() else None
        if found is None or found.st_size != known.size or known.mtime_ns != found.st_mtime_ns:
            yield known.mtime_ns == -1, "the file has changed since, or has just been written"
    elif refusal:
        yield False, f"left out, {refusal.reason}: {refusal.detail}"
    else:
        yield False, "nothing is known of this file"
    catalogue.close()

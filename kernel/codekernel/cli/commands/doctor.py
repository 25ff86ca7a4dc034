"""``codekernel doctor``: check settings, vault, indexes, user files, hardware and privacy.

``--fix`` quarantines what is damaged.
"""

import argparse
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from codekernel import __version__
from codekernel.cli.model_selection import load_settings
from codekernel.cli.output.terminal import print_line
from codekernel.cli.process import ExitCode
from codekernel.conversation.history import ConversationHistories
from codekernel.conversation.turn_store import read_journal
from codekernel.errors import KernelError, StorageError
from codekernel.inference.providers import detect_hardware
from codekernel.protocol import PROTOCOL_VERSION
from codekernel.settings.live import LiveSettings
from codekernel.storage import index_examination, quarantine
from codekernel.storage.conversation_files import ConversationFiles
from codekernel.storage.quarantine import is_irregular, is_quarantined
from codekernel.storage.safe_files import NotRegularFile, read_regular
from codekernel.storage.user_data import UserData, locate_user_data
from codekernel.storage.user_data_folder import can_restrict_folder, is_open_to_others
from codekernel.storage.vault.opening import list_vault_notes
from codekernel.storage.vault.vault import ApiKeys, RepoRegistry, Vault

# Whether a person must act, and the finding.
CheckResult = tuple[bool, str]


@dataclass(frozen=True, slots=True)
class UserFileFinding:
    """A file that cannot be used; one that ``is_quarantined`` needs no action."""

    path: Path
    problem: str
    is_quarantined: bool = False


def examine_user_files(user_data: UserData, _vault: Vault, *, fix: bool) -> Iterator[CheckResult]:
    """Report user files that cannot be read; with ``fix``, quarantine what is no regular file."""
    findings = check_user_files(user_data)
    moved = quarantine_findings(findings) if fix else []
    for finding in findings:
        name = finding.path.relative_to(user_data.root)
        yield not (fix or finding.is_quarantined), f"{name}: {finding.problem}"
    for path in moved:
        yield False, f"moved aside: {path.relative_to(user_data.root)}"
    if not findings:
        yield False, "conversations, sessions and logs: all can be read"


def check_user_files(user_data: UserData) -> list[UserFileFinding]:
    """Return the conversations, sessions, journals and logs that are damaged or quarantined."""
    agent, conversations = user_data.root / "agent", user_data.conversations_folder
    sessions, logs = agent / "sessions", user_data.logs_folder
    folders = (conversations, conversations / "unfinished", sessions, agent / "journals", logs)
    journals = [each for each in _list_entries(agent / "journals") if not is_quarantined(each)]
    files = (logs / "kernel.log", *(journal / "journal.jsonl" for journal in journals))
    problems = [
        *(
            (folder, "it is no folder, and will be set aside when it is needed")
            for folder in (agent, *folders)
            if os.path.lexists(folder) and not folder.is_dir()
        ),
        *((path, "it is no folder of a journal") for path in journals if not path.is_dir()),
        *((path, "it is no regular file") for path in files if is_irregular(path)),
    ]
    aside = [
        UserFileFinding(path, "it could not be read and was set aside", is_quarantined=True)
        for folder in (*folders, *journals)
        for path in filter(is_quarantined, _list_entries(folder))
    ]
    found = [
        *(UserFileFinding(path, problem) for path, problem in problems),
        *_check_conversations(conversations),
        *_check_sessions(sessions),
        *aside,
    ]
    return sorted(found, key=lambda each: str(each.path))


def quarantine_findings(findings: list[UserFileFinding]) -> list[Path]:
    """Quarantine what is no regular file; return the new names. Raises StorageError.

    Damaged conversations and sessions stay for the next question, which keeps what it can read.
    """
    return [
        quarantine.quarantine_user_file(each.path)
        for each in findings
        if not each.is_quarantined and is_irregular(each.path)
    ]


def _check_conversations(folder: Path) -> Iterator[UserFileFinding]:
    files = ConversationFiles(folder)
    histories = ConversationHistories(files)
    try:
        numbers, journals = files.list_ids(), files.list_journals()
    except StorageError as error:
        yield UserFileFinding(folder, str(error))
        return
    for number in numbers:
        if damage := histories.describe_damage(number):
            problem = f"{damage}; what can be read of it is shown"
            yield UserFileFinding(files.history_path(number), problem)
    for path in journals:
        try:
            _, damage = read_journal(path)
        except OSError as error:
            damage = error.strerror or "it cannot be read"
        if damage:
            yield UserFileFinding(path, damage)


def _check_sessions(folder: Path) -> Iterator[UserFileFinding]:
    from codekernel.agent.session_store import UnknownSessionFormat, parse_session

    for path in _list_entries(folder, ".json"):
        try:
            _, is_whole = parse_session(path.stem, read_regular(path))
        except UnknownSessionFormat:
            yield UserFileFinding(path, "another version has written it")
        except (ValueError, NotRegularFile):
            yield UserFileFinding(path, "it cannot be read; its agent would begin anew")
        except OSError as error:
            yield UserFileFinding(path, error.strerror or "it cannot be read")
        else:
            if not is_whole:
                yield UserFileFinding(path, "a part of it cannot be read")


def _list_entries(folder: Path, suffix: str = "") -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.name.endswith(suffix))
    except OSError:
        return []


_DISCARDED_PREFIX = "discarded-"


def examine_indexes(user_data: UserData, vault: Vault, *, fix: bool) -> Iterator[CheckResult]:
    """Report the contents and the damage of every index; with ``fix``, quarantine the damage."""
    for folder, name in sorted(_list_index_folders(user_data, vault).items()):
        if not index_examination.has_index(folder):
            yield False, f"index of {name}: not made yet; opening the repository makes it"
            continue
        damages = index_examination.find_index_damage(folder)
        for damage in damages:
            yield not fix, f"index of {name}: {damage.reason}"
        if damages and fix:
            yield _fix_index(folder, name)
        elif damages:
            advice = "it is rebuilt from the files when it is next opened;"
            yield False, f"index of {name}: {advice} doctor --fix moves what is damaged aside now"
        else:
            yield _describe_contents(folder, name)
        if aside := quarantine.list_quarantined(folder):
            names = ", ".join(str(path.relative_to(folder)) for path in aside)
            yield False, f"index of {name}: damaged files were moved aside, delete them: {names}"


def _fix_index(folder: Path, name: str) -> CheckResult:
    try:
        damages = index_examination.find_index_damage(folder)
        moved = index_examination.quarantine_index_damage(folder, damages)
    except StorageError as error:
        return True, f"index of {name}: {error}"
    if moved is None:
        return False, f"index of {name}: a codekernel that is running keeps it, and rebuilds it"
    names = ", ".join(path.name for path in moved)
    what = f"moved aside: {names}; " if names else "damaged vectors were deleted; "
    return False, f"index of {name}: {what}it is rebuilt when the index is next opened"


def _describe_contents(folder: Path, name: str) -> CheckResult:
    try:
        files, chunks, skipped = index_examination.count_index_contents(folder)
    except StorageError as error:
        return True, f"index of {name}: {error}"
    return False, f"index of {name}: {files} files, {chunks} chunks, {skipped} left out"


def _list_index_folders(user_data: UserData, vault: Vault) -> dict[Path, str]:
    """Return every index folder, by the name of its repository where that is known."""
    found: dict[Path, str] = {}
    for folder in _list_entries(user_data.indexes_folder):
        if not is_quarantined(folder) and not folder.name.startswith(_DISCARDED_PREFIX):
            found[folder] = folder.name
    if user_data.database_file.exists():
        with suppress(KernelError):  # reported by the examination of the vault
            found |= {
                user_data.repo_index_folder(repo.id): repo.name
                for repo in RepoRegistry(vault).list_all()
            }
    return found


# Shared with other programs that use onnxruntime, so it is only reported.
_TELEMETRY_FOLDER = Path("Microsoft", "DeveloperTools", ".onnxruntime")

_SHARED_FOLDER_ADVICE = (
    "is shared with other accounts of this machine: choose a folder of your own with --user-data"
)

_TELEMETRY_LEFT_NOTE = (
    "holds a device id of onnxruntime, left by a program that did not switch its telemetry off;"
    " codekernel does, and the folder can be deleted"
)


def examine_privacy(user_data: UserData, _vault: Vault) -> Iterator[CheckResult]:
    """Report whether other accounts can open userData, and telemetry files left behind."""
    root = user_data.root
    if not is_open_to_others(root):
        yield False, "privacy: userData is open to its owner alone"
    elif can_restrict_folder(root):
        yield False, f"privacy: other accounts can open {root}; the next start closes it to them"
    else:
        yield True, f"{root} {_SHARED_FOLDER_ADVICE}"
    for folder in list_telemetry_folders(os.environ):
        yield False, f"privacy: {folder} {_TELEMETRY_LEFT_NOTE}"


def list_telemetry_folders(environ: Mapping[str, str]) -> list[Path]:
    """Return the folders in which onnxruntime has kept a device id and unsent events."""
    caches = [Path(environ["XDG_CACHE_HOME"])] if environ.get("XDG_CACHE_HOME") else []
    if home := environ.get("HOME"):
        caches += [Path(home, ".cache"), Path(home, "Library", "Caches")]
    return [folder for cache in caches if (folder := cache / _TELEMETRY_FOLDER).is_dir()]


def run_doctor(args: argparse.Namespace) -> int:
    """Print one line per finding; FAILED if a person must act.

    Nothing is changed without ``--fix``, which moves damaged files aside.
    """
    user_data = locate_user_data(args.user_data, os.environ)
    # Without --fix nothing changes, so a vault that cannot be read stays where it is.
    vault = Vault(user_data, os.environ, may_quarantine=lambda: False)
    print_line(f"codekernel {__version__}, protocol {PROTOCOL_VERSION}")
    print_line(f"userData: {user_data.root}")
    problems = 0
    examinations = (
        _examine_settings,
        _examine_vault,
        _examine_servers,
        partial(examine_indexes, fix=args.fix),
        partial(examine_user_files, fix=args.fix),
        _examine_hardware,
        examine_privacy,
    )
    for examine in examinations:
        for is_problem, finding in _run_examination(examine, user_data, vault):
            problems += is_problem
            print_line(f"{'PROBLEM' if is_problem else 'ok'}: {finding}")
    vault.close()
    return ExitCode.FAILED if problems else ExitCode.OK


Examination = Callable[[UserData, Vault], Iterator[CheckResult]]


def _run_examination(
    examine: Examination, user_data: UserData, vault: Vault
) -> Iterator[CheckResult]:
    try:
        yield from examine(user_data, vault)
    except KernelError as error:
        yield True, str(error)


def _examine_settings(user_data: UserData, vault: Vault) -> Iterator[CheckResult]:
    if not user_data.settings_file.exists():
        yield False, "settings: no settings.json yet, so the defaults are used"
        return
    settings = LiveSettings(
        user_data.settings_file,
        user_data.modified_settings_file,
        ApiKeys(vault).has,
        detect_hardware,
    )
    warnings = [*settings.load(), *settings.log_unmet_requirements()]
    yield from ((True, warning) for warning in warnings)
    current = settings.current
    configs, models = len(current.embedding_configs), len(current.generation_models)
    yield False, f"settings: {configs} embedding configs, {models} chat models"
    if not current.agents:
        return
    from codekernel.adapters.acp.agent_process import find_program  # asyncio

    for agent in current.agents:
        try:
            yield False, f"agent {agent.name}: {find_program(agent, {**os.environ, **agent.env})}"
        except KernelError as error:
            yield True, f"agent {error}"


def _examine_servers(user_data: UserData, vault: Vault) -> Iterator[CheckResult]:
    settings = load_settings(user_data.settings_file)
    if not settings.sharing.store:
        yield False, "sharing: nothing is shared with a team"
    if settings.sharing.store or any(model.remote for model in settings.local_models):
        from codekernel.cli.commands.doctor_servers import examine_servers  # numpy

        yield from examine_servers(settings, user_data, vault)


def _examine_vault(user_data: UserData, vault: Vault) -> Iterator[CheckResult]:
    yield from ((False, note) for note in list_vault_notes(user_data))
    if not user_data.database_file.exists():
        yield False, "vault: not made yet; the first repository or key makes it"
        return
    repos = RepoRegistry(vault).list_all()
    yield False, f"vault: {len(repos)} repositories"
    for repo in repos:
        if not repo.path.is_dir():
            yield True, f"the folder of repository {repo.name} is gone: {repo.path}"


def _examine_hardware(_user_data: UserData, _vault: Vault) -> Iterator[CheckResult]:
    hardware = detect_hardware()
    cuda, coreml = ("yes" if has else "no" for has in (hardware.has_cuda, hardware.has_coreml))
    yield False, f"hardware: CUDA {cuda}, CoreML {coreml}, CPU yes"

"""``codekernel doctor``: looks at all that the kernel stands on and says what is wrong."""

import logging
import os
from collections.abc import Callable, Iterator
from functools import partial

from kernel import __version__
from kernel.cli.doctor_files import examine_user_files
from kernel.cli.doctor_index import examine_indexes
from kernel.cli.doctor_privacy import examine_privacy
from kernel.cli.search_streams import print_line
from kernel.errors import KernelError
from kernel.inference.providers import available_hardware
from kernel.protocol.version import PROTOCOL_VERSION
from kernel.settings.live import LiveSettings
from kernel.storage.api_keys import ApiKeys
from kernel.storage.repo_registry import RepoRegistry
from kernel.storage.user_data import UserData, locate
from kernel.storage.vault import Vault
from kernel.storage.vault_opening import vault_notes


def doctor(user_data_argument: str | None, *, fix: bool = False) -> int:
    """Print one line per finding; 0 if all is well, 1 if something needs a person.

    Looking changes nothing; ``fix`` moves aside what is damaged.
    """
    logging.getLogger().addHandler(logging.NullHandler())  # findings are printed, not logged
    user_data = locate(user_data_argument, os.environ)
    # Looking must change nothing, so a vault that cannot be read stays where it is.
    vault = Vault(user_data, os.environ, may_set_aside=lambda: False)
    print_line(f"codekernel {__version__}, protocol {PROTOCOL_VERSION}")
    print_line(f"userData: {user_data.root}")
    problems = 0
    examinations = (
        _settings,
        _vault,
        partial(examine_indexes, fix=fix),
        partial(examine_user_files, fix=fix),
        _hardware,
        examine_privacy,
    )
    for examine in examinations:
        for is_problem, finding in _findings(examine, user_data, vault):
            problems += is_problem
            print_line(f"{'PROBLEM' if is_problem else 'ok'}: {finding}")
    vault.close()
    return 1 if problems else 0


Finding = tuple[bool, str]
Examination = Callable[[UserData, Vault], Iterator[Finding]]


def _findings(examine: Examination, user_data: UserData, vault: Vault) -> Iterator[Finding]:
    try:
        yield from examine(user_data, vault)
    except KernelError as error:
        yield True, str(error)


def _settings(user_data: UserData, vault: Vault) -> Iterator[Finding]:
    if not user_data.settings_file.exists():
        yield False, "settings: no settings.json yet, so the defaults are used"
        return
    settings = LiveSettings(
        user_data.settings_file,
        user_data.modified_settings_file,
        ApiKeys(vault).has,
        available_hardware,
    )
    warnings = [*settings.load(), *settings.warn_of_needs()]
    yield from ((True, warning) for warning in warnings)
    current = settings.current
    configs, models = len(current.embedding_configs), len(current.generation_models)
    yield False, f"settings: {configs} embedding configs, {models} chat models"


def _vault(user_data: UserData, vault: Vault) -> Iterator[Finding]:
    yield from ((False, note) for note in vault_notes(user_data))
    if not user_data.database_file.exists():
        yield False, "vault: not made yet; the first repository or key makes it"
        return
    repos = RepoRegistry(vault).all()
    yield False, f"vault: {len(repos)} repositories"
    for repo in repos:
        if not repo.path.is_dir():
            yield True, f"the folder of repository {repo.name} is gone: {repo.path}"


def _hardware(_user_data: UserData, _vault: Vault) -> Iterator[Finding]:
    hardware = available_hardware()
    yield False, f"hardware: CUDA {_yes(hardware.cuda)}, CoreML {_yes(hardware.coreml)}, CPU yes"


def _yes(answer: bool) -> str:  # noqa: FBT001 - a word for a flag
    return "yes" if answer else "no"

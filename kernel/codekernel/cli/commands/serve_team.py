"""``codekernel serve --team``: one kernel that many people and agents search over HTTP."""

import argparse
import os
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from codekernel.adapters.hub.certificate import TlsFiles
from codekernel.adapters.hub.devices import AddressRules
from codekernel.adapters.hub.server import HubPort, HubServer
from codekernel.adapters.team.app import build_team_app
from codekernel.adapters.team.callers import CallerRateLimit, CallerTable
from codekernel.adapters.team.queries import TeamRepositories
from codekernel.adapters.team.requests import AuditLog, TeamMetrics, TeamServerParts
from codekernel.adapters.team.rights import RightsFile
from codekernel.adapters.team.tokens import TokenFile
from codekernel.cli.output.terminal import print_line, print_notice
from codekernel.cli.process import ExitCode
from codekernel.errors import InvalidSettings, StorageError, WrongParam
from codekernel.inference.providers import detect_hardware
from codekernel.runtime.late_services import make_workspaces
from codekernel.settings.live import LiveSettings
from codekernel.storage.process_lock import ProcessLock
from codekernel.storage.user_data import UserData, open_user_data
from codekernel.storage.vault.vault import ApiKeys, RepoRegistry, Vault
from codekernel.transport.listener import open_listening_socket

LOOPBACK = "127.0.0.1"


def run_serve_team(args: argparse.Namespace) -> int:
    """Serve until interrupted. Raises KernelError."""
    host, tls = args.host or LOOPBACK, _choose_tls(args)
    user_data = open_user_data(args.user_data, os.environ)
    rights = RightsFile(user_data.team_folder / "rights.json")
    rights.read()  # a server without rights would refuse everybody
    lock = ProcessLock(user_data.lock_file)
    if not lock.try_acquire():
        raise StorageError(
            f"another codekernel uses {user_data.root}: give the team a folder of its own with"
            " --user-data"
        )
    listening = open_listening_socket(host, args.port)
    address = f"{'https' if tls else 'http'}://{host}:{listening.getsockname()[1]}"
    with _open_services(user_data, rights) as services:
        port = HubPort(listening, AddressRules.build(args.port, is_anywhere=True), tls)
        server = HubServer(build_team_app(services), port)

        async def on_startup() -> None:
            opening = services.repositories.open_all
            threading.Thread(target=opening, name="open-repositories", daemon=True).start()
            print_line(f"the team's kernel answers at {address}")

        server.serve_until_stopped(on_startup, lambda: None)
    lock.release()
    return ExitCode.OK


def _choose_tls(args: argparse.Namespace) -> TlsFiles | None:
    if bool(args.tls_cert) != bool(args.tls_key):
        raise WrongParam("--tls-cert and --tls-key belong together.")
    if args.tls_cert:
        return TlsFiles(args.tls_cert, args.tls_key)
    if not args.plain and (args.host or LOOPBACK) != LOOPBACK:
        raise WrongParam(
            "tokens and code would travel in plain text: give --tls-cert and --tls-key, or say"
            " --plain where a proxy in front of it speaks TLS"
        )
    return None


@contextmanager
def _open_services(user_data: UserData, rights: RightsFile) -> Iterator[TeamServerParts]:
    vault = Vault(user_data, os.environ, may_quarantine=lambda: False)
    keys = ApiKeys(vault)
    settings = LiveSettings(
        user_data.settings_file, user_data.modified_settings_file, keys.has, detect_hardware
    )
    for warning in settings.load():
        print_notice(warning)

    def list_folders() -> list[Path]:
        try:
            return list(rights.read().repositories.values())
        except InvalidSettings:
            return []

    workspaces = make_workspaces(user_data, settings, keys, os.environ, lambda: 0.0)
    repositories = TeamRepositories(user_data, RepoRegistry(vault), workspaces, list_folders)
    tokens = TokenFile(user_data.team_folder / "tokens.json")
    with (
        closing(vault),
        closing(AuditLog(user_data.team_folder / "audit.log")) as audit,
        closing(repositories),
    ):
        callers = CallerTable(rights, tokens)
        yield TeamServerParts(callers, repositories, CallerRateLimit(), TeamMetrics(), audit)

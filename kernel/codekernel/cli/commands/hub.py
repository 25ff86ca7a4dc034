"""``codekernel hub``: agents of all your machines, for phones, browsers and chats.

Serves on loopback unless told otherwise, pairs devices by codes that are good once, and lists and
revokes them; ``join`` connects this machine to the hub of another one.
"""

import argparse
import os
import socket
import sys
import threading
from contextlib import closing
from datetime import UTC, datetime

from codekernel.adapters.chat.bindings import CODE_LIFETIME_SECONDS, ChatBindings
from codekernel.adapters.hub.certificate import TlsFiles, open_own_certificate
from codekernel.adapters.hub.database import HubDatabase
from codekernel.adapters.hub.devices import CODE_TTL_SECONDS, AddressRules, DeviceRegistry, Pairing
from codekernel.adapters.hub.running_hub import RunningHub, render_qr_code
from codekernel.adapters.hub.server import HubPort
from codekernel.adapters.hub.service import ChatAdapter, HubService
from codekernel.adapters.static_pages import StaticPages, find_pages_folder
from codekernel.cli.kernel_finder import KernelFinder
from codekernel.cli.model_selection import load_settings
from codekernel.cli.output.terminal import print_line, print_notice, write_lines
from codekernel.cli.process import ExitCode, exit_now, handle_stop_signals
from codekernel.client.agent_sessions import RemoteAgentSessions
from codekernel.client.kernel_requests import KernelRequests
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.settings import HubOptions
from codekernel.domain.untrusted_text import escape_line
from codekernel.errors import ApiKeyNotFound, WrongParam
from codekernel.runtime import logging_setup
from codekernel.storage.user_data import UserData, open_user_data
from codekernel.storage.vault.vault import ApiKeys, CommandVault
from codekernel.transport.http_messages import make_token
from codekernel.transport.listener import ANY_HOST, LOOPBACK_HOST, open_listening_socket

# Names of secrets in the vault.
_CERTIFICATE_KEY_NAME = "hub:certificate"
_MACHINE_KEY_NAME = "hub:{url}"

# Of the documentation: a packet is never sent, the system only chooses the interface.
_SOME_ADDRESS = ("192.0.2.1", 9)


def run_hub(args: argparse.Namespace) -> int:
    """Serve, or carry out an action on the hub. Raises KernelError."""
    user_data = open_user_data(args.user_data, os.environ)
    actions = {
        None: _serve,
        "pair": _pair,
        "key": _make_key,
        "devices": _list_devices,
        "revoke": _revoke,
        "join": _join,
        "bind": bind_user,
        "unbind": unbind_user,
    }
    return actions[args.action](args, user_data)


def _serve(args: argparse.Namespace, user_data: UserData) -> int:
    settings = load_settings(user_data.settings_file)
    options = settings.hub
    _check_options(args, options)
    number = options.port if args.port is None else args.port
    is_anywhere = args.anywhere and not args.behind_tunnel
    try:
        listening = open_listening_socket(ANY_HOST if is_anywhere else LOOPBACK_HOST, number)
    except OSError as error:
        print_notice(f"port {number} cannot be used: {error.strerror}. Choose another one, or 0.")
        return ExitCode.ERROR
    number = listening.getsockname()[1]
    tls = _choose_certificate(args, user_data) if is_anywhere or args.tls_cert else None
    url = _choose_url(args, options, number, is_secure=tls is not None)
    rules = AddressRules.build(number, url=url, origins=options.origins, is_anywhere=is_anywhere)
    port = HubPort(listening, rules, tls, is_behind_tunnel=args.behind_tunnel)
    fingerprint = tls.read_fingerprint() if tls else ""
    logging_setup.log_to_stderr()
    with closing(HubDatabase(user_data.root)) as database:
        finder = KernelFinder(user_data.root, standalone=args.standalone)
        bots: list[ChatAdapter] = []
        if settings.telegram.enabled or settings.lark.enabled:
            from codekernel.cli.commands.hub_chats import open_chats  # their clients

            bots = open_chats(settings, database, user_data, finder.connect)
        service = HubService(database, port, StaticPages(find_pages_folder()), bots)
        sessions = RemoteAgentSessions(KernelRequests(user_data.root, "hub", finder.connect))
        service.table.attach(sessions)
        handle_stop_signals(service.stop)
        RunningHub(url, number, tls is not None, fingerprint).write(user_data.root)
        _print_pairing(service.context.pairing, url, fingerprint)
        print_notice("Ctrl-C stops the hub; codekernel hub pair shows another code")
        # Not on the main thread, whose signals are handled above.
        serving = threading.Thread(target=service.run, name="hub")
        serving.start()
        serving.join()
        RunningHub.remove(user_data.root)
        sessions.close()
    print_notice("stopped")
    return exit_now(ExitCode.OK, finder.close)


def _check_options(args: argparse.Namespace, options: HubOptions) -> None:
    """Raise WrongParam for options that do not fit together."""
    if bool(args.tls_cert) != bool(args.tls_key):
        raise WrongParam("--tls-cert and --tls-key belong together.")
    if args.behind_tunnel and not options.tunnel_url:
        raise WrongParam(
            "--behind-tunnel needs the public address of the tunnel: hub.tunnelUrl in settings.json"
        )


def _choose_certificate(args: argparse.Namespace, user_data: UserData) -> TlsFiles:
    if args.tls_cert:
        return TlsFiles(args.tls_cert, args.tls_key)
    with closing(CommandVault(user_data, os.environ)) as vault:
        keys = ApiKeys(vault)
        if not keys.has(_CERTIFICATE_KEY_NAME):
            keys.set(_CERTIFICATE_KEY_NAME, make_token())
        passphrase = keys.get(_CERTIFICATE_KEY_NAME)
    names = ("localhost", LOOPBACK_HOST, "::1", socket.gethostname(), _find_own_address())
    return open_own_certificate(user_data.root, passphrase, names)


def _choose_url(
    args: argparse.Namespace, options: HubOptions, port: int, *, is_secure: bool
) -> str:
    if args.behind_tunnel:
        return options.tunnel_url
    host = _find_own_address() if args.anywhere else LOOPBACK_HOST
    return f"{'https' if is_secure else 'http'}://{host}:{port}"


def _find_own_address() -> str:
    """Return the address of this machine in its network; loopback if it has none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(_SOME_ADDRESS)
        except OSError:
            return LOOPBACK_HOST
        address: str = probe.getsockname()[0]
        return address


def _print_pairing(pairing: Pairing, url: str, fingerprint: str) -> None:
    """Print a new code, as an address and as a QR code."""
    code = pairing.make_code()
    address = f"{url}/#pair={code}"
    if sys.stdout.isatty() and (sys.stdout.encoding or "").lower().startswith("utf"):
        write_lines(render_qr_code(address))
    write_lines([f"Open {address}", f"Code {code}"])
    if fingerprint:
        write_lines([f"Certificate SHA-256 {fingerprint}"])
    minutes = CODE_TTL_SECONDS // 60
    print_notice(f"the code pairs one device, within {minutes} minutes")


def _pair(_: argparse.Namespace, user_data: UserData) -> int:
    running = RunningHub.read(user_data.root)
    if running is None:
        print_notice("no hub is running: start it with codekernel hub, which shows a code")
        return ExitCode.FAILED
    with closing(HubDatabase(user_data.root)) as database:
        pairing = Pairing(database, DeviceRegistry(database))
        _print_pairing(pairing, running.url, running.fingerprint)
    return ExitCode.OK


def _make_key(args: argparse.Namespace, user_data: UserData) -> int:
    with closing(HubDatabase(user_data.root)) as database:
        device, key = DeviceRegistry(database).add(args.name)
    write_lines([key])
    print_notice(f"the key of {device.name!r}; it is shown once and can be revoked")
    return ExitCode.OK


def _list_devices(_: argparse.Namespace, user_data: UserData) -> int:
    with closing(HubDatabase(user_data.root)) as database:
        devices = DeviceRegistry(database).list_all()
    for device in devices:
        seen = datetime.fromtimestamp(device.last_seen_at, UTC).astimezone()
        print_line(f"{device.name}  {device.kind}  last seen {seen:%Y-%m-%d %H:%M}")
    if not devices:
        print_notice("no device is paired: codekernel hub shows a code")
    return ExitCode.OK


def _revoke(args: argparse.Namespace, user_data: UserData) -> int:
    with closing(HubDatabase(user_data.root)) as database:
        if DeviceRegistry(database).revoke(args.name):
            return ExitCode.OK
    print_notice(f"no device is called {args.name!r}: codekernel hub devices lists them")
    return ExitCode.FAILED


def _join(args: argparse.Namespace, user_data: UserData) -> int:
    from codekernel.adapters.hub.joining import HubAddress, MachineJoiner  # for this action

    address = HubAddress.from_url(args.url, args.fingerprint or "")
    name = _MACHINE_KEY_NAME.format(url=args.url.rstrip("/"))

    def keep_key(key: str) -> None:
        with closing(CommandVault(user_data, os.environ)) as vault:
            ApiKeys(vault).set(name, key)

    with closing(CommandVault(user_data, os.environ)) as vault:
        key = ApiKeys(vault).get(name) if ApiKeys(vault).has(name) else ""
    if not args.code and not key:
        raise WrongParam("This machine is not paired with that hub: add --code CODE.")
    finder = KernelFinder(user_data.root, standalone=args.standalone)
    joiner = MachineJoiner(
        address,
        socket.gethostname(),
        lambda: finder.connect(user_data.root),
        on_paired=keep_key,
        report=print_notice,
    )
    handle_stop_signals(lambda: exit_now(ExitCode.OK, finder.close))
    joiner.run(args.code or key, CancelToken(), is_code=bool(args.code))
    return ExitCode.OK


# Names of secrets in the vault.
TELEGRAM_KEY_NAME = "telegram:bot"
LARK_KEY_NAME = "lark:secret"


def read_secret(user_data: UserData, name: str) -> str:
    """Return a secret of the vault. Raises ApiKeyNotFound."""
    if not user_data.database_file.exists():
        raise ApiKeyNotFound(f"nothing is stored under {name!r}")
    with closing(CommandVault(user_data, os.environ)) as vault:
        return ApiKeys(vault).get(name)


def bind_user(args: argparse.Namespace, user_data: UserData) -> int:
    """Print a code that binds one person to the bot of a platform."""
    with closing(HubDatabase(user_data.root)) as database:
        code = ChatBindings(database, args.platform).create_code()
    write_lines([f"/bind {code}"])
    minutes = CODE_LIFETIME_SECONDS // 60
    print_notice(f"send this to the bot; it binds one person, within {minutes} minutes")
    return ExitCode.OK


def unbind_user(args: argparse.Namespace, user_data: UserData) -> int:
    """Withdraw a person's right to use the bot of a platform; without a name, list them."""
    with closing(HubDatabase(user_data.root)) as database:
        bindings = ChatBindings(database, args.platform)
        users = bindings.list_users()
        if not args.user:
            for user in users:
                bound = datetime.fromtimestamp(user.bound_at, UTC).astimezone()
                print_line(f"{user.user_id}  {escape_line(user.name)}  {bound:%Y-%m-%d %H:%M}")
            if not users:
                print_notice(f"nobody is bound: codekernel hub bind {args.platform}")
            return ExitCode.OK
        if bindings.unbind_user(args.user):
            return ExitCode.OK
    print_notice(f"nobody with the id {args.user!r} is bound")
    return ExitCode.FAILED

"""``codekernel backend``: document 000.

``--stdio``: the agent's tools as JSON lines. ``--http``: the agent as the Kode service, each
request in a session of its own in the shared kernel.
"""

import argparse
import os
import secrets
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from codekernel.adapters.kode import chat_request, stream
from codekernel.adapters.kode.chat_request import KodeChatRequest
from codekernel.adapters.kode.service import KodeService, ServedTurn
from codekernel.agent.registry import ToolRegistry
from codekernel.agent.session_store import AgentSessionStore
from codekernel.agent.tool import ToolContext
from codekernel.agent.tool_policy import (
    DEFAULT_ALLOWED_PERMISSIONS,
    AllowListPolicy,
    PermissionPolicy,
    ToolPermission,
)
from codekernel.agent.tools.toolsets import build_kode_tools, list_kode_agent_tools
from codekernel.agent.workspace.journal import ChangeJournal
from codekernel.agent.workspace.root import WorkspaceRoot
from codekernel.agent.workspace.text_file import FileStates
from codekernel.cli import model_selection
from codekernel.cli.agent_turn import AgentEventReader, AgentTask
from codekernel.cli.arguments import DEFAULT_KODE_PORT, KODE_KEY_NAME, KODE_PORT_FROM_ENV
from codekernel.cli.command_parser import MAX_PORT
from codekernel.cli.kernel_finder import KernelFinder
from codekernel.cli.output.terminal import print_line, print_notice
from codekernel.cli.process import ExitCode, exit_now, handle_stop_signals
from codekernel.cli.turn_stream import TurnStream
from codekernel.client.connection import KernelConnection
from codekernel.errors import KernelError, WrongParam
from codekernel.runtime import logging_setup
from codekernel.storage.user_data import UserData, open_user_data
from codekernel.storage.vault.vault import ApiKeys, CommandVault
from codekernel.transport.descriptors import claim_stdio
from codekernel.transport.lines import StreamChannel

PORT_ENV_VARIABLE = "KODE_API_PORT"


def run_backend(args: argparse.Namespace) -> int:
    """Serve lines or HTTP. Raises KernelError."""
    roots = args.root or ["."]
    if args.http is not None:
        return _serve_http(args, roots)
    if len(roots) > 1:
        args.complain("--stdio has one --root")
    return _answer_calls(args, roots[0])


def _answer_calls(args: argparse.Namespace, folder: str) -> int:
    """Answer every call until stdin ends; stdout gets nothing but messages."""
    wire = claim_stdio()
    logging_setup.log_to_stderr()
    registry = build_kode_tools()
    try:
        with closing(_make_tool_context(args, folder, registry)) as context:
            lines = StreamChannel(wire).iter_lines()
            for message in chat_request.answer_lines(lines, registry, context):
                wire.write(stream.encode_line(message))
    except KernelError as error:
        wire.write(stream.encode_line(stream.make_error_message(str(error))))
    except OSError:  # the program that started us is gone
        pass
    else:
        return ExitCode.OK
    return ExitCode.FAILED


def _make_tool_context(
    args: argparse.Namespace, folder: str, registry: ToolRegistry
) -> ToolContext:
    root, file_states = _open_root(folder), FileStates()
    more = map(ToolPermission, args.allow)
    allowed = (*DEFAULT_ALLOWED_PERMISSIONS, *more)
    permissions: PermissionPolicy = AllowListPolicy(allowed)
    if args.read_first:
        permissions = chat_request.ReadBeforeWrite(permissions, registry, root, file_states)
    user_data = open_user_data(args.user_data, os.environ)
    journal = ChangeJournal.from_user_data(user_data.root, f"backend-{secrets.token_hex(4)}", root)
    return ToolContext(root, journal, permissions=permissions, file_states=file_states)


def _open_root(folder: str) -> WorkspaceRoot:
    if not Path(folder).is_dir():
        raise KernelError(f"{folder} is no folder: --root must be the folder to work in.")
    return WorkspaceRoot.from_path(Path(folder))


def _serve_http(args: argparse.Namespace, folders: list[str]) -> int:
    logging_setup.log_to_stderr()
    user_data = open_user_data(args.user_data, os.environ)
    port, secret = _get_port(args.http), _find_secret(user_data)
    finder = KernelFinder(user_data.root, standalone=args.standalone)
    starter = _TurnStarter(args, user_data, tuple(map(_open_root, folders)), finder)
    try:
        service = KodeService(port, secret, starter.begin, allow_remote=args.anywhere)
    except OSError as error:
        print_notice(f"port {port} cannot be used: {error.strerror}. Choose another one, or 0.")
        return ExitCode.ERROR
    handle_stop_signals(lambda: exit_now(ExitCode.OK, finder.close))
    if not secret:
        print_notice(
            f"all clients are refused, because there is no key for them: set ${KODE_KEY_NAME},"
            f" or store one with codekernel key set {KODE_KEY_NAME}"
        )
    print_line(service.url)
    service.serve()
    return exit_now(ExitCode.OK, finder.close)


def _get_port(given: int) -> int:
    if given != KODE_PORT_FROM_ENV:
        return given
    text = os.environ.get(PORT_ENV_VARIABLE) or str(DEFAULT_KODE_PORT)
    if not text.isdecimal() or int(text) > MAX_PORT:
        raise WrongParam(f"${PORT_ENV_VARIABLE} is no port: {text!r}")
    return int(text)


def _find_secret(user_data: UserData) -> str:
    """Return the key of the clients: of the environment, else of the vault, else "".

    It is taken from the environment, which the kernel and the commands of an agent inherit.
    """
    secret = os.environ.pop(KODE_KEY_NAME, "")
    if secret or not user_data.database_file.exists():
        return secret
    with closing(CommandVault(user_data, os.environ)) as vault:
        keys = ApiKeys(vault)
        return keys.get(KODE_KEY_NAME) if keys.has(KODE_KEY_NAME) else ""


def _follow(turn: TurnStream) -> Iterator[stream.StreamedEvent]:
    reader = AgentEventReader()
    for part in turn.follow():
        yield from reader.read(part) if part is not None else (None,)


@dataclass(frozen=True, slots=True)
class _TurnStarter:
    """Begins turns in the kernel, each over a connection of its own."""

    args: argparse.Namespace
    user_data: UserData
    roots: tuple[WorkspaceRoot, ...]
    finder: KernelFinder

    @contextmanager
    def begin(self, request: KodeChatRequest) -> Iterator[ServedTurn]:
        """Make the turn of a request ready. Raises KernelError."""
        folder, root = request.choose_folder(self.roots)
        session, conversation_id = self._find_session(request.agent_id, folder)
        settings = model_selection.load_settings(self.user_data.settings_file)
        selection = model_selection.choose_usable_model(
            settings, self.args.model, self.user_data, os.environ
        )
        task = AgentTask(
            request.build_prompt(),
            folder,
            selection.name,
            session,
            conversation_id,
            list_kode_agent_tools(read_only=request.is_read_only),
            self.args.allow,
            within=str(root.folder),
            plan_first=True,
        )
        user_data, connect = self.user_data.root, self.finder.connect
        with KernelConnection.open(user_data, "backend", connect=connect) as kernel:
            selection.offer_to(kernel)
            turn = task.begin(kernel)
            yield ServedTurn(selection.name, not session, _follow(turn), turn.stop)

    def _find_session(self, agent_id: str, folder: Path) -> tuple[str, int]:
        """Return a session and its conversation; "" and 0 if there is none of this id.

        Raises WrongParam for a session of another folder.
        """
        if not agent_id:
            return "", 0
        try:
            session = AgentSessionStore(self.user_data.root).load(agent_id)
        except KernelError:
            return "", 0
        if session.root != folder:
            raise WrongParam(f"The agentId {session.id} is of another folder.")
        return session.id, session.conversation_id

"""The life of a kernel: its threads, its clients, and when it ends."""

import logging
import os
import queue
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace

from codekernel import __version__
from codekernel.app.services import KernelHooks, KernelServices
from codekernel.dispatch.dispatcher import Dispatcher, MainTarget
from codekernel.dispatch.notifications import NotificationSender, PendingReplies, SendLine
from codekernel.dispatch.routing import Lane, WorkerLane
from codekernel.domain.concurrency import CancelToken, start_thread
from codekernel.errors import InvalidSettings, StorageError
from codekernel.handlers import preload_search
from codekernel.handlers.context import KernelControl, Services, main_router, session_router
from codekernel.inference.providers import detect_hardware
from codekernel.protocol import MAIN_SESSION_ID, PROTOCOL_VERSION, READY_CALLBACK_ID
from codekernel.protocol.messages.kernel import (
    Attach,
    KernelInfo,
    KernelStatus,
    KernelStopping,
)
from codekernel.protocol.messages.repos import KernelServerCrashed
from codekernel.runtime import late_services
from codekernel.runtime.clients import (
    AnyClient,
    Client,
    ClientInfo,
    ClientTable,
    ModeClient,
    describe_open_indexes,
    describe_status,
)
from codekernel.runtime.earlier_folder import EarlierDesktopFolder
from codekernel.runtime.endpoint import MCP_MODE, ClientListener, EndpointServer
from codekernel.runtime.retirement import Retirement
from codekernel.runtime.sessions import (
    Session,
    SessionSupervisor,
)
from codekernel.storage.process_lock import ProcessLock
from codekernel.storage.user_data import UserData
from codekernel.transport.lines import Channel
from codekernel.transport.local_endpoint import LocalListener, LocalPipe

logger = logging.getLogger(__name__)

# Turns interrupted by a crash can wait until the first window is open.
RECOVERY_DELAY_SECONDS = 1.0

# A model that is being loaded cannot be interrupted.
WORKSPACES_CLOSE_TIMEOUT_SECONDS = 5.0

# Whoever starts a kernel attaches at once, but on a busy machine.
FIRST_CLIENT_TIMEOUT_SECONDS = 20.0

# An unused kernel looks again after so long, should a clock be coarse.
MIN_IDLE_CHECK_SECONDS = 0.05


class Kernel:
    """One userData folder and the clients that share it.

    A client on ``channel`` owns the kernel: it ends with that client. Others come by ``listener``,
    and without an owner the kernel ends when none has been attached for a while.
    """

    def __init__(
        self,
        user_data: UserData,
        environ: Mapping[str, str],
        channel: Channel | None = None,
        *,
        listener: ClientListener | None = None,
        owner: ClientInfo | None = None,
    ) -> None:
        self._channel = channel
        self._listener = listener
        self._owner = owner or ClientInfo("owner")
        self._user_data = user_data
        # Unlike an Event, a signal handler may fill it while the same thread waits for it.
        # A reason to stop, or None to look again whether the kernel is used.
        self._stop_requests: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._stop_reason = ""
        self._fatal_error: BaseException | None = None
        self._stopping = CancelToken()
        self._started_at = time.time()
        self._pending = PendingReplies(READY_CALLBACK_ID)
        if channel:
            self._pending.expect("ready")
        self._clients = ClientTable(on_empty=lambda: self._stop_requests.put(None))
        self._instance_lock = ProcessLock(user_data.lock_file)
        self._services = KernelServices(
            user_data,
            environ,
            KernelHooks(
                is_shared=isinstance(listener, LocalListener),
                owns_user_data=lambda: self._instance_lock.is_held,
                get_linger_seconds=self._get_linger_seconds,
                on_repos_changed=self._clients.announce_repos_changed,
                on_agents_idle=lambda: self._stop_requests.put(None),
            ),
        )
        self._earlier_folder = EarlierDesktopFolder(user_data, self._services.vault, environ)
        info = KernelInfo(
            kernel_version=__version__, protocol_version=PROTOCOL_VERSION, pid=os.getpid()
        )
        shared = listener if isinstance(listener, LocalListener) else None
        self._retirement = Retirement(info, shared, self._clients, self._begin_retirement)
        self._control = KernelControl(
            info, self._describe_status, self._clients.find_open_repos, self.stop
        )

    def run(self) -> int:
        """Answer until stopped; return the exit code."""
        try:
            if not self._instance_lock.try_acquire():
                logger.warning("another codekernel may be serving the same userData")
        except StorageError as error:
            logger.warning("userData cannot be locked. %s", error)
        self._take_over_earlier_folder()
        self._services.workspaces.delete_discarded()
        self._services.settings.load()
        self._start_thread("needs", self._services.settings.log_unmet_requirements)
        self._start_thread("preload", preload_search)
        self._start_thread("recover", self._recover_interrupted_turns)
        if self._channel:
            owner = self._attach(self._owner, self._channel, self.stop)
            self._start_thread("stdin", lambda: self._serve_owner(owner))
        if listener := self._listener:
            self._start_thread("endpoint", lambda: self._accept_clients(listener))
        while not self._is_stopped(self._get_wait_timeout_seconds()):
            self._pending.expire()
            self._retirement.release_clients()
            self._hand_over_agents()
            if self._is_unused():
                break
        return self._shut_down()

    def _take_over_earlier_folder(self) -> None:
        """Merge what the desktop app had in a folder of its own, if it does not use it now."""
        if self._instance_lock.is_held and self._earlier_folder.take_over():
            with suppress(InvalidSettings):  # which ``load`` or checkSettings explains
                self._services.settings.update()
            self._clients.announce_repos_changed()

    def _recover_interrupted_turns(self) -> None:
        """Recover the turns a crash interrupted, after the start."""
        if not self._stopping.wait(RECOVERY_DELAY_SECONDS):
            self._services.conversations().recover_once()
            late_services.remove_unfinished_writes(self._user_data)
            if self._user_data.sync_database_file.exists():
                self._services.agents().recover(self._stopping)

    def stop(self, reason: str = "") -> None:
        """Ask ``run`` to end; callable from any thread and from a signal handler."""
        self._stop_requests.put(reason)

    def crash(self, error: BaseException) -> None:
        """Ask ``run`` to end because the kernel itself is broken."""
        logger.critical("the kernel crashed", exc_info=error)
        self._fatal_error = error
        self._stop_requests.put(str(error))

    def _begin_retirement(self) -> None:
        self._instance_lock.release()  # the newer kernel's
        self._services.agents.use_if_created(lambda agents: agents.retire())
        self._start_thread("retire", lambda: self._services.workspaces.close_unused(0.0))
        self._stop_requests.put(None)

    def _is_stopped(self, timeout_seconds: float | None) -> bool:
        """Wait for a stop request, up to the timeout."""
        try:
            reason = self._stop_requests.get(timeout=timeout_seconds)
        except queue.Empty:
            reason = None
        self._stop_reason = reason or ""
        return reason is not None

    def _is_unused(self) -> bool:
        """Return whether the last client has been gone for as long as the settings say."""
        empty = self._clients.seconds_empty
        if self._listener is None or empty is None:
            return False
        return empty >= self._idle_timeout_seconds and not self._has_busy_agents()

    def _has_busy_agents(self) -> bool:
        """Return whether an agent works or waits for a permission, whoever has begun it."""
        busy: list[bool] = []
        retired = self._retirement.is_begun
        self._services.agents.use_if_created(lambda it: busy.append(it.is_busy(is_retired=retired)))
        return any(busy)

    def _hand_over_agents(self) -> None:
        """Let a newer kernel run the agents, as soon as none works here."""
        if self._retirement.is_begun and not self._has_busy_agents():
            self._services.agents.use_if_created(lambda agents: agents.close())

    def _get_wait_timeout_seconds(self) -> float | None:
        """Until the next overdue reply, or until the kernel is unused for long enough.

        On Windows a second at most, for a wait there ignores Ctrl-C.
        """
        release_seconds = self._retirement.seconds_to_next_release
        timeouts = [self._pending.seconds_to_next_deadline(), release_seconds]
        empty = self._clients.seconds_empty
        if self._listener and empty is not None and not self._has_busy_agents():
            left = self._idle_timeout_seconds - empty
            timeouts.append(max(MIN_IDLE_CHECK_SECONDS, left))
        if os.name == "nt":
            timeouts.append(1.0)
        return min((each for each in timeouts if each is not None), default=None)

    @property
    def _idle_timeout_seconds(self) -> float:
        """How long the kernel stays without a client; the first one needs a moment to come."""
        if self._retirement.is_begun:
            return 0.0
        seconds = 60 * self._services.settings.current.kernel.idle_minutes
        return seconds if self._clients.had_client else max(seconds, FIRST_CLIENT_TIMEOUT_SECONDS)

    def _get_linger_seconds(self) -> float:
        """A shared kernel keeps workspaces for the next client; an owner closes what it closes."""
        return self._idle_timeout_seconds if self._listener else 0.0

    def _attach(
        self,
        info: ClientInfo,
        channel: Channel,
        stop: Callable[[], None],
        notify: SendLine | None = None,
    ) -> Client:
        """Build what one client needs; ``stop`` is called when it sends stopAll.

        ``notify`` sends without waiting for a client that does not read.
        """
        self._take_over_earlier_folder()
        self._services.settings.reload_if_edited()
        announcer = NotificationSender(self._pending, notify or channel.send)
        session_services = replace(
            self._services.of_sessions, has_mirror=info.has_mirror, client=info.name
        )
        supervisor = SessionSupervisor(session_services, announcer, self._services.sessions)
        lanes = {
            Lane.MAIN: WorkerLane("main", self.crash),
            Lane.SETTINGS: WorkerLane("settings", self.crash),
        }
        stopping, watching = self._stopping.create_child(), threading.Event()
        services = Services(
            repos=self._services.repos,
            keys=self._services.keys,
            settings=self._services.settings,
            offered_models=self._services.offered_models,
            supervisor=supervisor,
            workspaces=self._services.workspaces,
            hardware=detect_hardware,
            stop=stop,
            stopping=stopping,
            watch_repos=watching.set,
            control=self._control,
            agents=self._services.agents,
        )
        dispatcher: Dispatcher[Services, Session] = Dispatcher(
            main=MainTarget(main_router, services, lanes),
            session_router=session_router,
            find_session=supervisor.find,
            pending=self._pending,
            send=channel.send,
        )
        client = Client(
            info, channel, dispatcher, lanes, supervisor, announcer, stopping, stop, watching
        )
        self._clients.add(client)
        return client

    def _serve_owner(self, owner: Client) -> None:
        owner.read_lines(owner.channel.iter_lines())
        self.stop()

    def _accept_clients(self, listener: ClientListener) -> None:
        modes = {MCP_MODE: self._attach_mcp}
        EndpointServer(listener, self._clients, self._attach, modes, self._retirement).run()

    def _attach_mcp(self, info: ClientInfo, asked: Attach, pipe: LocalPipe) -> ModeClient:
        from codekernel.adapters.mcp.attached import AttachedServices, attach_mcp  # noqa: PLC0415 - needed for MCP alone

        self._services.settings.reload_if_edited()
        services = AttachedServices(
            self._user_data,
            self._services.repos,
            self._services.sessions,
            self._services.of_sessions,
        )
        return attach_mcp(services, info, asked, pipe)

    def _start_thread(self, name: str, work: Callable[[], object]) -> None:
        start_thread(name, work, self.crash)

    def _describe_status(self) -> KernelStatus:
        return describe_status(
            self._control.info,
            self._user_data.root,
            self._started_at,
            self._clients.list_clients(),
            describe_open_indexes(
                self._services.workspaces.list_lingering(), self._services.sessions.list_sessions()
            ),
        )

    def _shut_down(self) -> int:
        """Shut down in order; return 0 only if everything ended cleanly."""
        if self._listener:
            self._listener.close()
        clients = self._clients.remove_all()
        for client in clients:
            if isinstance(client, Client) and client.channel is not self._channel:
                client.dispatcher.fall_silent()
        self._stopping.cancel()
        with ThreadPoolExecutor(max(1, len(clients))) as pool:
            ended = list(pool.map(self._end_client, clients))
        # Nobody waits for the end of a shared kernel; a front end waits for that of its own.
        self._services.workspaces.close_unused(
            WORKSPACES_CLOSE_TIMEOUT_SECONDS if self._listener else 0.0
        )
        self._services.agents.use_if_created(lambda it: it.close())
        self._services.conversations.use_if_created(lambda it: it.close())
        self._services.vault.close()
        self._instance_lock.release()
        is_clean = all(ended) and self._fatal_error is None
        logger.info("stopped%s", "" if is_clean else ", but not cleanly")
        return int(not is_clean)

    def _end_client(self, client: AnyClient) -> bool:
        if not isinstance(client, Client):
            return client.shut_down()

        def say_last() -> None:
            if self._fatal_error is not None:
                error = str(self._fatal_error) or type(self._fatal_error).__name__
                client.announcer.send_unconfirmed(MAIN_SESSION_ID, KernelServerCrashed(error=error))
            elif isinstance(self._listener, LocalListener):
                new = not client.dispatcher.has_answered  # it would take this for a refusal
                last = KernelStopping(reason=self._stop_reason, retired=new)
                client.announcer.send_unconfirmed(MAIN_SESSION_ID, last)

        return client.shut_down(say_last)

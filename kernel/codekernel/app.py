"""The composition root: builds the services of one kernel, starts its threads, shuts it down."""

import logging
import os
import queue
import sys
import threading
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING

from codekernel.dispatch.dispatcher import Dispatcher, MainTarget
from codekernel.dispatch.notifications import NotificationSender, PendingReplies
from codekernel.dispatch.routing import Lane, WorkerLane
from codekernel.domain.concurrency import CancelToken, Lazy
from codekernel.domain.settings import Hardware, Settings
from codekernel.errors import Stopping, StorageError, WrongParam
from codekernel.handlers.context import Services, main_router, session_router
from codekernel.protocol.envelope import MAIN_SESSION_ID
from codekernel.protocol.handshake import READY_CALLBACK_ID
from codekernel.protocol.messages.repos import KernelServerCrashed
from codekernel.runtime.sessions import Session, SessionServices, SessionSupervisor
from codekernel.runtime.workspaces import Workspaces
from codekernel.settings.live import LiveSettings
from codekernel.storage.file_locks import ProcessLock
from codekernel.storage.user_data import UserData
from codekernel.storage.vault.tables import ApiKeys, RepoRegistry, UsageLedger
from codekernel.storage.vault.vault import Vault
from codekernel.transport.lines import MAX_LINE_BYTES, Channel, OversizedLine

if TYPE_CHECKING:  # costs a third of a second
    from codekernel.agent.turns import AgentTurns
    from codekernel.conversation.conversations import Conversations
    from codekernel.inference.model_pool import ModelPool

logger = logging.getLogger(__name__)

# The front end waits for the exit; these bound what it may have to wait for.
LANES_STOP_TIMEOUT_SECONDS = 3.0

SESSIONS_STOP_TIMEOUT_SECONDS = 3.0

# Turns interrupted by a crash can wait until the first window is open.
RECOVERY_DELAY_SECONDS = 1.0

# Threads that stream take turns: the more of them, the longer each may go on, or they spend their
# time on taking turns. Fifty conversations took 5.4 to 7.3 s of processor time with the interval of
# serve.py and 3.2 to 3.6 s with ten times it; the median token came 20 to 350 ms late, or 1 to 5.
MAX_SWITCH_INTERVAL_FACTOR = 10

DRAIN_TIMEOUT_SECONDS = 1.0

FLUSH_TIMEOUT_SECONDS = 3.0


class Kernel:
    """Everything between one channel and one userData folder."""

    def __init__(
        self,
        user_data: UserData,
        environ: Mapping[str, str],
        channel: Channel,
        *,
        for_pocketrag: bool = False,
    ) -> None:
        """``for_pocketrag``: started by its front end, which reads histories in repositories."""
        self._channel = channel
        self._for_pocketrag = for_pocketrag
        self._user_data = user_data
        # Unlike an Event, a signal handler may fill it while the same thread waits for it.
        self._stop_requests: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._fatal_error: BaseException | None = None
        self._stopping = CancelToken()
        self._pending = PendingReplies(READY_CALLBACK_ID)
        self._pending.expect("ready")
        self._announcer = NotificationSender(self._pending, channel.send)
        self._instance_lock = ProcessLock(user_data.lock_file)
        self._vault = Vault(user_data, environ, may_quarantine=lambda: self._instance_lock.is_held)
        self._services = self._build_services(user_data)
        self._lanes = {
            Lane.MAIN: WorkerLane("main", self.crash),
            Lane.SETTINGS: WorkerLane("settings", self.crash),
        }
        self._dispatcher: Dispatcher[Services, Session] = Dispatcher(
            main=MainTarget(main_router, self._services, self._lanes),
            session_router=session_router,
            find_session=self._services.supervisor.find,
            pending=self._pending,
            send=channel.send,
        )

    def run(self) -> int:
        """Answer until stopped; return the exit code."""
        try:
            if not self._instance_lock.try_acquire():
                logger.warning("another codekernel may be serving the same userData")
        except StorageError as error:
            logger.warning("userData cannot be locked. %s", error)
        self._services.workspaces.delete_discarded()
        self._services.settings.load()
        self._start_thread("needs", self._services.settings.log_unmet_requirements)
        self._start_thread("preload", _preload_modules)
        self._start_thread("recover", self._recover_interrupted_turns)
        self._start_thread("stdin", self._read_lines)
        while not self._is_stopped(self._get_wait_timeout_seconds()):
            self._pending.expire()
        return self._shut_down()

    def _recover_interrupted_turns(self) -> None:
        """Recover the turns a crash interrupted, after the start."""
        if not self._stopping.wait(RECOVERY_DELAY_SECONDS):
            self._conversations().recover()
            _remove_unfinished_writes(self._user_data)

    def stop(self) -> None:
        """Ask ``run`` to end; callable from any thread and from a signal handler."""
        self._stop_requests.put(None)

    def crash(self, error: BaseException) -> None:
        """Ask ``run`` to end because the kernel itself is broken."""
        logger.critical("the kernel crashed", exc_info=error)
        self._fatal_error = error
        self._stop_requests.put(None)

    def _is_stopped(self, timeout_seconds: float | None) -> bool:
        """Wait for a stop request, up to the timeout."""
        try:
            self._stop_requests.get(timeout=timeout_seconds)
        except queue.Empty:
            return False
        return True

    def _get_wait_timeout_seconds(self) -> float | None:
        """Until the next overdue reply; on Windows a second, for a wait there ignores Ctrl-C."""
        deadline = self._pending.seconds_to_next_deadline()
        if os.name == "nt":
            return min(1.0, deadline if deadline is not None else 1.0)
        return deadline

    def _build_services(self, user_data: UserData) -> Services:
        keys = ApiKeys(self._vault)
        settings = LiveSettings(
            user_data.settings_file, user_data.modified_settings_file, keys.has, _detect_hardware
        )
        workspaces = Workspaces(user_data, settings, _get_model_pool)
        self._conversations = Lazy(
            lambda: _open_conversations(
                user_data,
                self._vault,
                lambda: settings.current,
                has_mirror=self._for_pocketrag,
            )
        )
        usage = UsageLedger(self._vault)
        agents = Lazy(lambda: _open_agent_turns(user_data, self._conversations()))
        services = SessionServices(workspaces, settings, usage, self._conversations, agents)
        return Services(
            repos=RepoRegistry(self._vault),
            keys=keys,
            settings=settings,
            supervisor=SessionSupervisor(services, self._announcer),
            workspaces=workspaces,
            hardware=_detect_hardware,
            stop=self.stop,
            stopping=self._stopping,
        )

    def _start_thread(self, name: str, work: Callable[[], object]) -> None:
        def guarded() -> None:
            try:
                work()
            except BaseException as error:  # noqa: BLE001 - the guard of this thread
                self.crash(error)

        threading.Thread(target=guarded, name=name, daemon=True).start()

    def _read_lines(self) -> None:
        for line in self._channel.iter_lines():
            if isinstance(line, OversizedLine):
                self._dispatcher.reject(line.prefix, _make_line_too_long_error(line))
            else:
                self._dispatcher.accept(line)
        self.stop()

    def _shut_down(self) -> int:
        """Shut down in order; return 0 only if everything ended cleanly."""
        refusal = Stopping("the kernel is stopping")
        self._stopping.cancel()
        for lane in self._lanes.values():
            lane.close(refusal)
        ended = [lane.join(LANES_STOP_TIMEOUT_SECONDS) for lane in self._lanes.values()]
        ended += [self._services.supervisor.close_all(refusal, SESSIONS_STOP_TIMEOUT_SECONDS)]
        self._dispatcher.drain(DRAIN_TIMEOUT_SECONDS, refusal)
        if self._fatal_error is not None:
            error = str(self._fatal_error) or type(self._fatal_error).__name__
            self._announcer.send_unconfirmed(MAIN_SESSION_ID, KernelServerCrashed(error=error))
        ended += [self._channel.close(FLUSH_TIMEOUT_SECONDS)]
        self._conversations.use_if_created(lambda it: it.close())
        self._vault.close()
        self._instance_lock.release()
        clean = all(ended) and self._fatal_error is None
        logger.info("stopped%s", "" if clean else ", but not cleanly")
        return 0 if clean else 1


def _make_line_too_long_error(line: OversizedLine) -> WrongParam:
    return WrongParam(
        f"Invalid message format: a line of {line.length} bytes is longer than "
        f"the {MAX_LINE_BYTES} a message may have"
    )


def _preload_modules() -> None:
    """Import what the first openRepo needs, before it arrives."""
    import codekernel.indexing.repository_index  # noqa: PLC0415
    import codekernel.search.pipeline  # noqa: F401, PLC0415


@cache
def _get_model_pool() -> "ModelPool":
    """The loaded models of the whole process."""
    from codekernel.inference.model_pool import ModelPool  # noqa: PLC0415 - heavy, seldom needed

    return ModelPool()


def _make_switch_interval_setter(base_seconds: float) -> Callable[[int], None]:
    """Return a function that adapts the switch interval to the number of streams."""

    def share(turns: int) -> None:
        sys.setswitchinterval(base_seconds * min(max(turns, 1), MAX_SWITCH_INTERVAL_FACTOR))

    return share


def _open_conversations(
    user_data: UserData, vault: Vault, settings: Callable[[], Settings], *, has_mirror: bool
) -> "Conversations":
    """The conversations of one userData folder; nothing is opened yet."""
    from codekernel.conversation.chat_services import DEFAULT_OPENERS, count_tokens  # noqa: PLC0415 - a tenth of a second
    from codekernel.conversation.conversations import Conversations  # noqa: PLC0415
    from codekernel.llm.model_pool import ChatModelPool  # noqa: PLC0415
    from codekernel.storage.conversation_files import ConversationFiles  # noqa: PLC0415

    models = ChatModelPool(settings, ApiKeys(vault).get, DEFAULT_OPENERS)
    files = ConversationFiles(user_data.conversations_folder)
    return Conversations(
        files,
        UsageLedger(vault),
        models,
        settings,
        count_tokens,
        has_mirror=has_mirror,
        on_count_changed=_make_switch_interval_setter(sys.getswitchinterval()),
    )


def _remove_unfinished_writes(user_data: UserData) -> None:
    from codekernel.agent.workspace.temporary_files import TemporaryFileLog  # noqa: PLC0415 - after the start

    TemporaryFileLog.from_user_data(user_data.root).remove_stale()


def _open_agent_turns(user_data: UserData, conversations: "Conversations") -> "AgentTurns":
    from codekernel.agent.turns import AgentTurns  # noqa: PLC0415 - with the first task

    return AgentTurns(user_data.root, conversations)


def _detect_hardware() -> Hardware:
    from codekernel.inference.providers import detect_hardware  # noqa: PLC0415 - heavy, seldom needed

    return detect_hardware()

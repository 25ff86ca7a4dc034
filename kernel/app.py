"""The composition root: names the concrete parts, opens them in order, closes them in reverse."""

import logging
import os
import queue
import sys
import threading
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING

from kernel.dispatch.announcing import Announcer
from kernel.dispatch.dispatcher import Dispatcher, Reception
from kernel.dispatch.lanes import Lane, WorkerLane
from kernel.dispatch.pending import PendingReplies
from kernel.domain.cancel import CancelToken
from kernel.domain.hardware import Hardware
from kernel.domain.later import Later
from kernel.domain.settings import Settings
from kernel.errors import Stopping, StorageError, WrongParam
from kernel.handlers import House, main_router, session_router
from kernel.protocol.envelope import MAIN_SESSION_ID
from kernel.protocol.messages.lifecycle import KernelServerCrashed
from kernel.protocol.ready import READY_CALLBACK_ID
from kernel.sessions.session import Session, SessionServices
from kernel.sessions.supervisor import Supervisor
from kernel.sessions.workspaces import Workspaces
from kernel.settings.live import LiveSettings
from kernel.storage.api_keys import ApiKeys
from kernel.storage.instance_lock import InstanceLock
from kernel.storage.repo_registry import RepoRegistry
from kernel.storage.usage import UsageLedger
from kernel.storage.user_data import UserData
from kernel.storage.vault import Vault
from kernel.transport.channel import Channel
from kernel.transport.lines import LINE_LIMIT_BYTES, OversizedLine

if TYPE_CHECKING:  # costs a third of a second
    from kernel.agent.turns import AgentTurns
    from kernel.conversation.conversations import Conversations
    from kernel.inference.shelf import Shelf

logger = logging.getLogger(__name__)

# The front end waits for the exit; these bound what it may have to wait for.
LANES_END_WITHIN_SECONDS = 3.0
SESSIONS_END_WITHIN_SECONDS = 3.0
# What was cut off last time can wait until the first window is open.
RECOVERY_AFTER_SECONDS = 1.0
# Threads that stream take turns: the more of them, the longer each may go on, or they spend their
# time on taking turns. Fifty conversations took 5.4 to 7.3 s of processor time with the interval of
# serve.py and 3.2 to 3.6 s with ten times it; the median token came 20 to 350 ms late, or 1 to 5.
MOST_PATIENCE = 10
ANSWERS_SENT_WITHIN_SECONDS = 1.0
CHANNEL_FLUSHED_WITHIN_SECONDS = 3.0


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
        """``for_pocketrag``: its front end has started us, and reads histories in repositories."""
        self._channel = channel
        self._for_pocketrag = for_pocketrag
        self._user_data = user_data
        # Unlike an Event, a signal handler may fill it while the same thread waits for it.
        self._stop: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._fatal: BaseException | None = None
        self._stopping = CancelToken()
        self._pending = PendingReplies(READY_CALLBACK_ID)
        self._pending.expect("ready")
        self._announcer = Announcer(self._pending, channel.send)
        self._instance = InstanceLock(user_data.lock_file)
        self._vault = Vault(user_data, environ, may_set_aside=lambda: self._instance.held)
        self._house = self._furnish(user_data)
        self._lanes = {
            Lane.MAIN: WorkerLane("main", self.crash),
            Lane.SETTINGS: WorkerLane("settings", self.crash),
        }
        self._dispatcher: Dispatcher[House, Session] = Dispatcher(
            main=Reception(main_router, self._house, self._lanes),
            session_router=session_router,
            find_session=self._house.supervisor.find,
            pending=self._pending,
            send=channel.send,
        )

    def run(self) -> int:
        """Answer until told to stop; the exit code."""
        try:
            if not self._instance.take():
                logger.warning("another codekernel may be serving the same userData")
        except StorageError as error:
            logger.warning("userData cannot be locked. %s", error)
        self._house.workspaces.sweep()
        self._house.settings.load()
        self._start("needs", self._house.settings.warn_of_needs)
        self._start("preload", _preload)
        self._start("recover", self._recover)
        self._start("stdin", self._read)
        while not self._is_stopped(self._patience_seconds()):
            self._pending.expire()
        return self._end()

    def _recover(self) -> None:
        """Settle what a crash cut off, once whoever has just started us is no longer waiting."""
        if not self._stopping.wait(RECOVERY_AFTER_SECONDS):
            self._conversations().recover()
            _remove_unfinished_writes(self._user_data)

    def stop(self) -> None:
        """Ask ``run`` to end; callable from any thread and from a signal handler."""
        self._stop.put(None)

    def crash(self, error: BaseException) -> None:
        """Ask ``run`` to end because the kernel itself is broken."""
        logger.critical("the kernel crashed", exc_info=error)
        self._fatal = error
        self._stop.put(None)

    def _is_stopped(self, timeout_seconds: float | None) -> bool:
        """Wait for a stop, so long at the most."""
        try:
            self._stop.get(timeout=timeout_seconds)
        except queue.Empty:
            return False
        return True

    def _patience_seconds(self) -> float | None:
        """Until the next overdue reply; on Windows a second, for a wait there is deaf to Ctrl-C."""
        deadline = self._pending.seconds_to_next_deadline()
        if os.name == "nt":
            return min(1.0, deadline if deadline is not None else 1.0)
        return deadline

    def _furnish(self, user_data: UserData) -> House:
        keys = ApiKeys(self._vault)
        settings = LiveSettings(
            user_data.settings_file, user_data.modified_settings_file, keys.has, _hardware
        )
        workspaces = Workspaces(user_data, settings, _shelf)
        self._conversations = Later(
            lambda: _conversations_in(
                user_data,
                self._vault,
                lambda: settings.current,
                mirrors=self._for_pocketrag,
            )
        )
        usage = UsageLedger(self._vault)
        agents = Later(lambda: _agents_in(user_data, self._conversations()))
        services = SessionServices(workspaces, settings, usage, self._conversations, agents)
        return House(
            repos=RepoRegistry(self._vault),
            keys=keys,
            settings=settings,
            supervisor=Supervisor(services, self._announcer),
            workspaces=workspaces,
            hardware=_hardware,
            try_endpoint=_try_endpoint,
            stop=self.stop,
            stopping=self._stopping,
        )

    def _start(self, name: str, work: Callable[[], object]) -> None:
        def guarded() -> None:
            try:
                work()
            except BaseException as error:  # noqa: BLE001 - the guard of this thread
                self.crash(error)

        threading.Thread(target=guarded, name=name, daemon=True).start()

    def _read(self) -> None:
        for line in self._channel.lines():
            if isinstance(line, OversizedLine):
                self._dispatcher.reject(line.prefix, _too_long(line))
            else:
                self._dispatcher.accept(line)
        self.stop()

    def _end(self) -> int:
        """Tear down in order; 0 only if everything ended as it should."""
        refusal = Stopping("the kernel is stopping")
        self._stopping.cancel()
        for lane in self._lanes.values():
            lane.close(refusal)
        ended = [lane.join(LANES_END_WITHIN_SECONDS) for lane in self._lanes.values()]
        ended += [self._house.supervisor.close_all(refusal, SESSIONS_END_WITHIN_SECONDS)]
        self._dispatcher.drain(ANSWERS_SENT_WITHIN_SECONDS, refusal)
        if self._fatal is not None:
            error = str(self._fatal) or type(self._fatal).__name__
            self._announcer.shout(MAIN_SESSION_ID, KernelServerCrashed(error=error))
        ended += [self._channel.close(CHANNEL_FLUSHED_WITHIN_SECONDS)]
        self._conversations.when_there(lambda it: it.close())
        self._vault.close()
        self._instance.release()
        clean = all(ended) and self._fatal is None
        logger.info("stopped%s", "" if clean else ", but not cleanly")
        return 0 if clean else 1


def _too_long(line: OversizedLine) -> WrongParam:
    return WrongParam(
        f"Invalid message format: a line of {line.length} bytes is longer than "
        f"the {LINE_LIMIT_BYTES} a message may have"
    )


def _preload() -> None:
    """Import what the first openRepo needs while the front end has not asked for it yet."""
    import kernel.indexing.repository_index  # noqa: PLC0415
    import kernel.search.searcher  # noqa: F401, PLC0415


@cache
def _shelf() -> "Shelf":
    """The loaded models of the whole process."""
    from kernel.inference.shelf import Shelf  # noqa: PLC0415 - heavy, seldom needed

    return Shelf()


def _taking_turns(usual_seconds: float) -> Callable[[int], None]:
    """What to do when so many conversations stream at once."""

    def share(turns: int) -> None:
        sys.setswitchinterval(usual_seconds * min(max(turns, 1), MOST_PATIENCE))

    return share


def _conversations_in(
    user_data: UserData, vault: Vault, settings: Callable[[], Settings], *, mirrors: bool
) -> "Conversations":
    """The conversations of one userData folder; nothing is opened yet."""
    from kernel.chat_models import OPENERS, count_tokens  # noqa: PLC0415 - a tenth of a second
    from kernel.conversation.conversations import Conversations  # noqa: PLC0415
    from kernel.conversation.mirror import HistoryMirror  # noqa: PLC0415
    from kernel.conversation.models import ChatModels  # noqa: PLC0415
    from kernel.storage.conversations import ConversationFiles  # noqa: PLC0415

    models = ChatModels(settings, ApiKeys(vault).get, OPENERS)
    files = ConversationFiles(user_data.conversations)
    made = Conversations(files, UsageLedger(vault), models, settings, count_tokens)
    if mirrors:
        made.mirror_to(HistoryMirror())
    made.tell_crowd(_taking_turns(sys.getswitchinterval()))
    return made


def _remove_unfinished_writes(user_data: UserData) -> None:
    from kernel.agent.unfinished_writes import UnfinishedWrites  # noqa: PLC0415 - after the start

    UnfinishedWrites.under(user_data.root).remove_left()


def _agents_in(user_data: UserData, conversations: "Conversations") -> "AgentTurns":
    from kernel.agent.turns import AgentTurns  # noqa: PLC0415 - with the first task

    return AgentTurns(user_data.root, conversations)


def _hardware() -> Hardware:
    from kernel.inference.providers import available_hardware  # noqa: PLC0415 - heavy, seldom needed

    return available_hardware()


def _try_endpoint(*, model_name: str, url: str, api_key: str, cancel: CancelToken) -> None:
    from kernel.llm.trial import try_endpoint  # noqa: PLC0415 - heavy, seldom needed

    try_endpoint(model_name=model_name, url=url, api_key=api_key, cancel=cancel)

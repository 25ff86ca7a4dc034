"""Carries out the calls of a backend: side by side, each within its time, each answered once."""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import replace

from kernel.agent.context import ToolContext
from kernel.agent.danger import Danger
from kernel.agent.registry import Registry
from kernel.agent.root import Root
from kernel.agent.tool import Outcome, ToolFailed, failed
from kernel.domain.cancel import CancelToken
from kernel.doors.ide.messages import (
    Strange,
    ToolCall,
    ToolResult,
    missing_field,
    read_call,
    result_text,
)
from kernel.errors import Cancelled

logger = logging.getLogger(__name__)

# The backend gives up after 30 s; an answer must be there before that.
CALL_SECONDS = 25.0
MOST_AT_ONCE = 8
# Beyond it somebody has lost count.
MOST_WAITING = 256

Reply = Callable[[str], None]


class Executor:
    """The tools of one project; ``project_key`` is its name, if it is known."""

    def __init__(
        self,
        tools: Registry,
        context: ToolContext,
        project_key: str = "",
        call_seconds: float = CALL_SECONDS,
    ) -> None:
        self._tools = tools
        self._context = context
        self._project_key = project_key
        # How long a call may take, the wait for its turn included.
        self.seconds = call_seconds
        self.turns = threading.Semaphore(MOST_AT_ONCE)
        self.places = threading.Semaphore(MOST_WAITING)
        # Two changes of one file at the same time would lose one of them.
        self._writing = threading.Lock()

    def take(self, message: str | bytes, reply: Reply) -> None:
        """Carry out a message; never waits. ``reply`` gets the one answer, on any thread."""
        asked = read_call(message)
        if isinstance(asked, Strange):
            logger.debug("a message of type %s is not for tools", asked.type)
        elif isinstance(asked, ToolResult):
            reply(result_text(asked))
        elif not self.places.acquire(blocking=False):
            busy = f"工具调用过多, 请稍后重试 (上限 {MOST_WAITING})"
            reply(result_text(ToolResult(asked.id, success=False, text=busy)))
        else:
            _Running(self, asked, reply).start()

    def run(self, call: ToolCall, cancel: CancelToken) -> Outcome:
        """Do what a call says; whatever is wrong is an Outcome."""
        try:
            self._check(call)
            context = replace(self._context, root=self._root_of(call.project_path), cancel=cancel)
            if self._tools[call.tool].danger is Danger.READS:
                return self._tools.call(call.tool, call.params, context)
            with self._writing:
                return self._tools.call(call.tool, call.params, context)
        except ToolFailed as error:
            return failed(str(error))
        except Cancelled:
            return failed("工具调用已取消")

    def _check(self, call: ToolCall) -> None:
        if call.tool not in self._tools:
            known = ", ".join(self._tools.names)
            raise ToolFailed(f"不支持的工具: {call.tool} (可用: {known})")
        lacking = missing_field(call.tool, call.params)
        if lacking:
            raise ToolFailed(lacking)
        ours = self._project_key
        if ours and call.project_key not in {"", ours}:
            raise ToolFailed(f"projectKey 不匹配: {call.project_key} (当前项目: {ours})")

    def _root_of(self, project_path: str) -> Root:
        """The project that a call names: ours, or a folder in it."""
        ours = self._context.root
        if not project_path:
            return ours
        try:
            with ours.reach(project_path) as place:
                is_folder = place.is_folder
            if is_folder:
                return ours.root_at(project_path)
        except ToolFailed:
            raise ToolFailed(f"projectPath 不在当前项目内: {project_path}") from None
        raise ToolFailed(f"projectPath 不存在: {project_path}")


class _Running:
    """One call under way; the tool and the clock race for the answer.

    A tool that hangs is left behind: its turn ends with the answer.
    """

    def __init__(self, executor: Executor, call: ToolCall, reply: Reply) -> None:
        self._executor = executor
        self._call = call
        self._reply = reply
        self._cancel = CancelToken()
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self._has_turn = self._is_over = False
        self._clock = threading.Timer(executor.seconds, self._too_late)
        self._clock.daemon = True

    def start(self) -> None:
        self._clock.start()
        name = f"ide:{self._call.tool}"
        threading.Thread(target=self._run, name=name, daemon=True).start()

    def _run(self) -> None:
        if not self._executor.turns.acquire(timeout=self._executor.seconds):
            return  # the clock answers
        with self._lock:
            self._has_turn = not self._is_over
        if self._has_turn:
            self._answer(self._executor.run(self._call, self._cancel))
        else:
            self._executor.turns.release()

    def _too_late(self) -> None:
        self._cancel.cancel()
        self._answer(failed(f"工具执行超时: {self._executor.seconds:g} 秒"))

    def _answer(self, outcome: Outcome) -> None:
        with self._lock:
            if self._is_over:
                return
            self._is_over = True
        self._clock.cancel()
        if self._has_turn:
            self._executor.turns.release()
        self._executor.places.release()
        spent = round((time.monotonic() - self._began) * 1000)
        self._reply(result_text(ToolResult(self._call.id, outcome.success, outcome.text, spent)))

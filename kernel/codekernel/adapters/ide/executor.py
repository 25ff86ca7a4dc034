"""Execute the tool calls of an IDE backend concurrently.

Each with a timeout and exactly one answer.
"""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import replace

from codekernel.adapters.ide.messages import (
    IdeToolCall,
    IdeToolResult,
    UnknownMessage,
    describe_missing_field,
    encode_result,
    parse_call,
)
from codekernel.agent.registry import ToolRegistry
from codekernel.agent.tool import ToolContext, ToolOutcome, make_failure
from codekernel.agent.tool_policy import ToolError, ToolPermission
from codekernel.agent.workspace.root import WorkspaceRoot
from codekernel.domain.concurrency import CancelToken
from codekernel.errors import Cancelled

logger = logging.getLogger(__name__)

# The backend gives up after 30 s; an answer must be there before that.
CALL_TIMEOUT_SECONDS = 25.0

MAX_CONCURRENT_CALLS = 8

# Beyond it somebody has lost count.
MAX_QUEUED_CALLS = 256

SendReply = Callable[[str], None]


class IdeToolExecutor:
    """The tools of one project; ``project_key`` is its name, if it is known."""

    def __init__(
        self,
        tools: ToolRegistry,
        context: ToolContext,
        project_key: str = "",
        timeout_seconds: float = CALL_TIMEOUT_SECONDS,
    ) -> None:
        self._tools = tools
        self._context = context
        self._project_key = project_key
        # How long a call may take, the wait for its turn included.
        self.timeout_seconds = timeout_seconds
        self.running_slots = threading.Semaphore(MAX_CONCURRENT_CALLS)
        self.queue_slots = threading.Semaphore(MAX_QUEUED_CALLS)
        # Two changes of one file at the same time would lose one of them.
        self._write_lock = threading.Lock()

    def submit(self, message: str | bytes, reply: SendReply) -> None:
        """Carry out a message; never waits. ``reply`` gets the one answer, on any thread."""
        asked = parse_call(message)
        if isinstance(asked, UnknownMessage):
            logger.debug("a message of type %s is not for tools", asked.type)
        elif isinstance(asked, IdeToolResult):
            reply(encode_result(asked))
        elif not self.queue_slots.acquire(blocking=False):
            busy = f"工具调用过多, 请稍后重试 (上限 {MAX_QUEUED_CALLS})"
            reply(encode_result(IdeToolResult(asked.id, success=False, text=busy)))
        else:
            _RunningCall(self, asked, reply).start()

    def execute(self, call: IdeToolCall, cancel: CancelToken) -> ToolOutcome:
        """Do what a call says; whatever is wrong is an Outcome."""
        try:
            self._validate(call)
            context = replace(
                self._context, root=self._resolve_root(call.project_path), cancel=cancel
            )
            if self._tools[call.tool].permission is ToolPermission.READS:
                return self._tools.call(call.tool, call.params, context)
            with self._write_lock:
                return self._tools.call(call.tool, call.params, context)
        except ToolError as error:
            return make_failure(str(error))
        except Cancelled:
            return make_failure("工具调用已取消")

    def _validate(self, call: IdeToolCall) -> None:
        if call.tool not in self._tools:
            known = ", ".join(self._tools.names)
            raise ToolError(f"不支持的工具: {call.tool} (可用: {known})")
        lacking = describe_missing_field(call.tool, call.params)
        if lacking:
            raise ToolError(lacking)
        ours = self._project_key
        if ours and call.project_key not in {"", ours}:
            raise ToolError(f"projectKey 不匹配: {call.project_key} (当前项目: {ours})")

    def _resolve_root(self, project_path: str) -> WorkspaceRoot:
        """The project that a call names: ours, or a folder in it."""
        ours = self._context.root
        if not project_path:
            return ours
        try:
            with ours.reach(project_path) as place:
                is_folder = place.is_folder
            if is_folder:
                return ours.get_subroot(project_path)
        except ToolError:
            raise ToolError(f"projectPath 不在当前项目内: {project_path}") from None
        raise ToolError(f"projectPath 不存在: {project_path}")


class _RunningCall:
    """One call under way; the tool and the clock race for the answer.

    A tool that hangs is left behind: its turn ends with the answer.
    """

    def __init__(self, executor: IdeToolExecutor, call: IdeToolCall, reply: SendReply) -> None:
        self._executor = executor
        self._call = call
        self._reply = reply
        self._cancel = CancelToken()
        self._started_at = time.monotonic()
        self._lock = threading.Lock()
        self._has_slot = self._is_over = False
        self._timer = threading.Timer(executor.timeout_seconds, self._on_timeout)
        self._timer.daemon = True

    def start(self) -> None:
        self._timer.start()
        name = f"ide:{self._call.tool}"
        threading.Thread(target=self._run, name=name, daemon=True).start()

    def _run(self) -> None:
        if not self._executor.running_slots.acquire(timeout=self._executor.timeout_seconds):
            return  # the clock answers
        with self._lock:
            self._has_slot = not self._is_over
        if self._has_slot:
            self._send_answer(self._executor.execute(self._call, self._cancel))
        else:
            self._executor.running_slots.release()

    def _on_timeout(self) -> None:
        self._cancel.cancel()
        self._send_answer(make_failure(f"工具执行超时: {self._executor.timeout_seconds:g} 秒"))

    def _send_answer(self, outcome: ToolOutcome) -> None:
        with self._lock:
            if self._is_over:
                return
            self._is_over = True
        self._timer.cancel()
        if self._has_slot:
            self._executor.running_slots.release()
        self._executor.queue_slots.release()
        spent = round((time.monotonic() - self._started_at) * 1000)
        self._reply(
            encode_result(IdeToolResult(self._call.id, outcome.success, outcome.text, spent))
        )

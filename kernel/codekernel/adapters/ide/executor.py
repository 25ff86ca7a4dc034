"""Execute the tool calls of an IDE backend concurrently, each with a timeout and one answer."""

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

# The backend gives up after 30 s; an answer must arrive before that.
CALL_TIMEOUT_SECONDS = 25.0

MAX_CONCURRENT_CALLS = 8

# A backend that sends more has lost count.
MAX_QUEUED_CALLS = 256

SendReply = Callable[[str], None]


class IdeToolExecutor:
    """Executes the tools of one project; ``project_key`` is its name, if it is known."""

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
        # For a call, including its wait in the queue.
        self.timeout_seconds = timeout_seconds
        self.running_slots = threading.Semaphore(MAX_CONCURRENT_CALLS)
        self.queue_slots = threading.Semaphore(MAX_QUEUED_CALLS)
        # Two concurrent changes of one file would lose one of them.
        self._write_lock = threading.Lock()

    def submit(self, message: str | bytes, reply: SendReply) -> None:
        """Execute a message without waiting; ``reply`` gets the one answer, on any thread."""
        call = parse_call(message)
        if isinstance(call, UnknownMessage):
            logger.debug("ignored a message of type %s", call.type)
        elif isinstance(call, IdeToolResult):
            reply(encode_result(call))
        elif not self.queue_slots.acquire(blocking=False):
            busy = f"工具调用过多, 请稍后重试 (上限 {MAX_QUEUED_CALLS})"
            reply(encode_result(IdeToolResult(call.id, success=False, text=busy)))
        else:
            _RunningCall(self, call, reply).start()

    def execute(self, call: IdeToolCall, cancel: CancelToken) -> ToolOutcome:
        """Execute a call; every failure is an outcome."""
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
        if missing := describe_missing_field(call.tool, call.params):
            raise ToolError(missing)
        own_key = self._project_key
        if own_key and call.project_key not in {"", own_key}:
            raise ToolError(f"projectKey 不匹配: {call.project_key} (当前项目: {own_key})")

    def _resolve_root(self, project_path: str) -> WorkspaceRoot:
        """Return the project's root, or that of a folder in it."""
        root = self._context.root
        if not project_path:
            return root
        try:
            with root.reach(project_path) as place:
                is_folder = place.is_folder
            if is_folder:
                return root.get_subroot(project_path)
        except ToolError:
            raise ToolError(f"projectPath 不在当前项目内: {project_path}") from None
        raise ToolError(f"projectPath 不存在: {project_path}")


class _RunningCall:
    """One running call, answered by the tool or by the timeout, whichever is first.

    A tool that hangs is abandoned: its slot is released with the answer.
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
            return  # the timeout answers
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
        time_ms = round((time.monotonic() - self._started_at) * 1000)
        result = IdeToolResult(self._call.id, outcome.success, outcome.text, time_ms)
        self._reply(encode_result(result))

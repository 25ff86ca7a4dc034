"""The plugin end that is dialled: any backend with the token may call tools, several at once."""

from collections.abc import Callable

from websockets.sync.connection import Connection

from kernel.doors.ide.answering import Answering
from kernel.doors.ide.executor import Executor
from kernel.doors.ide.port import Port, Wanted


def listening(executor_for: Callable[[], Executor], wanted: Wanted) -> Port:
    """The port, which has been taken; raises OSError."""

    def serve(connection: Connection) -> None:
        Answering(executor_for()).serve(connection)

    return Port(wanted, serve)

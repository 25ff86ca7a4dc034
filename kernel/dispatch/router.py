"""Which handler answers which message type."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from kernel.dispatch.lanes import Lane
from kernel.protocol.message import Message, type_of

Room = TypeVar("Room")
M = TypeVar("M", bound=Message)
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class StreamEnd:
    """The part by which a stream of replies always ends, also if its request is refused."""

    refused: object
    is_end: Callable[[object], bool]


@dataclass(frozen=True, slots=True)
class Route(Generic[Room]):
    """A message declaration, where it runs, and who answers it."""

    declaration: type[Message]
    lane: Lane
    handler: Callable[[Any, Room], object]
    at_once: Callable[[Any, Room], None] | None = None
    stream_end: StreamEnd | None = None


class Router(Generic[Room]):
    """The table of one addressee, filled by decorators; ``Room`` is what its handlers work with."""

    def __init__(self) -> None:
        self.routes: dict[str, Route[Room]] = {}

    def handles(
        self,
        declaration: type[M],
        *,
        lane: Lane,
        at_once: Callable[[M, Room], None] | None = None,
        stream_end: StreamEnd | None = None,
    ) -> Callable[[Callable[[M, Room], Result]], Callable[[M, Room], Result]]:
        """Register the function below as the handler of one message.

        ``at_once`` is the part that may not wait for the lane: it runs on arrival and never blocks.
        ``stream_end`` is sent after the error of a request that fails without it.
        """

        def register(handler: Callable[[M, Room], Result]) -> Callable[[M, Room], Result]:
            name = type_of(declaration)
            if name in self.routes:
                raise ValueError(f"{name} has a handler already")
            self.routes[name] = Route(declaration, lane, handler, at_once, stream_end)
            return handler

        return register

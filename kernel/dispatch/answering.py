"""From a handler to its replies: the single place where an exception becomes a status.

A handler that returns answers once; one that is a generator answers once per ``yield``, and what
stands after a ``yield`` happens after that reply is on its way. An error that is yielded is a reply
that failed, and more may follow; one that is raised is the last, or the last but one where the
route has a part by which every stream of its ends.
"""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from kernel.dispatch.lanes import Job
from kernel.dispatch.router import Route, StreamEnd
from kernel.errors import KernelError
from kernel.protocol.codec import decode_message, encode
from kernel.protocol.envelope import Envelope, failure, reply
from kernel.transport.channel import LongLine

logger = logging.getLogger(__name__)

Room = TypeVar("Room")
SendLine = Callable[[bytes | LongLine], None]


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply whose message says more than the request's did."""

    data: Any = None
    echo: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LongAnswer:
    """A reply whose ``data`` is too large to build in memory: its JSON, piece by piece."""

    data: Iterator[bytes]


@dataclass(frozen=True, slots=True, eq=False)
class Request(Generic[Room]):
    """One request with everything needed to answer it; a Job for any lane."""

    envelope: Envelope
    route: Route[Room]
    room: Room
    send: SendLine
    finished: Callable[[Job], None]

    def hurry(self) -> None:
        """Do the part that may not wait for the lane; its errors are left to ``run``."""
        if self.route.at_once:
            try:
                self.route.at_once(self._message(), self.room)
            except KernelError:
                logger.debug("%s cannot be hurried", self.envelope.type)

    def run(self) -> None:
        """Call the handler and send what it answers."""
        end = self.route.stream_end
        try:
            result = self.route.handler(self._message(), self.room)
            for part in result if isinstance(result, Iterator) else (result,):
                self._reply(part)
                if end and end.is_end(part):
                    end = None
        except KernelError as error:
            fail(self.envelope, error, self.send, end)
        except (Exception, SystemExit):
            logger.exception("unexpected failure in %s", self.envelope.type)
            unexpected = KernelError(f"{self.envelope.type} failed unexpectedly; the log says why")
            fail(self.envelope, unexpected, self.send, end)
        finally:
            self.finished(self)

    def refuse(self, error: KernelError) -> None:
        """Answer without calling the handler."""
        fail(self.envelope, error, self.send, self.route.stream_end)
        self.finished(self)

    def _message(self) -> object:
        return decode_message(self.route.declaration, self.envelope.message)

    def _reply(self, result: object) -> None:
        if isinstance(result, KernelError):
            fail(self.envelope, result, self.send)
            return
        if isinstance(result, LongAnswer):
            if self.envelope.wants_reply:
                frame = encode(reply(self.envelope))
                self.send(LongLine(_with_data(frame, result.data)))
            return
        answer = result if isinstance(result, Answer) else Answer(result)
        if self.envelope.wants_reply:
            self.send(encode(reply(self.envelope, answer.data, echo=answer.echo)))


@dataclass(frozen=True, slots=True, eq=False)
class LateArrival:
    """A request whose addressee may still be on its way; a Job that delivers it or says why not."""

    envelope: Envelope
    deliver: Callable[[Envelope], None]
    fail: Callable[[Envelope, KernelError], None]
    finished: Callable[[Job], None]

    def run(self) -> None:
        """Deliver it now, or never."""
        try:
            self.deliver(self.envelope)
        except KernelError as error:
            self.fail(self.envelope, error)
        finally:
            self.finished(self)

    def refuse(self, error: KernelError) -> None:
        """Answer without delivering."""
        self.fail(self.envelope, error)
        self.finished(self)


def _with_data(frame: bytes, data: Iterator[bytes]) -> Iterator[bytes]:
    """A reply without data, given its data as the last member of the object."""
    yield frame.removesuffix(b"}") + b',"data":'
    yield from data
    yield b"}"


def fail(
    envelope: Envelope, error: KernelError, send: SendLine, end: StreamEnd | None = None
) -> None:
    """Answer a request with an error, and end its stream, if anybody waits for an answer."""
    logger.info("%.80s: %s: %s", envelope.type, error.code, error)
    if envelope.wants_reply:
        send(encode(failure(envelope, error)))
        if end:
            send(encode(reply(envelope, end.refused)))

"""How the replies to a question or a task always end: with ``done``, even if it was refused.

PocketRAG's front end waits for it: without, its window could neither ask again nor be closed.
"""

from kernel.dispatch.router import StreamEnd
from kernel.domain.turn import Outcome
from kernel.domain.turn_events import Done
from kernel.protocol.messages.conversation import TalkPart, talk_part

_REFUSED = talk_part(Done(Outcome.FAILED))


def _is_done(part: object) -> bool:
    return isinstance(part, TalkPart) and part.type == _REFUSED.type


TALK_END = StreamEnd(refused=_REFUSED, is_end=_is_done)

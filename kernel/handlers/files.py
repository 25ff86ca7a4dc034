"""Files of the open repository."""

from kernel.dispatch.lanes import Lane
from kernel.domain.languages import language_of
from kernel.domain.path_text import existing_path
from kernel.handlers.routers import session_router
from kernel.protocol.messages.files import ReadLines, ReadLinesReply
from kernel.sessions.session import Session


@session_router.handles(ReadLines, lane=Lane.OWN)
def show_lines(message: ReadLines, session: Session) -> ReadLinesReply:
    """Read some lines from the disk."""
    from kernel.walking.lines import read_lines  # noqa: PLC0415 - the start need not wait for it

    path = existing_path(session.repo.path, message.file_path)
    lines = read_lines(session.repo.path, path, message.begin_line, message.end_line)
    return ReadLinesReply(
        content=lines.content,
        begin_line=lines.begin,
        end_line=lines.end,
        line_count=lines.count,
        language=language_of(path),
    )

"""Search and the index behind it."""

from collections.abc import Iterator

from kernel.dispatch.answering import LongAnswer
from kernel.dispatch.lanes import Lane
from kernel.domain.chunk import symbol_path
from kernel.domain.hit import Hit
from kernel.domain.indexed import metadata_of
from kernel.domain.path_text import encode_path
from kernel.handlers.routers import session_router
from kernel.indexing.plan import ConfigPlan
from kernel.protocol.codec import encode
from kernel.protocol.messages.search import (
    ChunkInfo,
    ConfigStatusEntry,
    GetChunksInfo,
    GetIndexStatus,
    GetIndexStatusReply,
    GetSkippedFiles,
    GetSkippedFilesReply,
    PauseIndexing,
    PauseIndexingReply,
    Search,
    SearchReply,
    SearchResult,
    SkippedFile,
)
from kernel.search.highlight import Highlighter
from kernel.sessions.session import Session
from kernel.storage.catalogue import Catalogue

# A chunk has one id, and one more for each further config that shares its cut: far apart, and
# below the last number that JavaScript counts exactly.
NEXT_CONFIG_ID = 2**40
SHOWN_DIGITS = 4


@session_router.handles(Search, lane=Lane.SESSION)
def search(message: Search, session: Session) -> SearchReply:
    """Rank the repository's chunks."""
    limit = message.limit or session.services.settings.current.search_limit
    found = session.workspace.searcher.found(
        message.query, limit, session.cancel, accuracy=message.accuracy
    )
    mark = Highlighter(found.words)
    results = [_result(hit, mark, explain=message.explain) for hit in found.hits]
    return SearchReply.of(results, is_complete=found.is_complete)


@session_router.handles(GetChunksInfo, lane=Lane.OWN)
def get_chunks_info(message: GetChunksInfo, session: Session) -> LongAnswer:
    """List the repository's chunks, once for each config that has them."""
    return LongAnswer(_chunk_list(session))


@session_router.handles(GetIndexStatus, lane=Lane.SESSION)
def get_index_status(message: GetIndexStatus, session: Session) -> GetIndexStatusReply:
    """Say how far the index is."""
    status = session.workspace.index.status()
    return GetIndexStatusReply(
        state=status.state,
        files=status.files,
        chunks=status.chunks,
        files_waiting=status.files_waiting,
        refused=status.refused,
        configs=[
            ConfigStatusEntry(
                name=config.name,
                ready=config.ready,
                chunks=config.chunks,
                waiting=config.waiting,
                chunks_per_second=config.chunks_per_second,
                seconds_left=config.seconds_left,
                trouble=config.trouble,
            )
            for config in status.configs
        ],
        watching=status.watching,
        trouble=status.trouble,
        paused=status.paused,
    )


@session_router.handles(PauseIndexing, lane=Lane.SESSION)
def pause_indexing(message: PauseIndexing, session: Session) -> Iterator[PauseIndexingReply]:
    """Stop the work on the index, for all windows of the repository, or go on after the reply."""
    index = session.workspace.index
    if message.paused:
        index.pause()
    yield PauseIndexingReply(paused=message.paused)
    if not message.paused:
        index.resume()


@session_router.handles(GetSkippedFiles, lane=Lane.OWN)
def get_skipped_files(message: GetSkippedFiles, session: Session) -> GetSkippedFilesReply:
    """List what was left out, and why."""
    refused, total = session.workspace.index.store.catalogue.first_refused(message.limit)
    skipped = [
        SkippedFile(file_path=encode_path(each.path), reason=each.reason, detail=each.detail)
        for each in refused
    ]
    return GetSkippedFilesReply(skipped=skipped, total=total)


def _result(hit: Hit, mark: Highlighter, *, explain: bool) -> SearchResult:
    chunk, path = hit.chunk, encode_path(hit.chunk.path)
    metadata = metadata_of(path, chunk.chunk)
    return SearchResult(
        content=hit.content,
        highlighted_content=mark(hit.content),
        metadata=metadata,
        highlighted_metadata=mark(metadata),
        begin_line=chunk.chunk.begin_line,
        end_line=chunk.chunk.end_line,
        file_path=path,
        score=round(hit.score, SHOWN_DIGITS),
        chunk_id=chunk.id,
        symbol=symbol_path(chunk.chunk.symbols),
        language=chunk.language,
        freshness=hit.freshness,
        why=_rounded(hit.signals) if explain else None,
    )


def _rounded(signals: dict[str, float]) -> dict[str, float]:
    return {name: round(value, SHOWN_DIGITS) for name, value in signals.items()}


def _chunk_list(session: Session) -> Iterator[bytes]:
    """The JSON of the list, a file at a time, so that no repository is too large."""
    catalogue = session.workspace.index.store.catalogue
    configs = session.services.workspaces.plan().configs
    separator = b""
    yield b'{"chunkInfo":['
    for file in catalogue.files().values():
        if session.cancel.cancelled:
            break
        for info in _chunks_of(catalogue, file.id, configs):
            yield separator + encode(info)
            separator = b","
    yield b"]}"


def _chunks_of(
    catalogue: Catalogue, file_id: int, configs: tuple[ConfigPlan, ...]
) -> Iterator[ChunkInfo]:
    text = catalogue.document(file_id)
    for indexed in catalogue.chunks_of(file_id):
        names = [config.name for config in configs if config.input_length == indexed.input_length]
        for place, name in enumerate(names):
            yield ChunkInfo(
                chunk_id=indexed.id + place * NEXT_CONFIG_ID,
                file_path=encode_path(indexed.path),
                content=text[indexed.chunk.begin : indexed.chunk.end],
                metadata=metadata_of(encode_path(indexed.path), indexed.chunk),
                begin_line=indexed.chunk.begin_line,
                end_line=indexed.chunk.end_line,
                embedding_name=name,
            )

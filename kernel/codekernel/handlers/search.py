"""Search, the list of chunks, index status, pausing, and skipped files."""

from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from typing import Any

from codekernel.dispatch.dispatcher import StreamedReply
from codekernel.dispatch.routing import Lane
from codekernel.domain.index import build_embedding_text, format_chunk_metadata
from codekernel.domain.untrusted_text import encode_path, resolve_encoded_path
from codekernel.errors import WrongParam
from codekernel.handlers.context import Services, main_router, session_router
from codekernel.indexing.index_map import IndexMap, build_index_map
from codekernel.indexing.index_plan import ConfigPlan
from codekernel.protocol.envelope import convert_values, encode_ascii_json
from codekernel.protocol.messages.search import (
    AllowEndpoint,
    AllowEndpointReply,
    ChunkInfo,
    ConfigStatusEntry,
    EndpointAskEntry,
    FacetValue,
    FindNames,
    FindNamesReply,
    FoundFileName,
    FoundName,
    GetChunksInfo,
    GetIndexMap,
    GetIndexMapReply,
    GetIndexStatus,
    GetIndexStatusReply,
    GetSkippedFiles,
    GetSkippedFilesReply,
    IndexMapEntry,
    LanguageEntry,
    MeasureEmbedding,
    MeasureEmbeddingReply,
    PauseIndexing,
    PauseIndexingReply,
    RepoSearchResult,
    Search,
    SearchedRepo,
    SearchFacets,
    SearchReply,
    SearchRepos,
    SearchReposReply,
    SkippedFile,
)
from codekernel.runtime.repository_search import search_repos, select_repositories
from codekernel.runtime.sessions import Session
from codekernel.search.facets import Counts, Facets, count_facets
from codekernel.search.federation import FederatedQuery
from codekernel.search.highlight import Highlighter, build_search_result
from codekernel.search.name_finder import FoundSymbol, find_file_names, find_symbols
from codekernel.storage.catalog.catalog import Catalog

# A chunk has one id, and one more for each further config of the same chunk size: far apart, and
# below the last number that JavaScript counts exactly.
CONFIG_ID_OFFSET = 2**40

# Of a folder with more, the smallest are no part of a map.
MAX_MAP_ENTRIES = 2_000

# Texts that a model is timed on: a few batches of the slowest one.
MAX_TIMED_TEXTS = 48


@session_router.handles(Search, lane=Lane.SESSION)
def search(message: Search, session: Session) -> SearchReply:
    """Rank the repository's chunks."""
    if "repo:" in message.query:  # what it says must be this one
        select_repositories([session.repo], None, message.query)
    limit = message.limit or session.services.settings.current.search_limit
    workspace = session.workspace
    searcher = workspace.searcher if message.semantic else workspace.narrow_searcher()
    if message.configs is not None:
        searcher = workspace.narrow_searcher(message.configs)
    found = searcher.run_search(message.query, limit, session.cancel, accuracy=message.accuracy)
    highlight = Highlighter(found.highlight_terms)
    results = [build_search_result(hit, highlight, explain=message.explain) for hit in found.hits]
    more: dict[str, Any] = {} if found.is_complete else {"is_complete": False}
    if found.gap:
        more["gap"] = found.gap
    if message.facets:
        more["facets"] = _present_facets(count_facets(found.ranked))
    return SearchReply(results=results, **more)


def _present_facets(facets: Facets) -> SearchFacets:
    def present(counts: Counts) -> list[FacetValue]:
        return [FacetValue(value=value, count=count) for value, count in counts]

    return SearchFacets(
        total=facets.total,
        languages=present(facets.languages),
        folders=present(facets.folders),
        kinds=present(facets.kinds),
        symbols=present(facets.symbols),
    )


@session_router.handles(FindNames, lane=Lane.SESSION)
def find_names(message: FindNames, session: Session) -> FindNamesReply:
    """Find files and symbols by a part of their name."""
    query, limit = message.query, message.limit

    def find(catalog: Catalog) -> tuple[list[str], list[FoundSymbol]]:
        if not query.strip():
            return [], []
        paths = find_file_names(list(catalog.list_files()), query, limit)
        return paths, find_symbols(catalog, query, limit)

    paths, symbols = session.workspace.index.query_catalog(find)
    return FindNamesReply(
        files=[FoundFileName(file_path=encode_path(path)) for path in paths],
        symbols=[
            FoundName(name=each.name, file_path=encode_path(each.path), line=each.line)
            for each in symbols
        ],
    )


@main_router.handles(SearchRepos, lane=Lane.OWN_THREAD)
def search_several(message: SearchRepos, services: Services) -> SearchReposReply:
    """Rank the chunks of several repositories together."""
    repos = select_repositories(services.repos.list_all(), message.repos, message.query)
    limit = message.limit or services.settings.current.search_limit
    asked = FederatedQuery(message.query, limit, message.accuracy, message.semantic)
    found = search_repos(services.workspaces, repos, asked, services.stopping)
    paths = {repo.name: str(repo.path) for repo in repos}
    highlight = Highlighter(found.highlight_terms)
    results = [
        RepoSearchResult.from_result(
            build_search_result(hit, highlight, explain=message.explain), name, paths[name]
        )
        for name, hit in found.hits
    ]
    searched = [
        SearchedRepo(
            repo_name=each.repo_name,
            path=paths[each.repo_name],
            hits=each.hit_count,
            error=each.error,
            gap=each.gap,
        )
        for each in found.outcomes
    ]
    if found.is_complete:
        return SearchReposReply(results=results, repos=searched)
    return SearchReposReply(results=results, repos=searched, is_complete=False)


@session_router.handles(GetChunksInfo, lane=Lane.OWN_THREAD)
def get_chunks_info(message: GetChunksInfo, session: Session) -> StreamedReply:
    """List the repository's chunks, once for each config that has them."""
    return StreamedReply(_stream_chunk_list(session))


@session_router.handles(GetIndexStatus, lane=Lane.SESSION)
def get_index_status(message: GetIndexStatus, session: Session) -> GetIndexStatusReply:
    """Return how far the index is."""
    status = asdict(session.workspace.index.get_status())
    status["configs"] = [ConfigStatusEntry(**config) for config in status["configs"]]
    if asks := session.workspace.list_asks():
        status["asks"] = convert_values(asks, list[EndpointAskEntry])
    return GetIndexStatusReply(**status)


@session_router.handles(AllowEndpoint, lane=Lane.SESSION)
def allow_endpoint(message: AllowEndpoint, session: Session) -> AllowEndpointReply:
    """Keep a person's answer, and go on at once."""
    if not session.workspace.answer_ask(message.model, allowed=message.allowed):
        raise WrongParam(
            f"no remote model {message.model[:80]!r} is used here, or its endpoint was never"
            " reached: codekernel doctor tries it"
        )
    return AllowEndpointReply(model=message.model, allowed=message.allowed)


@session_router.handles(MeasureEmbedding, lane=Lane.OWN_THREAD)
def measure_embedding(message: MeasureEmbedding, session: Session) -> MeasureEmbeddingReply:
    """Embed some chunks and say how long that took."""
    index = session.workspace.index
    found = [each for each in index.vector_indexes if each.config.name == message.config]
    if not found:
        raise WrongParam(f"no embedding config {message.config[:80]!r} has vectors here")
    catalog, texts = index.store.catalog, list[str]()
    for file in catalog.list_files().values():
        if len(texts) >= MAX_TIMED_TEXTS:
            break
        text = catalog.read_document(file.id)
        chunks = catalog.list_chunks(file.id, found[0].config.max_chunk_chars)
        texts += [
            build_embedding_text(each.symbols, text[each.begin : each.end]) for each in chunks
        ]
    timed = texts[:MAX_TIMED_TEXTS]
    seconds = found[0].measure_embedding(timed) if timed else 0.0
    return MeasureEmbeddingReply(seconds_per_chunk=seconds / max(1, len(timed)))


@session_router.handles(PauseIndexing, lane=Lane.SESSION)
def pause_indexing(message: PauseIndexing, session: Session) -> Iterator[PauseIndexingReply]:
    """Stop the work on the index, for all windows of the repository, or go on after the reply."""
    index = session.workspace.index
    if message.paused:
        index.pause()
    yield PauseIndexingReply(paused=message.paused)
    if not message.paused:
        index.resume()


@session_router.handles(GetSkippedFiles, lane=Lane.OWN_THREAD)
def get_skipped_files(message: GetSkippedFiles, session: Session) -> GetSkippedFilesReply:
    """List the files that are not indexed, and why."""
    records, total = session.workspace.index.query_catalog(
        lambda catalog: catalog.list_first_skipped(message.limit)
    )
    skipped = [
        SkippedFile(file_path=encode_path(each.path), reason=each.reason, detail=each.detail)
        for each in records
    ]
    return GetSkippedFilesReply(skipped=skipped, total=total)


@session_router.handles(GetIndexMap, lane=Lane.OWN_THREAD)
def get_index_map(message: GetIndexMap, session: Session) -> GetIndexMapReply:
    """Add up what is indexed and skipped in a folder."""
    folder = resolve_encoded_path(session.repo.path, message.folder.strip("/"))

    def build(catalog: Catalog) -> IndexMap:
        files = catalog.list_files_under(folder) if folder else catalog.list_files()
        return build_index_map(folder, files.items(), catalog.list_skipped().values())

    found = session.workspace.index.query_catalog(build)
    return GetIndexMapReply(
        folder=encode_path(folder),
        entries=[
            IndexMapEntry(
                name=encode_path(each.name),
                is_folder=each.is_folder,
                files=each.files,
                bytes=each.size,
                language=each.language,
                skipped=each.skipped,
            )
            for each in found.entries[:MAX_MAP_ENTRIES]
        ],
        languages=[
            LanguageEntry(language=each.name, files=each.files, bytes=each.size)
            for each in found.languages
        ],
    )


def _stream_chunk_list(session: Session) -> Iterator[bytes]:
    """Yield the JSON of the list file by file, so that no repository is too large."""
    index = session.workspace.index
    configs = session.services.workspaces.build_plan().configs
    separator = b""
    yield b'{"chunkInfo":['
    for path in index.query_catalog(Catalog.list_files):
        if session.cancel.is_cancelled:
            break
        for info in index.query_catalog(partial(_list_file_chunks, path, configs)):
            yield separator + encode_ascii_json(info)
            separator = b","
    yield b"]}"


def _list_file_chunks(
    path: str, configs: tuple[ConfigPlan, ...], catalog: Catalog
) -> list[ChunkInfo]:
    file = catalog.find_file(path)
    if file is None:
        return []
    text = catalog.read_document(file.id)
    return [
        ChunkInfo(
            chunk_id=indexed.id + place * CONFIG_ID_OFFSET,
            file_path=encode_path(indexed.path),
            content=text[indexed.begin : indexed.end],
            metadata=format_chunk_metadata(encode_path(indexed.path), indexed),
            begin_line=indexed.begin_line,
            end_line=indexed.end_line,
            embedding_name=name,
        )
        for indexed in catalog.list_chunks(file.id)
        for place, name in enumerate(
            config.name for config in configs if config.max_chunk_chars == indexed.max_chunk_chars
        )
    ]

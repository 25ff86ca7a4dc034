"""Build the search results of the protocol from hits."""

from codekernel.domain.index import Hit, format_chunk_metadata, format_symbol_path
from codekernel.domain.untrusted_text import encode_path
from codekernel.protocol.messages.search import SearchResult
from codekernel.search.highlight import Highlighter

SCORE_DIGITS = 4


def build_search_result(hit: Hit, highlight: Highlighter, *, explain: bool) -> SearchResult:
    """Return a hit as it is sent, with highlighted text; ``explain`` adds the signals."""
    chunk, path = hit.chunk, encode_path(hit.chunk.path)
    metadata = format_chunk_metadata(path, chunk)
    signals = {signal.value: round(gain, SCORE_DIGITS) for signal, gain in hit.signals.items()}
    return SearchResult(
        content=hit.content,
        highlighted_content=highlight(hit.content),
        metadata=metadata,
        highlighted_metadata=highlight(metadata),
        begin_line=chunk.begin_line,
        end_line=chunk.end_line,
        file_path=path,
        score=round(hit.score, SCORE_DIGITS),
        chunk_id=chunk.id,
        symbol=format_symbol_path(chunk.symbols),
        language=chunk.language,
        freshness=hit.freshness,
        why=signals if explain else None,
    )

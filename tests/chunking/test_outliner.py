import pytest
from chunking.samples import SAMPLES, Sample
from codekernel.chunking.chunker import chunk_text
from codekernel.domain.index import Chunk


def the_chunk_with(sample: Sample, chunks: list[Chunk]) -> Chunk:
    [found] = [
        chunk
        for chunk in chunks
        if chunk.symbols == sample.symbols and "ums up" in sample.source[chunk.begin : chunk.end]
    ] or [chunk for chunk in chunks if chunk.symbols == sample.symbols]
    return found


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.language)
def test_a_function_that_fits_is_one_chunk_that_knows_its_place(sample: Sample) -> None:
    [chunks] = chunk_text(sample.source, sample.language, [sample.budget])
    chunk = the_chunk_with(sample, chunks)
    assert chunk.kind == sample.kind
    assert chunk.signature == sample.signature
    assert sample.symbols[-1] in chunk.defined_names


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.language)
def test_every_definition_is_named_where_it_begins(sample: Sample) -> None:
    [chunks] = chunk_text(sample.source, sample.language, [sample.budget])
    names = tuple(dict.fromkeys(name for chunk in chunks for name in chunk.defined_names))
    assert names == sample.defines

"""The chunks of repositories as the index would have them, for counting what is masked in them."""

from collections.abc import Iterator
from pathlib import Path

from codekernel.chunking.chunker import chunk_text
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.index import FoundFile, SourceText, detect_language
from codekernel.files.reading import read_source_file
from codekernel.files.walk import FileWalker

# As the settings have it by default.
INPUT_LENGTH = 950


def iterate_chunks(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield path and text of every chunk of every repository right below ``folder``."""
    for repository in sorted(path for path in folder.iterdir() if path.is_dir()):
        for found in FileWalker(repository).iterate_files(CancelToken()):
            if not isinstance(found, FoundFile):
                continue
            source = read_source_file(repository, found)
            if not isinstance(source, SourceText):
                continue
            for chunk in chunk_text(source.text, detect_language(found.path), [INPUT_LENGTH])[0]:
                yield f"{repository.name}/{found.path}", source.text[chunk.begin : chunk.end]

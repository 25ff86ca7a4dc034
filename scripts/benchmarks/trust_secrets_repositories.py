"""The chunks of repositories as the index would have them, for counting what is masked in them."""

from collections.abc import Iterator
from pathlib import Path

from kernel.chunking import cut
from kernel.domain.cancel import CancelToken
from kernel.domain.languages import language_of
from kernel.domain.source import FoundFile, SourceText
from kernel.walking.reading import read
from kernel.walking.walk import Walk

# As the settings have it by default.
INPUT_LENGTH = 950


def iterate_chunks(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield path and text of every chunk of every repository right below ``folder``."""
    for repository in sorted(path for path in folder.iterdir() if path.is_dir()):
        for found in Walk(repository).files(CancelToken()):
            if not isinstance(found, FoundFile):
                continue
            source = read(repository, found)
            if not isinstance(source, SourceText):
                continue
            for chunk in cut(source.text, language_of(found.path), [INPUT_LENGTH])[0]:
                yield f"{repository.name}/{found.path}", source.text[chunk.begin : chunk.end]

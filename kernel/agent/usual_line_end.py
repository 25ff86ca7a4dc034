"""Which line end a new file gets: that of the repository it is put into."""

from itertools import islice
from typing import Final

from kernel.agent.line_ends import CRLF, LF, main_line_end
from kernel.agent.literal_edit import HEAD_CHARACTERS
from kernel.agent.root import Root
from kernel.domain.cancel import CancelToken
from kernel.domain.confinement.files_beneath import FilesBeneath
from kernel.domain.source import FoundFile
from kernel.walking.encodings import looks_binary
from kernel.walking.walk import Walk

# As the clients of these tools judge it: more than three of fifteen files.
SAMPLED_FILES: Final = 15
FEWEST_WITH_CARRIAGE_RETURNS: Final = 4


def usual_line_end(root: Root, cancel: CancelToken) -> str:
    """CRLF if several of the first files of the repository have it, else LF."""
    with FilesBeneath(root.opened(), root.folder) as files:
        met = Walk(root.folder, root.opened).files(cancel)
        sample = islice((file.path for file in met if isinstance(file, FoundFile)), SAMPLED_FILES)
        with_carriage_returns = sum(_has_carriage_returns(files, path) for path in sample)
    return CRLF if with_carriage_returns >= FEWEST_WITH_CARRIAGE_RETURNS else LF


def _has_carriage_returns(files: FilesBeneath, path: str) -> bool:
    try:
        with open(files.at(path).open_file(), "rb") as file:  # noqa: PTH123 - a descriptor
            head = file.read(HEAD_CHARACTERS) or b""
    except OSError:
        return False
    return not looks_binary(head) and main_line_end(head.decode("latin-1")) == CRLF

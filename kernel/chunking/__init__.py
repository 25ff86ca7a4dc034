"""From the text of a file to chunks that follow its syntax; nothing here reads a file."""

from kernel.chunking.cutting import cut

__all__ = ["cut"]

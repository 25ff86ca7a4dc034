"""From the text of a file to chunks that follow its syntax; nothing here reads a file."""

from codekernel.chunking.chunker import chunk_text

__all__ = ["chunk_text"]

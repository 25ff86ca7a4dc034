"""What a person is shown of a long text: its ends."""

# Characters: some hundred lines of code. A model may have been given more.
MAX_SHOWN_CHARACTERS = 40_000


def truncate_middle(text: str, max_characters: int = MAX_SHOWN_CHARACTERS) -> str:
    """Return the text, or its beginning and end, cut at line ends if there are any."""
    if len(text) <= max_characters:
        return text
    head, tail = text[: max_characters * 2 // 3], text[len(text) - max_characters // 3 :]
    head = head[: head.rfind("\n") + 1] or head
    tail = tail[tail.find("\n") + 1 :] or tail
    left_out = len(text) - len(head) - len(tail)
    end = "" if head.endswith("\n") else "\n"
    return f"{head}{end}[... {left_out} characters left out ...]\n{tail}"

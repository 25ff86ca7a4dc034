"""How much of a tool's answer a person is shown, and a conversation keeps."""

# Characters: some hundred lines of code. A model may have been given more.
LONGEST = 40_000


def shortened(text: str, longest: int = LONGEST) -> str:
    """The text, or its beginning and its end; both are cut where lines end, if there are any."""
    if len(text) <= longest:
        return text
    head, tail = text[: longest * 2 // 3], text[len(text) - longest // 3 :]
    head = head[: head.rfind("\n") + 1] or head
    tail = tail[tail.find("\n") + 1 :] or tail
    left_out = len(text) - len(head) - len(tail)
    end = "" if head.endswith("\n") else "\n"
    return f"{head}{end}[... {left_out} characters left out ...]\n{tail}"

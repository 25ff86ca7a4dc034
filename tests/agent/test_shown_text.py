"""What a person is shown of a long answer."""

from codekernel.agent.tools.call_format import truncate_middle


def test_a_short_text_is_shown_as_it_is() -> None:
    assert truncate_middle("a\nb", 10) == "a\nb"


def test_of_a_long_text_whole_lines_of_both_ends_are_shown() -> None:
    text = "".join(f"line {number}\n" for number in range(1000))
    shown = truncate_middle(text, 300)
    head, _, tail = shown.partition("[... ")
    assert text.startswith(head)
    assert head.endswith("\n")
    left_out, _, tail = tail.partition(" characters left out ...]\n")
    assert text.endswith(tail)
    assert tail.startswith("line ")
    assert int(left_out) == len(text) - len(head) - len(tail)


def test_a_line_that_is_too_long_is_cut() -> None:
    shown = truncate_middle("x" * 1000, 300)
    assert shown.startswith("x" * 200 + "\n[... 700 characters left out ...]\n")

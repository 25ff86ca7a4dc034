"""Which questions a pasted report is split into."""

from codekernel.search.long_query import MIN_LONG_QUERY_WORDS, split_long_query

REPORT = """Session cookies are lost after a redirect to another port

<!-- Please search for an existing issue first -->
### Description
When the server answers with a redirect, `merge_cookies` drops what the Session had before,
and the next request is not logged in.

```python
session = requests.Session()
session.get("http://localhost:8000/login")
```

- [x] I have read the guide
- Python version 3.11
"""

TRACE = """
```
Traceback (most recent call last):
  File "app/models.py", line 10, in save
    self.check_limits()
  File "app/limits.py", line 3, in check_limits
    raise ValueError("too many rows")
ValueError: too many rows
```
"""


def test_a_report_is_its_title_its_prose_and_its_names() -> None:
    whole, title, prose, names = split_long_query(REPORT)
    assert whole == REPORT.strip()
    assert title == "Session cookies are lost after a redirect to another port"
    assert prose.startswith("When the server answers")
    assert names.split() == ["merge_cookies", "requests.Session", "session.get"]


def test_templates_and_versions_are_no_prose() -> None:
    prose = split_long_query(REPORT)[2]
    for left_out in ("existing issue", "Description", "guide", "3.11", "localhost"):
        assert left_out not in prose


def test_a_stack_trace_in_a_report_is_a_question_of_its_own() -> None:
    parts = split_long_query(REPORT + TRACE)
    assert "line 10, in save" in parts[-1]
    assert all("line 10, in save" not in part for part in parts[1:-1])


def test_a_short_text_is_one_question() -> None:
    text = " ".join(["word"] * (MIN_LONG_QUERY_WORDS - 1))
    assert split_long_query(f" {text}\n") == (text,)


def test_a_stack_trace_or_code_alone_is_one_question() -> None:
    trace = TRACE.replace("```", "").strip()
    assert split_long_query(trace * 3) == (trace * 3,)
    code = ">>> " + " ".join(f"call({number})" for number in range(40))
    assert split_long_query(code) == (code,)


def test_the_first_sentence_of_a_paragraph_is_its_title() -> None:
    text = "The cache is never emptied. " + "It grows with every request that is made. " * 8
    assert split_long_query(text)[1] == "The cache is never emptied."

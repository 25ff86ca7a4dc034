"""Tool calls and results as short lines, in the words of document 001; the ends of long texts."""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

from codekernel.domain.untrusted_text import parse_json

CallArguments = Mapping[str, Any]

_MAX_CALL_CHARACTERS = 2_000

# The first line of each hit of our ranked search.
_HIT_LOCATION = re.compile(r"^\S[^\n:]*:\d+-\d+\b", re.MULTILINE)


def format_tool_call(name: str, arguments: CallArguments) -> str:
    """Return ``READ("tricode.py", start=1, end=10)``; never fails, whatever the arguments are."""
    if template := _CALL_TEMPLATES.get(name):
        values = {**_CALL_DEFAULTS.get(name, {}), **arguments}
        text = template.format_map(defaultdict(str, values))
    elif form := _CALL_FORMATTERS.get(name):
        text = form(arguments)
    else:
        text = f"{name.upper()}({json.dumps(dict(arguments), default=str)})"
    return text if len(text) <= _MAX_CALL_CHARACTERS else f"{text[:_MAX_CALL_CHARACTERS]}..."


def format_tool_result(name: str, arguments: CallArguments, text: str, *, success: bool) -> str:
    """Return ``[OK] read 47 lines``, or ``[FAIL]`` with the reason; short results as they are."""
    if not success:
        return f"[FAIL] {text}"
    if name in _VERBATIM_RESULTS:
        return text
    form = _RESULT_FORMATTERS.get(name)
    return f"[OK] {form(arguments, text) if form else text}"


def _format_read(given: CallArguments) -> str:
    parts = [f'"{given.get("path", "")}"']
    if given.get("start_line") is not None:
        parts.append(f"start={given['start_line']}")
        if given.get("end_line") is not None:
            parts.append(f"end={given['end_line']}")
    if given.get("max_bytes") is not None:
        parts.append(f"max={given['max_bytes']}B")
    if given.get("with_metadata"):
        parts.append("meta")
    return f"READ({', '.join(parts)})"


def _format_edit(given: CallArguments) -> str:
    mode, hunks = given.get("mode") or "patch", given.get("hunks")
    detail = f", mode={mode}" if mode != "patch" else ""
    if mode == "patch" and isinstance(hunks, list | tuple) and hunks:
        detail = f", hunks={len(hunks)}"
    return f'EDIT("{given.get("path", "")}"{detail})'


def _format_multi_edit(given: CallArguments) -> str:
    edits = given.get("edits")
    detail = f", edits={len(edits)}" if isinstance(edits, list | tuple) else ""
    return f'MULTI EDIT("{given.get("file_path", "")}"{detail})'


def _format_notebook_edit(given: CallArguments) -> str:
    return (
        f'NOTEBOOK EDIT("{given.get("notebook_path", "")}", cell={given.get("cell_number", "")},'
        f" mode={given.get('edit_mode') or 'replace'})"
    )


def _format_mkdir(given: CallArguments) -> str:
    flags = [", parents=True"] if given.get("parents", True) else []
    flags += [", exist_ok=True"] if given.get("exist_ok") else []
    return f'MKDIR("{given.get("path", "")}"{"".join(flags)})'


def _format_delete_path(given: CallArguments) -> str:
    recursive = ", recursive=True" if given.get("recursive") else ""
    return f'DELETE PATH("{given.get("path", "")}"{recursive})'


# What is missing in the arguments is empty, or as in _CALL_DEFAULTS.
_CALL_TEMPLATES = {
    "search_context": 'SEARCH(pattern="{pattern}", path="{path}")',
    "search": 'SEARCH(query="{query}")',
    "create_file": 'CREATE("{path}")',
    "list_directory": 'LIST("{path}")',
    "delete_file": 'DELETE FILE("{path}")',
    "run_command": "RUN({command})",
    "start_session": "START SESSION({command})",
    "send_input": 'SEND TO SESSION({session_id}, "{input_text}")',
    "read_output": "READ SESSION OUTPUT({session_id})",
    "close_session": "CLOSE SESSION({session_id})",
    "list_sessions": "LIST SESSIONS()",
    "Replace": 'REPLACE("{file_path}")',
    "Edit": 'EDIT("{file_path}")',
}

_CALL_DEFAULTS = {"search_context": {"path": "."}, "list_directory": {"path": "."}}

_CALL_FORMATTERS: dict[str, Callable[[CallArguments], str]] = {
    "read_file": _format_read,
    "edit_file": _format_edit,
    "delete_path": _format_delete_path,
    "mkdir": _format_mkdir,
    "plan": lambda given: f"PLAN {str(given.get('action', '')).upper()}",
    "MultiEdit": _format_multi_edit,
    "NotebookEditCell": _format_notebook_edit,
}


def _count_lines(text: str) -> int:
    return text.count("\n") + (bool(text) and not text.endswith("\n"))


def _parse_object(text: str) -> dict[str, Any]:
    try:
        value = parse_json(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _describe_read(given: CallArguments, text: str) -> str:
    content = _parse_object(text).get("content", text) if given.get("with_metadata") else text
    return f"read {_count_lines(str(content))} lines"


def _describe_create(given: CallArguments, _: str) -> str:
    return f"created {_count_lines(str(given.get('content', '')))} lines"


def _describe_edit(given: CallArguments, text: str) -> str:
    result = _parse_object(text)
    mode = given.get("mode") or "patch"
    if mode == "patch":
        return f"edited (+{result.get('added', 0)} / -{result.get('deleted', 0)}) lines"
    return f"{mode} {result.get('bytes', 0)} bytes"


def _describe_matches(_: CallArguments, text: str) -> str:
    found = 0 if text.startswith("No matches found") else _count_lines(text)
    return f"{found} results"


# Their results are a sentence already, and document 001 has it without a sign before it.
_VERBATIM_RESULTS = frozenset({"plan", "delete_file", "delete_path", "mkdir"})

_RESULT_FORMATTERS: dict[str, Callable[[CallArguments, str], str]] = {
    "search_context": _describe_matches,
    "read_file": _describe_read,
    "create_file": _describe_create,
    "edit_file": _describe_edit,
    "list_directory": lambda _, text: f"{_count_lines(text)} items",
    "run_command": lambda _, text: f"{_count_lines(text)} lines",
    "search": lambda _, text: f"{len(_HIT_LOCATION.findall(text))} results",
}


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

"""Tool calls and their results in the short words of document 001, for a person who looks on."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from kernel.domain.safe_json import parse_json

Arguments = Mapping[str, Any]

_LONGEST = 2_000
# The first line of each hit of our ranked search.
_PLACE = re.compile(r"^\S[^\n:]*:\d+-\d+\b", re.MULTILINE)


def formatted_call(name: str, arguments: Arguments) -> str:
    """``READ("tricode.py", start=1, end=10)``; whatever the arguments are, this does not fail."""
    form = _CALLS.get(name)
    text = (
        form(arguments) if form else f"{name.upper()}({json.dumps(dict(arguments), default=str)})"
    )
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def formatted_result(name: str, arguments: Arguments, text: str, *, success: bool) -> str:
    """``[OK] read 47 lines``, or ``[FAIL]`` and the reason; short results are repeated as is."""
    if not success:
        return f"[FAIL] {text}"
    if name in _REPEATED:
        return text
    form = _RESULTS.get(name)
    return f"[OK] {form(arguments, text) if form else text}"


def _search(given: Arguments) -> str:
    return f'SEARCH(pattern="{given.get("pattern", "")}", path="{given.get("path", ".")}")'


def _read(given: Arguments) -> str:
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


def _edit(given: Arguments) -> str:
    mode, hunks = given.get("mode") or "patch", given.get("hunks")
    detail = f", mode={mode}" if mode != "patch" else ""
    if mode == "patch" and isinstance(hunks, list | tuple) and hunks:
        detail = f", hunks={len(hunks)}"
    return f'EDIT("{given.get("path", "")}"{detail})'


def _multi_edit(given: Arguments) -> str:
    edits = given.get("edits")
    detail = f", edits={len(edits)}" if isinstance(edits, list | tuple) else ""
    return f'MULTI EDIT("{given.get("file_path", "")}"{detail})'


def _notebook(given: Arguments) -> str:
    return (
        f'NOTEBOOK EDIT("{given.get("notebook_path", "")}", cell={given.get("cell_number", "")},'
        f" mode={given.get('edit_mode') or 'replace'})"
    )


def _mkdir(given: Arguments) -> str:
    flags = [", parents=True"] if given.get("parents", True) else []
    flags += [", exist_ok=True"] if given.get("exist_ok") else []
    return f'MKDIR("{given.get("path", "")}"{"".join(flags)})'


def _delete_path(given: Arguments) -> str:
    recursive = ", recursive=True" if given.get("recursive") else ""
    return f'DELETE PATH("{given.get("path", "")}"{recursive})'


def _of_path(word: str, default: str = "", name: str = "path") -> Callable[[Arguments], str]:
    return lambda given: f'{word}("{given.get(name, default)}")'


def _of_value(word: str, name: str) -> Callable[[Arguments], str]:
    return lambda given: f"{word}({given.get(name, '')})"


_CALLS: dict[str, Callable[[Arguments], str]] = {
    "search_context": _search,
    "search": lambda given: f'SEARCH(query="{given.get("query", "")}")',
    "read_file": _read,
    "create_file": _of_path("CREATE"),
    "edit_file": _edit,
    "list_directory": _of_path("LIST", "."),
    "delete_file": _of_path("DELETE FILE"),
    "delete_path": _delete_path,
    "mkdir": _mkdir,
    "run_command": _of_value("RUN", "command"),
    "plan": lambda given: f"PLAN {str(given.get('action', '')).upper()}",
    "start_session": _of_value("START SESSION", "command"),
    "send_input": lambda given: (
        f'SEND TO SESSION({given.get("session_id", "")}, "{given.get("input_text", "")}")'
    ),
    "read_output": _of_value("READ SESSION OUTPUT", "session_id"),
    "close_session": _of_value("CLOSE SESSION", "session_id"),
    "list_sessions": lambda _: "LIST SESSIONS()",
    "Replace": _of_path("REPLACE", name="file_path"),
    "Edit": _of_path("EDIT", name="file_path"),
    "MultiEdit": _multi_edit,
    "NotebookEditCell": _notebook,
}


def _lines(text: str) -> int:
    return text.count("\n") + (bool(text) and not text.endswith("\n"))


def _json(text: str) -> dict[str, Any]:
    try:
        value = parse_json(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _read_lines(given: Arguments, text: str) -> str:
    content = _json(text).get("content", text) if given.get("with_metadata") else text
    return f"read {_lines(str(content))} lines"


def _created_lines(given: Arguments, _: str) -> str:
    return f"created {_lines(str(given.get('content', '')))} lines"


def _edited(given: Arguments, text: str) -> str:
    result = _json(text)
    mode = given.get("mode") or "patch"
    if mode == "patch":
        return f"edited (+{result.get('added', 0)} / -{result.get('deleted', 0)}) lines"
    return f"{mode} {result.get('bytes', 0)} bytes"


def _results(_: Arguments, text: str) -> str:
    found = 0 if text.startswith("No matches found") else _lines(text)
    return f"{found} results"


# Their results are a sentence already, and document 001 has it without a sign before it.
_REPEATED = frozenset({"plan", "delete_file", "delete_path", "mkdir"})

_RESULTS: dict[str, Callable[[Arguments, str], str]] = {
    "search_context": _results,
    "read_file": _read_lines,
    "create_file": _created_lines,
    "edit_file": _edited,
    "list_directory": lambda _, text: f"{_lines(text)} items",
    "run_command": lambda _, text: f"{_lines(text)} lines",
    "search": lambda _, text: f"{len(_PLACE.findall(text))} results",
}

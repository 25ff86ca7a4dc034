"""Files and changes in the folder of a session, answered by the session's machine.

As the contract says, what the machine could not do is told with status 200 and ``success`` false.
"""

from collections.abc import Callable
from functools import partial

from starlette.routing import BaseRoute

from codekernel.adapters.hub.routes.requests import Handler, HubContext, HubRequest, make_route
from codekernel.domain.agent_sessions import (
    FolderAnswer,
    FolderQuestion,
    FolderQuestionKind,
)
from codekernel.domain.chat import JsonObject
from codekernel.errors import MachineOffline, WrongParam

MAX_PATH_CHARS = 4_096

MAX_FILES, DEFAULT_FILES = 500, 200


def make_routes(hub: HubContext) -> list[BaseRoute]:
    """Return the routes of files."""
    return [
        make_route(hub, "GET", f"/api/sessions/{{session_id}}/{kind}", _make_handler(kind))
        for kind in FolderQuestionKind
    ]


def _make_handler(kind: FolderQuestionKind) -> Handler:
    return partial(_answer, kind=kind)


def _answer(hub: HubContext, request: HubRequest, kind: FolderQuestionKind) -> JsonObject:
    question = _read_question(request, kind)
    try:
        answer = hub.machines.ask_folder(request.session_id, question)
    except MachineOffline as error:
        answer = FolderAnswer(error=str(error))
    rendered = _RENDERERS.get(kind, _render_output)(answer)
    return rendered | ({"success": False, "error": answer.error} if answer.error else {})


def _read_question(request: HubRequest, kind: FolderQuestionKind) -> FolderQuestion:
    path, query = request.query.get("path", ""), request.query.get("query", "")
    if max(len(path), len(query)) > MAX_PATH_CHARS:
        raise WrongParam("The path is too long.")
    if not path and kind in {FolderQuestionKind.FILE, FolderQuestionKind.DIFF}:
        raise WrongParam("`path` is missing.")
    limit = request.query.get("limit", str(DEFAULT_FILES))
    if not (limit.isascii() and limit.isdecimal() and 1 <= int(limit) <= MAX_FILES):
        raise WrongParam(f"`limit` must be from 1 to {MAX_FILES}.")
    is_staged = request.query.get("staged") in {"true", "1"}
    return FolderQuestion(kind, path, is_staged, query, int(limit))


def _render_output(answer: FolderAnswer) -> JsonObject:
    return {
        "success": True,
        "stdout": answer.stdout,
        "stderr": answer.stderr,
        "exitCode": answer.exit_code,
    }


def _render_file(answer: FolderAnswer) -> JsonObject:
    if answer.error:
        return {}
    return {
        "success": True,
        "content": answer.content,
        "size": answer.size,
        "modified": answer.modified_at,
    }


def _render_found(answer: FolderAnswer) -> JsonObject:
    return {
        "success": True,
        "files": [
            {
                "fileName": each.name,
                "filePath": each.path.rpartition("/")[0],
                "fullPath": each.path,
                "fileType": "file",
                "size": each.size,
                "modified": each.modified_at,
            }
            for each in answer.entries
        ],
    }


def _render_listed(answer: FolderAnswer) -> JsonObject:
    return {
        "success": True,
        "entries": [
            {"name": each.name, "type": each.type, "size": each.size, "modified": each.modified_at}
            for each in answer.entries
        ],
    }


_RENDERERS: dict[FolderQuestionKind, Callable[[FolderAnswer], JsonObject]] = {
    FolderQuestionKind.FILE: _render_file,
    FolderQuestionKind.FIND: _render_found,
    FolderQuestionKind.LIST: _render_listed,
}

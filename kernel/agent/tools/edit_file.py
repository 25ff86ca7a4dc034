"""edit_file: a whole new text, something at either end, or a patch; all of it or nothing."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from kernel.agent.context import ToolContext
from kernel.agent.diffs import difference
from kernel.agent.files import create, encoded, exists, load_to_write, save
from kernel.agent.line_ends import EditedText
from kernel.agent.patching import Applied, Hunk, patched
from kernel.agent.text_file import TextFile, digest, must_be_text
from kernel.agent.tool import Danger, Outcome, Tool, ToolFailed, done
from kernel.protocol.tool_arguments import about

OVERWRITE, APPEND, PREPEND, PATCH = "overwrite", "append", "prepend", "patch"


@dataclass(frozen=True, slots=True)
class Precondition:
    """What must be true of the file before it is written."""

    file_sha256: Annotated[
        str | None, about("the sha256 of the whole file, as read_file gave it")
    ] = None


@dataclass(frozen=True, slots=True)
class EditFile:
    """Which file, and how it changes."""

    path: Annotated[str, about("the file to change")]
    mode: Annotated[
        Literal["overwrite", "append", "prepend", "patch"],
        about("overwrite makes a file that is missing; patch applies hunks"),
    ] = "patch"
    content: Annotated[str | None, about("the text, in every mode but patch")] = None
    hunks: Annotated[
        tuple[Hunk, ...], about("the changes of a patch, applied in order, all or none")
    ] = ()
    precondition: Annotated[Precondition | None, about("refuse if the file is another")] = None
    dry_run: Annotated[bool, about("say what would change, and change nothing")] = False


def _run(arguments: EditFile, context: ToolContext) -> Outcome:
    _must_be_whole(arguments)
    if arguments.mode == OVERWRITE and not exists(context, arguments.path):
        return _made(arguments, context)
    file = load_to_write(context, arguments.path)
    _must_be_expected(arguments, file.sha256)
    text, applied = _edited(arguments, file, context.limits.seconds)
    data = encoded(file, text)
    result = _result(arguments, file, text, data, applied)
    if not arguments.dry_run:
        save(context, TOOL.name, file, text)
    return _said(result)


def _must_be_whole(arguments: EditFile) -> None:
    """ToolFailed if something that the mode needs is missing."""
    if arguments.mode == PATCH and not arguments.hunks:
        raise ToolFailed("mode patch needs `hunks`; to write a whole text use mode overwrite.")
    if arguments.mode != PATCH and arguments.content is None:
        raise ToolFailed(f"mode {arguments.mode} needs `content`.")
    for content in (arguments.content, *(hunk.content for hunk in arguments.hunks)):
        must_be_text(content or "")


def _must_be_expected(arguments: EditFile, sha256: str) -> None:
    wanted = arguments.precondition.file_sha256 if arguments.precondition else None
    if wanted and wanted.lower() != sha256:
        raise ToolFailed(
            f"Precondition failed: {arguments.path} has the sha256 {sha256 or '(no such file)'},"
            f" not {wanted}. It has been changed since: read it again.",
            {"sha256": sha256},
        )


def _edited(arguments: EditFile, file: TextFile, seconds: float) -> tuple[str, list[Applied]]:
    text = EditedText.of(file.text)
    if arguments.mode == PATCH:
        text, applied = patched(text, arguments.hunks, seconds)
        return text.text, applied
    own = text.own(arguments.content or "")
    return {OVERWRITE: own, APPEND: file.text + own, PREPEND: own + file.text}[arguments.mode], []


def _made(arguments: EditFile, context: ToolContext) -> Outcome:
    """The file that mode overwrite makes where there is none."""
    context.root.to_write(arguments.path)
    _must_be_expected(arguments, "")
    content = arguments.content or ""
    if not arguments.dry_run:
        create(context, TOOL.name, arguments.path, content)
    change = difference(arguments.path, "", content)
    return _said(
        {
            "path": arguments.path,
            "mode": arguments.mode,
            "dry_run": arguments.dry_run,
            "created": True,
            "bytes": len(content.encode()),
            "sha256_before": "",
            "sha256_after": digest(content.encode()),
            "matches": [],
            "added": change.added,
            "deleted": change.deleted,
            "diff": change.text,
        }
    )


def _result(
    arguments: EditFile, file: TextFile, text: str, data: bytes, applied: list[Applied]
) -> dict[str, Any]:
    change = difference(arguments.path, file.text, text)
    return {
        "path": arguments.path,
        "mode": arguments.mode,
        "dry_run": arguments.dry_run,
        "created": False,
        "bytes": len(data),
        "sha256_before": file.sha256,
        "sha256_after": digest(data),
        "matches": [each.described() for each in applied],
        "added": change.added,
        "deleted": change.deleted,
        "diff": change.text,
    }


def _said(result: Mapping[str, Any]) -> Outcome:
    return done(json.dumps(result, ensure_ascii=False), result)


TOOL = Tool(
    name="edit_file",
    purpose=(
        "Change a file. Simple modes write a whole text (overwrite) or add one (append, prepend)."
        " Mode patch changes places that an anchor names: an exact text or a regular expression."
        " Either all hunks are applied or none. Gives JSON with a diff."
    ),
    arguments=EditFile,
    danger=Danger.WRITES,
    run=_run,
)

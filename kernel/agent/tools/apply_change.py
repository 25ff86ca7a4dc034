"""apply_change as document 002 has it: one block of a file is searched and replaced."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

from kernel.agent.change_block import changed
from kernel.agent.context import ToolContext
from kernel.agent.diffs import difference
from kernel.agent.files import create, exists, load_to_write, save
from kernel.agent.line_ends import EditedText
from kernel.agent.text_file import must_be_text
from kernel.agent.tool import Danger, Outcome, Tool, ToolFailed, done
from kernel.protocol.tool_arguments import about

NOT_FOUND = "未找到匹配的旧内容（精确和模糊都未匹配）"  # noqa: RUF001 - the document's


@dataclass(frozen=True, slots=True)
class ApplyChange:
    """Which file, what stands there, what shall stand there."""

    relative_path: Annotated[str, about("the file to change or make")]
    replace_content: Annotated[str, about("the new lines")]
    search_content: Annotated[
        str, about("the lines to be replaced; empty to write the whole file anew")
    ] = ""
    description: Annotated[str, about("what the change is for")] = ""

    ALIASES: ClassVar[Mapping[str, str]] = {"path": "relative_path", "file_path": "relative_path"}


def _run(arguments: ApplyChange, context: ToolContext) -> Outcome:
    must_be_text(arguments.replace_content, "replaceContent")
    path = arguments.relative_path
    context.root.to_write(path)
    if not exists(context, path):
        if arguments.search_content:
            raise ToolFailed(f"文件不存在: {path}")
        create(context, TOOL.name, path, arguments.replace_content)
        return _said(f"已创建文件: {path}", path, "", arguments.replace_content)
    file = load_to_write(context, path)
    before = EditedText.of(file.text)
    if not arguments.search_content:
        after, line = before.own(arguments.replace_content), 1
    else:
        block = changed(before, arguments.search_content, arguments.replace_content)
        if block is None:
            raise ToolFailed(NOT_FOUND)
        after, line = block.text.text, block.line
    save(context, TOOL.name, file, after)
    return _said(f"已修改文件: {path} (第 {line} 行)", path, file.text, after)


def _said(what: str, path: str, before: str, after: str) -> Outcome:
    change = difference(path, before, after)
    counted = f"**变更**: +{change.added} / -{change.deleted} 行"
    data = {"path": path, "added": change.added, "deleted": change.deleted, "diff": change.text}
    return done(f"{what}\n\n{counted}", data)


TOOL = Tool(
    name="apply_change",
    purpose=(
        "Replace a block of lines in a file. Indentation and blank lines of the searched block need"
        " not be exact; what replaces it is indented as the file is. Without searchContent the"
        " whole file is written."
    ),
    arguments=ApplyChange,
    danger=Danger.WRITES,
    run=_run,
)

"""NotebookEditCell: one cell of a Jupyter notebook replaced, put in or taken out (document 000)."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from kernel.agent import files
from kernel.agent.notebook import CODE, USUAL_LANGUAGE, Notebook
from kernel.agent.text_file import TextFile, must_be_text
from kernel.agent.tool import Danger, Outcome, Tool, ToolContext, ToolFailed
from kernel.agent.tools.edit import NOTEBOOK_SUFFIX
from kernel.protocol.tool_arguments import about

NAME = "NotebookEditCell"


@dataclass(frozen=True, slots=True)
class Arguments:
    """What NotebookEditCell takes."""

    notebook_path: Annotated[str, about("the notebook, a file that ends in .ipynb")]
    cell_number: Annotated[int, about("which cell, counted from 0")]
    new_source: Annotated[str, about("the source of the cell; not needed to delete one")] = ""
    cell_type: Annotated[
        Literal["code", "markdown"] | None,
        about("needed to insert; to replace, the type that the cell gets"),
    ] = None
    edit_mode: Annotated[
        Literal["replace", "insert", "delete"],
        about("insert puts a new cell before the one of this number"),
    ] = "replace"


def run(arguments: Arguments, context: ToolContext) -> Outcome:
    """Change the cell; a failure too says which cell it was about."""
    language = USUAL_LANGUAGE
    try:
        file = _loaded(arguments, context)
        notebook = Notebook.read(file.text, arguments.notebook_path)
        language = notebook.language
        cell_type = _changed(notebook, arguments)
        files.save(context, NAME, file, notebook.text())
    except ToolFailed as error:
        data = _data(arguments, arguments.cell_type or CODE, language)
        raise ToolFailed(str(error), {**data, "error": str(error)}) from error
    return Outcome(
        success=True,
        text=f"Cell {arguments.cell_number} of {arguments.notebook_path}:"
        f" {arguments.edit_mode} done. It has {len(notebook.cells)} cells now.",
        data=_data(arguments, cell_type, language),
    )


def _loaded(arguments: Arguments, context: ToolContext) -> TextFile:
    must_be_text(arguments.new_source, "new_source")
    if not arguments.notebook_path.lower().endswith(NOTEBOOK_SUFFIX):
        raise ToolFailed(f"{arguments.notebook_path} is no notebook: use Edit.")
    return files.load_to_write(context, arguments.notebook_path)


def _changed(notebook: Notebook, arguments: Arguments) -> str:
    """Does it; the type of the cell."""
    number, source = arguments.cell_number, arguments.new_source
    if arguments.edit_mode == "delete":
        return notebook.delete(number)
    if arguments.edit_mode == "replace":
        return notebook.replace(number, source, arguments.cell_type)
    if arguments.cell_type is None:
        raise ToolFailed("cell_type is needed to insert a cell: code or markdown.")
    return notebook.insert(number, source, arguments.cell_type)


def _data(arguments: Arguments, cell_type: str, language: str) -> dict[str, Any]:
    return {
        "cell_number": arguments.cell_number,
        "new_source": arguments.new_source,
        "cell_type": cell_type,
        "language": language,
        "edit_mode": arguments.edit_mode,
    }


TOOL = Tool(
    NAME,
    "Changes a Jupyter notebook cell by cell: replaces a cell's source, inserts a cell, deletes"
    " one.",
    Arguments,
    Danger.WRITES,
    run,
)

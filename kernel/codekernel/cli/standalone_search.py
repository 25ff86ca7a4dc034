"""Search a folder with an index of this process: ``--standalone``, and where no kernel can be had.

Heavy to import.
"""

from contextlib import nullcontext
from pathlib import Path

from codekernel.cli import model_selection
from codekernel.cli.folder_index import describe_missing, open_index_with_bar
from codekernel.cli.output.terminal import print_notice
from codekernel.cli.project_folder import choose_index_folder
from codekernel.domain.index import Hit
from codekernel.search.pipeline import Searcher
from codekernel.storage.user_data import UserData


def search_standalone(  # noqa: PLR0913 - what is searched, for what, and how thoroughly
    root: Path,
    user_data: UserData,
    query: str,
    limit: int | None,
    *,
    semantic: bool,
    accuracy: bool,
    until_complete: bool,
) -> list[Hit]:
    """Return the best hits. Raises KernelError."""
    settings, plan = model_selection.load_settings_and_plan(user_data.settings_file)
    models = model_selection.get_model_pool if semantic else None
    folder = choose_index_folder(root, user_data)
    with open_index_with_bar(root, folder, plan, models, until_complete=until_complete) as index:
        reranking = model_selection.open_selected_reranker(settings, is_requested=True)
        with reranking if accuracy else nullcontext() as reranker:
            searcher = Searcher(root, index.get_searchable(), reranker, index.throttle)
            hits = searcher.search(query, limit or settings.search_limit, accuracy=accuracy)
        for sentence in describe_missing(index):
            print_notice(sentence)
    return hits

"""When the vectors are rewritten: once everything is indexed, and not in the pauses before."""

from codekernel.storage.vectors.vector_table import MIN_COMMITS_TO_COMPACT
from indexing.followed import Followed, Open

FEW_VERSIONS = 2


def versions(followed: Followed) -> int:
    """Counted from outside: LanceDB cannot list them while it removes some."""
    return sum(1 for _ in followed.folder.glob("vectors/*/*/_versions/*.manifest"))


def test_vectors_are_tidied_only_when_no_file_is_under_way(open_index: Open) -> None:
    followed = open_index()
    followed.settle()
    progress = followed.index._progress
    progress.begin_files(["on its way.py"])
    for number in range(MIN_COMMITS_TO_COMPACT + 1):
        followed.write(f"file{number}.py", f"def function{number}():\n    return {number}\n")
        followed.wait_until(lambda count=number: sum(followed.vectors()) > count, "a vector")  # type: ignore[misc]
    followed.settle()
    followed.index._worker.embed_worker._compact()
    assert versions(followed) > MIN_COMMITS_TO_COMPACT

    progress.finish_file("on its way.py")
    followed.wait_until(lambda: versions(followed) <= FEW_VERSIONS, "tidied")

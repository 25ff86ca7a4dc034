"""A change of settings while repositories are open redoes what it must, and nothing else."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from codekernel.inference.model_folder import get_bundled_folder
from support.index_client import (
    STATIC,
    IndexClient,
    config,
    open_client,
    write_files,
    write_settings,
)
from support.kernel_process import KernelProcess, Line, code_of

FILES = 12

pytestmark = pytest.mark.slow


@pytest.fixture
def window(user_data: Path, repo: Path) -> Iterator[IndexClient]:
    """A repository indexed with one config of the static model."""
    write_settings(user_data, config("short", 120))
    write_files(repo, FILES, functions=3)
    with KernelProcess(user_data) as kernel:
        window = open_client(kernel, repo, session=1)
        window.wait_until_idle()
        yield window
        assert kernel.stop() == 0


def update(window: IndexClient, *configs: Line, models: dict[str, Path] | None = None) -> Line:
    """Change the settings and wait until the index has followed; its status then."""
    write_settings(window.kernel.user_data, *configs, models=models)
    assert code_of(window.kernel.request("updateSettings")) == "SUCCESS"
    names = [each["name"] for each in configs if each["selected"]]
    window.wait_until(lambda: follows(window.status(), names), f"configs {names}")
    return window.wait_until_idle()


def follows(status: Line, names: list[str]) -> bool:
    ready = [each["name"] for each in status["configs"] if each["ready"]]
    return ready == names and status["state"] == "idle"


def vectors(user_data: Path) -> list[str]:
    return sorted(folder.name for folder in (user_data / "index" / "1" / "vectors").iterdir())


def lengths(chunks: list[Line]) -> dict[str, int]:
    """The longest chunk of each config."""
    names = {chunk["embeddingName"] for chunk in chunks}
    return {
        name: max(len(chunk["content"]) for chunk in chunks if chunk["embeddingName"] == name)
        for name in names
    }


def copy_of_model(place: Path, **changes: object) -> Path:
    shutil.copytree(get_bundled_folder() / STATIC, place)
    described = json.loads((place / "codekernel.json").read_text(encoding="utf-8"))
    text = json.dumps({**described, **changes})
    (place / "codekernel.json").write_text(text, encoding="utf-8")
    return place


def test_a_second_config_joins_and_goes_and_the_first_is_left_alone(
    window: IndexClient, user_data: Path
) -> None:
    before, alone = vectors(user_data), window.list_chunks()
    status = update(window, config("short", 120), config("long", 600))
    assert [each["waiting"] for each in status["configs"]] == [0, 0]
    assert set(before) < set(vectors(user_data))
    both = lengths(window.list_chunks())
    assert both["short"] <= 120 < both["long"] <= 600
    assert window.search("function_7_1")[0] == "module_7.py"
    update(window, config("short", 120), config("long", 600, selected=False))
    window.wait_until(lambda: vectors(user_data) == before, "the second config's vectors gone")
    assert window.list_chunks() == alone
    assert window.search("function_7_1")[0] == "module_7.py"


def test_a_second_config_of_the_same_model_and_length_embeds_nothing(
    window: IndexClient, user_data: Path
) -> None:
    before, since = vectors(user_data), len(window.kernel.lines)
    update(window, config("short", 120), config("twin", 120))
    assert vectors(user_data) == before
    assert window.list_events(since=since) == []
    names = [chunk["embeddingName"] for chunk in window.list_chunks()]
    assert names.count("short") == names.count("twin") > 0


def test_another_input_length_cuts_and_embeds_everything_anew(
    window: IndexClient, user_data: Path
) -> None:
    before, since = vectors(user_data), len(window.kernel.lines)
    update(window, config("short", 600))
    window.wait_until(lambda: not set(before) & set(vectors(user_data)), "the old vectors gone")
    assert lengths(window.list_chunks())["short"] > 120
    assert len(window.list_done(since=since)) == FILES
    assert window.search("function_7_1")[0] == "module_7.py"


def test_no_selected_config_leaves_the_words(window: IndexClient, user_data: Path) -> None:
    update(window, config("short", 120, selected=False))
    window.wait_until(lambda: vectors(user_data) == [], "the vectors gone")
    assert window.search("function_7_1")[0] == "module_7.py"


def test_a_replaced_model_embeds_everything_anew_and_only_once(
    window: IndexClient, user_data: Path, tmp_path: Path
) -> None:
    first = copy_of_model(tmp_path / "first", maxTokens=2000)
    second = copy_of_model(tmp_path / "second", maxTokens=1000)
    update(window, config("mine", 120, "own"), models={"own": first})
    window.wait_until(lambda: len(vectors(user_data)) == 1, "one model's vectors")
    before, since = vectors(user_data), len(window.kernel.lines)
    chunks = window.list_chunks()
    write_settings(user_data, config("mine", 120, "own"), models={"own": second})
    assert code_of(window.kernel.request("updateSettings")) == "SUCCESS"
    window.wait_until(
        lambda: not set(before) & set(vectors(user_data)), "the other model's vectors"
    )
    window.wait_until_idle()
    assert sorted(window.list_done(since=since)) == sorted({c["filePath"] for c in chunks})
    assert window.list_chunks() == chunks
    assert window.search("function_7_1")[0] == "module_7.py"


def test_a_missing_model_is_told_and_search_goes_on_by_words(user_data: Path, repo: Path) -> None:
    nowhere = {"own": user_data / "no-such-model"}
    write_settings(user_data, config("mine", 120, "own"), config("short", 120), models=nowhere)
    paths = write_files(repo, FILES, functions=3)
    with KernelProcess(user_data) as kernel:
        window = open_client(kernel, repo, session=1)
        mine, short = window.wait_until_idle()["configs"]
        assert (mine["ready"], short["ready"]) == (False, True)
        assert "no-such-model" in mine["trouble"]
        assert sorted(window.list_done()) == sorted(paths)
        assert window.search("function_7_1")[0] == "module_7.py"
        copy_of_model(user_data / "no-such-model", maxTokens=2000)
        update(window, config("mine", 120, "own"), config("short", 120), models=nowhere)
        assert all(each["chunks"] == FILES * 3 for each in window.status()["configs"])
        assert kernel.stop() == 0


def test_a_missing_model_keeps_the_vectors_of_configs_chosen_before(
    user_data: Path, repo: Path, tmp_path: Path
) -> None:
    model = copy_of_model(tmp_path / "own", maxTokens=2000)
    write_settings(user_data, config("mine", 120, "own"), models={"own": model})
    write_files(repo, FILES)
    with KernelProcess(user_data) as kernel:
        open_client(kernel, repo, session=1).wait_until_idle()
        assert kernel.stop() == 0
    before = vectors(user_data)
    model.rename(tmp_path / "unplugged")
    with KernelProcess(user_data) as kernel:
        open_client(kernel, repo, session=1).wait_until_idle()
        assert kernel.stop() == 0
    assert vectors(user_data) == before
    (tmp_path / "unplugged").rename(model)
    with KernelProcess(user_data) as kernel:
        window = open_client(kernel, repo, session=1)
        window.wait_until_idle()
        assert window.list_events() == []
        assert kernel.stop() == 0


def test_broken_settings_at_the_start_purge_nothing_and_leave_nothing_stale(
    user_data: Path, repo: Path
) -> None:
    write_settings(user_data, config("short", 120))
    good = (user_data / "settings.json").read_text(encoding="utf-8")
    paths = write_files(repo, FILES, functions=3)
    with KernelProcess(user_data) as kernel:
        open_client(kernel, repo, session=1).wait_until_idle()
        assert kernel.stop() == 0
    before = vectors(user_data)
    (user_data / "settings.json").write_text(good[:-40], encoding="utf-8")
    with KernelProcess(user_data) as kernel:
        window = open_client(kernel, repo, session=1)
        window.wait_until_idle()
        (repo / paths[0]).write_text("def quite_another(thing): ...\n" * 40, encoding="utf-8")
        window.wait_until(lambda: paths[0] in window.search("quite_another"), "the change")
        window.wait_until_idle()
        assert kernel.stop() == 0
    assert set(before) <= set(vectors(user_data))
    (user_data / "settings.json").write_text(good, encoding="utf-8")
    with KernelProcess(user_data) as kernel:
        window = open_client(kernel, repo, session=1)
        window.wait_until_idle()
        assert {line["filePath"] for line in window.list_events()} <= {paths[0]}
        changed = [chunk for chunk in window.list_chunks() if chunk["filePath"] == paths[0]]
        text = (repo / paths[0]).read_text(encoding="utf-8")
        assert "".join(chunk["content"] for chunk in changed) == text
        assert vectors(user_data) == before
        assert kernel.stop() == 0

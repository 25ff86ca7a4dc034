"""``codekernel search`` in real folders, its output in pipes."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from codekernel.protocol.messages.search import SearchResult
from support.command_line import codekernel, run_with_closed_stdout
from support.kernel_process import KernelProcess

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "userData.example" / "settings.json"
RERANKER = ROOT / "tests" / "fixtures" / "models" / "ms-marco-MiniLM"


@pytest.fixture
def project(repo: Path) -> Path:
    (repo / ".git").mkdir()
    (repo / "net").mkdir()
    (repo / "net" / "sockets.py").write_text(
        "import time\n\n\nclass Peer:\n    def close_socket(self):\n"
        "        self.socket.shutdown()\n        self.socket.close()\n",
        encoding="utf-8",
    )
    (repo / "headers.py").write_text(
        "CACHE = {}\n\n\ndef parsed(header):\n    return CACHE[header]\n", encoding="utf-8"
    )
    return repo


@pytest.mark.slow
def test_the_first_search_indexes_the_folder_and_answers_by_words_and_meaning(
    user_data: Path, project: Path
) -> None:
    done = codekernel(user_data, project, "search", "--json", "--explain", "hang up a connection")
    assert (done.returncode, done.stderr) == (0, "")
    hits = json.loads(done.stdout)
    assert hits[0]["filePath"] == "net/sockets.py"
    assert hits[0]["why"]["meaning"] > 0
    assert [path.parent.name for path in user_data.rglob("catalogue.db")] == ["1"]
    assert sorted(path.name for path in project.iterdir()) == [".git", "headers.py", "net"]


def test_a_hit_has_its_place_its_symbol_its_score_and_its_lines(
    user_data: Path, project: Path
) -> None:
    done = codekernel(user_data, project, "search", "--words", "close", "socket")
    assert (done.returncode, done.stderr) == (0, "")
    first, *lines = done.stdout.splitlines()
    place, symbol, score = first.split("  ")
    assert place == f"net{os.sep}sockets.py:5"
    assert symbol == "Peer"
    assert 0 < float(score) < 1
    assert "  5     def close_socket(self):" in lines
    assert "\x1b" not in done.stdout


def test_the_repository_around_the_current_folder_is_searched_and_paths_lead_from_here(
    user_data: Path, project: Path
) -> None:
    done = codekernel(user_data, project / "net", "search", "--words", "--files", "header")
    assert done.stdout == f"..{os.sep}headers.py\n"


def test_a_folder_can_be_named_and_files_are_listed_once(user_data: Path, project: Path) -> None:
    (project / "twice.py").write_text(
        "\n\n".join(f"def banana_{n}():\n    return {'n + ' * 90}{n}" for n in range(6)),
        encoding="utf-8",
    )
    done = codekernel(
        user_data, user_data, "search", "--words", "--files", "--repo", str(project), "banana"
    )
    assert done.stdout == os.path.relpath(project / "twice.py", user_data) + "\n"


@pytest.mark.slow
def test_a_change_is_found_by_the_next_search(user_data: Path, project: Path) -> None:
    before = codekernel(user_data, project, "search", "--words", "zeppelin")
    assert (before.returncode, before.stdout, before.stderr) == (1, "", "")
    (project / "airship.py").write_text("zeppelin = 1\n", encoding="utf-8")
    assert codekernel(user_data, project, "search", "--words", "zeppelin").returncode == 0
    (project / "airship.py").unlink()
    assert codekernel(user_data, project, "search", "--words", "zeppelin").returncode == 1


def test_json_has_the_fields_of_the_protocol(user_data: Path, project: Path) -> None:
    fields = {field.encode_name for field in msgspec.structs.fields(SearchResult)}
    done = codekernel(user_data, project, "search", "--words", "--json", "--explain", "header")
    (hit,) = json.loads(done.stdout)
    assert hit.keys() == fields
    plain = codekernel(user_data, project, "search", "--words", "--json", "header")
    (hit,) = json.loads(plain.stdout)
    assert hit.keys() == fields - {"why"}
    nothing = codekernel(user_data, project, "search", "--words", "--json", "zeppelin")
    assert (nothing.returncode, json.loads(nothing.stdout)) == (1, [])


@pytest.mark.slow
def test_filters_exact_strings_and_patterns_can_be_typed_as_they_are(
    user_data: Path, project: Path
) -> None:
    for words in (
        ["return", "-path:net"],
        ["file:headers", "cache"],
        ['"CACHE[header]"'],
        ["/E.h/"],
    ):
        done = codekernel(user_data, project, "search", "--files", "--words", *words)
        assert (done.stdout, done.stderr) == ("headers.py\n", "")


def test_explain_gives_reasons_with_their_shares(user_data: Path, project: Path) -> None:
    done = codekernel(user_data, project, "search", "--words", "--explain", "parsed header")
    assert "% because it has words of the query" in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--repo", "nowhere", "x"], "nowhere"),
        (["--repo", "headers.py", "x"], "is a file"),
        ([" "], "the query is empty"),
        ([], "QUERY"),
        (["--limit", "0", "x"], "'0' is not a whole number"),
        (["--limit", "ten", "x"], "'ten' is not a whole number"),
        (["--limit", "1000000000", "x"], "at most"),
        (["--json", "--files", "x"], "not allowed with"),
        (["/(/"], "regular expression"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_a_sentence(
    user_data: Path, project: Path, words: list[str], said: str
) -> None:
    done = codekernel(user_data, project, "search", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_home_folder_is_not_indexed_by_mistake(user_data: Path, project: Path) -> None:
    shutil.rmtree(project / ".git")
    here = {"HOME": str(project), "USERPROFILE": str(project)}
    refused = codekernel(user_data, project, "search", "--words", "header", **here)
    assert refused.returncode == 2
    assert f"--repo {project}" in refused.stderr
    meant = codekernel(user_data, project, "search", "--words", "--repo", ".", "header", **here)
    assert meant.returncode == 0


def test_settings_that_cannot_be_read_are_named_and_the_defaults_used(
    user_data: Path, project: Path
) -> None:
    (user_data / "settings.json").write_text("{", encoding="utf-8")
    done = codekernel(user_data, project, "search", "--words", "--files", "header")
    assert done.stdout == "headers.py\n"
    assert done.stderr.count("\n") == 1
    assert "settings.json" in done.stderr


@pytest.mark.slow
def test_a_damaged_index_is_made_again(user_data: Path, project: Path) -> None:
    codekernel(user_data, project, "search", "--words", "header")
    (catalogue,) = user_data.rglob("catalogue.db")
    catalogue.write_bytes(b"not a catalogue" * 1000)
    done = codekernel(user_data, project, "search", "--words", "--files", "header")
    assert (done.returncode, done.stdout) == (0, "headers.py\n")


@pytest.mark.slow
def test_a_search_shares_the_index_of_a_registered_repository_and_reads_it_while_it_is_open(
    kernel: KernelProcess, user_data: Path, project: Path
) -> None:
    kernel.open(project, session=1)
    kernel.wait_for(
        lambda line: line["message"].get("filePath") == "headers.py", "headers.py is cut"
    )
    kernel.wait_for(lambda line: line["message"].get("status") == "done", "a file is done")
    for words in (["--files", "header"], ["--files", "--words", "header"]):
        meanwhile = codekernel(user_data, project, "search", *words)
        assert meanwhile.stdout == "headers.py\n"
        assert "another codekernel keeps this index" in meanwhile.stderr
    assert kernel.stop() == 0
    after = codekernel(user_data, project, "search", "--words", "--files", "header")
    assert (after.stdout, after.stderr) == ("headers.py\n", "")
    assert [path.name for path in (user_data / "index").iterdir()] == ["1"]


def test_a_pipe_that_is_closed_early_is_no_error(user_data: Path, project: Path) -> None:
    searched = run_with_closed_stdout(user_data, "search", "--words", "socket", cwd=project)
    assert searched == (0, "")


def test_a_file_cannot_give_orders_to_the_terminal(user_data: Path, project: Path) -> None:
    (project / "evil.py").write_text(
        "evil = '\x1b]0;owned\x07'  # \u202e\u2066 gnp\x9b31m\n", encoding="utf-8"
    )
    done = codekernel(user_data, project, "search", "--words", "evil")
    assert "'\\x1b]0;owned\\x07'  # \\u202e\\u2066 gnp\\x9b31m" in done.stdout
    assert not {"\x1b", "\x07", "\u202e", "\x9b"} & set(done.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_a_name_that_is_no_text_comes_out_as_it_is(user_data: Path, project: Path) -> None:
    Path(os.fsdecode(bytes(project) + b"/odd-\xff.py")).write_text("zeppelin = 1\n")
    done = codekernel(user_data, project, "search", "--words", "--files", "zeppelin")
    assert os.fsencode(done.stdout) == b"odd-\xff.py\n"


QUESTIONS = ("socket header", "header parsed peer")


@pytest.mark.slow
def test_the_selected_reranker_is_used_and_its_absence_reported(
    user_data: Path, project: Path
) -> None:
    def ask(*words: str) -> subprocess.CompletedProcess[str]:
        return codekernel(user_data, project, "search", "--words", "--accuracy", *words)

    assert _is_used([ask("--explain", "--json", words) for words in QUESTIONS])
    select_reranker(user_data, RERANKER, selected=False)
    done = ask("header")
    assert done.returncode == 0
    assert "no reranker is selected" in done.stderr
    select_reranker(user_data, user_data / "missing")
    assert "the selected reranker is not used" in ask("header").stderr
    select_reranker(user_data, RERANKER)
    # This one knows nothing, so that it agrees with the order of one question or of its reverse.
    assert _is_used([ask("--explain", "--json", words) for words in QUESTIONS])


def _is_used(searches: list[subprocess.CompletedProcess[str]]) -> bool:
    assert {done.stderr for done in searches} == {""}
    return any("reranker" in hit["why"] for done in searches for hit in json.loads(done.stdout))


def select_reranker(user_data: Path, folder: Path, *, selected: bool = True) -> None:
    before, name, after = EXAMPLE.read_text(encoding="utf-8").partition('"rerankConfig"')
    model = json.dumps({"name": "judge", "path": str(folder), "type": "rerank"})
    config = json.dumps({"modelName": "judge", "selected": selected})
    after = after.replace('"configs": []', f'"configs": [{config}]')
    after = after.replace('"models": []', f'"models": [{model}]')
    (user_data / "settings.json").write_text(before + name + after, encoding="utf-8")

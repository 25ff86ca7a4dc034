"""``codekernel eval`` on a small repository with a real history."""

import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest
from codekernel.cli.commands.eval import (
    EvaluationReport,
    SettingComparison,
    SettingResult,
    describe_duration,
)
from codekernel.cli.commands.eval_tuning import TuningReport
from codekernel.search.evaluation import MetricDifference, RetrievalMetrics
from codekernel.search.ranking_weights import WEIGHTS_FILE, RankingWeights, write_weights
from codekernel.storage.index_store import CATALOG_FILE
from support.git_history import GitHistory
from support.kernel_process import bare_environment

ROOT = Path(__file__).parents[2]
RERANKER = ROOT / "tests" / "fixtures" / "models" / "ms-marco-MiniLM"


def codekernel(user_data: Path, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "codekernel", *words],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**bare_environment(user_data), "PATH": os.environ["PATH"], **environ},
        timeout=60,
        check=False,
    )


@pytest.fixture
def project(repo: Path) -> Path:
    history = GitHistory(repo)
    history.commit(
        "Close the socket when a peer vanishes",
        {"net.py": "def close_socket(peer):\n    peer.socket.close()\n"},
    )
    history.commit(
        "feat: remember parsed header lines (#7)",
        {"headers.py": "CACHE = {}\n\n\ndef parsed(header):\n    return CACHE[header]\n"},
    )
    history.commit("Bump version to 2.0", {"version.py": "VERSION = 2\n"})
    return repo


def files_of(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


@pytest.mark.slow
def test_search_is_measured_by_the_commits_of_the_repository(
    user_data: Path, project: Path
) -> None:
    before = files_of(project)
    done = codekernel(user_data, "eval", "--repo", str(project), "--json")
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(done.stdout)
    assert (report["commits"], report["commitsWithoutFileName"]) == (2, 1)
    words = report["settings"][0]
    assert words["name"] == "words alone"
    assert words["all"] == {"ndcg10": 1.0, "recall10": 1.0, "mrr": 1.0, "hit1": 1.0}
    assert {"words + static"} <= {setting["name"] for setting in report["settings"]}
    assert report["comparisons"][0]["withinNoise"]
    assert files_of(project) == before


@pytest.mark.slow
def test_a_selected_reranker_is_tried_too(user_data: Path, project: Path) -> None:
    settings = (ROOT / "userData.example" / "settings.json").read_text(encoding="utf-8")
    chosen = {"modelName": "small", "selected": True}
    model = {"name": "small", "path": str(RERANKER), "type": "rerank"}
    static = {
        "name": "static",
        "modelName": "codekernel-static-v3",
        "inputLength": 950,
        "selected": True,
    }
    before, after, last = settings.partition('"rerankConfig"')
    text = before.replace('"configs": []', f'"configs": [{json.dumps(static)}]') + after
    text += last.replace('"configs": []', f'"configs": [{json.dumps(chosen)}]').replace(
        '"models": []', f'"models": [{json.dumps(model)}]'
    )
    (user_data / "settings.json").write_text(text, encoding="utf-8")
    done = codekernel(user_data, "eval", "--repo", str(project), "--json")
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(done.stdout)
    assert report["settings"][-1]["name"] == "all + reranker"
    assert report["comparisons"][-1]["what"] == "The reranker"
    assert report["remarks"] == []


@pytest.mark.slow
def test_what_was_learned_is_kept_only_if_it_holds_and_is_forgotten_on_demand(
    user_data: Path, project: Path
) -> None:
    done = codekernel(user_data, "eval", "--repo", str(project), "--tune")
    assert (done.returncode, done.stderr) == (0, "")
    assert "weights learned from 1 commits, judged by 1" in done.stdout
    assert "nothing is changed" in done.stdout
    (catalog,) = user_data.rglob(CATALOG_FILE)
    assert not (catalog.parent / WEIGHTS_FILE).exists()
    write_weights(catalog.parent, RankingWeights(file_name=2.0))
    done = codekernel(user_data, "eval", "--repo", str(project), "--untune", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == {"repository": str(project), "kept": False}
    assert not (catalog.parent / WEIGHTS_FILE).exists()
    assert codekernel(user_data, "eval", "--tune", "--untune").returncode == 2


@pytest.mark.slow
def test_a_repository_that_cannot_be_evaluated_is_reported_in_a_sentence(
    user_data: Path, project: Path, tmp_path: Path
) -> None:
    nowhere = codekernel(user_data, "eval", "--repo", str(tmp_path / "nowhere"))
    assert (nowhere.returncode, nowhere.stdout) == (1, "")
    assert "cannot be read" in nowhere.stderr
    plain = codekernel(user_data, "eval", "--repo", str(tmp_path))
    assert plain.returncode == 1
    assert "not in a git repository" in plain.stderr
    without_git = codekernel(user_data, "eval", "--repo", str(project), PATH=str(tmp_path))
    assert without_git.returncode == 1
    assert "git is not installed" in without_git.stderr
    released = GitHistory(tmp_path / "released")
    released.commit("Release version 1.0", {"a.py": "x = 1\n"})
    nothing = codekernel(user_data, "eval", "--repo", str(released.folder))
    assert nothing.returncode == 1
    assert "can be asked" in nothing.stderr
    assert codekernel(user_data, "eval", "--commits", "none").returncode == 2


GOOD, BAD = RetrievalMetrics(1.0, 1.0, 1.0, 1.0), RetrievalMetrics(0.0, 0.0, 0.0, 0.0)


def test_a_gain_is_reported_with_its_cost() -> None:
    found = SettingComparison(
        "granite", "words alone", MetricDifference(0.03, 0.01, 0.05), "about 12 minutes"
    )
    assert found.advice == (
        "granite gains 0.030 (+0.010 to +0.050) over words alone on your code; "
        "it costs about 12 minutes."
    )


def test_a_loss_is_reported_with_what_to_do() -> None:
    found = SettingComparison(
        "The reranker", "words + static", MetricDifference(-0.01, -0.02, -0.001)
    )
    assert "loses 0.010" in found.advice
    assert found.advice.endswith("leave it off.")


def test_noise_is_called_noise() -> None:
    found = SettingComparison("static", "words alone", MetricDifference(0.01, -0.02, 0.04))
    assert "is within noise (-0.020 to +0.040)" in found.advice


def test_the_table_has_a_line_for_each_setting_and_says_when_there_is_little_to_go_by() -> None:
    outcomes = (
        SettingResult("words alone", (GOOD, BAD), (BAD,), 1.0),
        SettingResult("words + static", (GOOD, GOOD), (GOOD,), 2.0),
    )
    lines = list(EvaluationReport(Path("demo"), outcomes, (), ("A remark.",)).format_lines())
    assert len({len(line) for line in lines[4:7]}) == 1
    assert "0.500" in next(line for line in lines if line.startswith("words alone"))
    assert "So few commits (2) give no more than a hint." in lines
    assert lines[-1] == "A remark."


def test_a_column_without_questions_is_empty() -> None:
    report = EvaluationReport(
        Path("demo"), (SettingResult("words alone", (GOOD,), (), 1.0),), (), ()
    )
    assert '"fileNotNamed": null' in report.to_json()
    assert any(" - " in line for line in report.format_lines())


def test_durations_are_described_in_words() -> None:
    assert describe_duration(0.2) == "less than a second"
    assert describe_duration(12) == "about 12 seconds"
    assert describe_duration(720) == "about 12 minutes"
    assert describe_duration(9000) == "about 2.5 hours"


GAIN = {"mean": 0.02, "low": 0.01, "high": 0.03}


def test_learned_weights_are_told_with_their_gain_and_how_to_be_rid_of_them() -> None:
    reply = {
        "kept": True,
        "weights": asdict(RankingWeights(semantic=1.4)),
        "trained": 300,
        "setAside": 200,
        "before": 0.6,
        "trainingGain": GAIN,
        "gain": GAIN,
    }
    lines = list(TuningReport(Path("demo"), reply).format_lines())
    assert any(line.split() == ["meaning", "x", "1.40"] for line in lines)
    assert "0.600, +0.020 (+0.010 to +0.030)" in lines[-2]
    assert "--untune removes them" in lines[-1]

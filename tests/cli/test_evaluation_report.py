from pathlib import Path

from codekernel.cli.output.evaluation_report import (
    EvaluationReport,
    SettingComparison,
    SettingResult,
    describe_duration,
)
from codekernel.search.evaluation import MetricDifference, RetrievalMetrics

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

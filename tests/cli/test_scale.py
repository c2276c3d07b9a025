"""Many tasks within a memory limit: bench/scale.py, which makes docs/million.md, in small."""
import json
import sys

import pytest

LIMIT = 8_000_000


@pytest.fixture(scope="module", name="scale")
def scale_module(checkout):
    sys.path.insert(0, str(checkout / "bench"))
    import scale

    return scale


def test_ten_thousand_tasks_stay_within_the_memory_and_then_cost_no_more(quorate, scale):
    runs = [scale.train(quorate.path, 10_000, n, memory=str(LIMIT)) for n in (100_000, 200_000)]
    for run, n in zip(runs, (100_000, 200_000)):
        report = run["report"]
        assert report["examples"] == n and report["task_count"] == 10_000, "all tasks came"
        assert 0.8 * 0.05 * n < report["labels"]["answered"] <= 0.05 * n
        assert 0.5 * LIMIT < report["model_bytes"] <= report["peak_bytes"] <= LIMIT
        assert run["progressive_accuracy"] > 0.85
    # What is known of tasks lies in blocks of 64 KiB; a task without labels may get its first.
    assert 0 <= runs[1]["report"]["model_bytes"] - runs[0]["report"]["model_bytes"] <= 65_536 + 1_000


def test_tasks_that_do_not_fit_into_the_memory_share_what_all_tasks_know(quorate):
    quorate.ok("generate", "users", "many.jsonl", "--tasks", 30_000, "--examples", 60_000, "--exponent", 0, "--quiet")
    result = quorate("train", "--data", "many.jsonl", "--model", "m", "--learner", "cohort", "--memory", "1MB", "--json")
    told = json.loads(result.out)["report"]
    assert result.code == 0 and told["peak_bytes"] <= 1_000_000 and told["examples"] == 60_000
    assert 0 < told["task_count"] < 30_000 and 0 < told["untracked_examples"] < 60_000
    assert json.loads(quorate.ok("inspect", "m", "--json").out)["untracked_examples"] == told["untracked_examples"]
    assert "memory limit" in quorate.ok("train", "--data", "many.jsonl", "--model", "m").out


def test_the_first_examples_of_a_task_profit_from_the_others(quorate, scale):
    found = scale.cold_start(quorate.path, 2_000, 20_000, "50/1000", [1])
    assert set(found) == set(scale.COLD)
    for name, one in found.items():
        assert len(one["accuracy"]) == len(one["examples"]) == scale.FIRST and one["labels"] <= 1_000, name
    for n in range(scale.FIRST):
        assert found["cohort"]["accuracy"][n] > 10 + found["a perceptron for each task"]["accuracy"][n]


def test_the_report_has_every_figure(quorate, scale, monkeypatch):
    report, figure = quorate.folder / "scale.md", quorate.folder / "cold.svg"
    monkeypatch.setattr("sys.argv", ["scale.py", "--program", str(quorate.path), "--examples", "4000", "--tasks", "10", "400", "--short",
                                     "2000", "--repeat", "1", "--memory", "4MB", "--cold-tasks", "100", "--cold-examples", "2000",
                                     "--cold-seeds", "1", "--report", str(report), "--figure", str(figure)])
    scale.main()
    text = report.read_text()
    assert "cold.svg" in text and "| 400 " in text and "nan" not in text and figure.read_text().startswith("<?xml")

"""quorate generate, data in order, and --memory from outside."""
import pytest
import samples


def test_a_generated_stream_can_be_learned_from_in_order(quorate):
    quorate.ok("generate", "drift", "stream.svm", "--tasks", 3, "--features", 5, "--examples", 600, "--every", 200)
    once = quorate.ok("simulate", "--data", "stream.svm", "--in-order", "--runs", 2, "--json").json()
    assert (once["tasks"], once["features"], once["examples"]) == (3, 6, 600)
    assert once["runs"][0]["mistakes"] == once["runs"][1]["mistakes"], "no order is drawn"
    quorate.ok("simulate", "--data", "stream.svm", "--in-order", "--trace", "trace", "--quiet")
    import json
    lines = [json.loads(line) for line in (quorate.folder / "trace").read_text().splitlines()]
    assert [t["example"] for t in lines] == list(range(600))


def test_every_format_holds_the_same_stream(quorate):
    results = []
    for name in ("a.svm", "a.csv", "a.jsonl", "a.vw"):
        quorate.ok("generate", "drift", name, "--examples", 200, "--seed", 5, "--quiet")
        results.append(quorate.ok("simulate", "--data", name, "--in-order", "--json").json()["mean"]["mistakes"])
    assert len(set(results)) == 1 and results[0] > 0


def test_shifts_that_are_not_alike_cost_more_with_the_complete_graph(quorate):
    mistakes = {}
    for shift in ("together", "apart"):
        quorate.ok("generate", "drift", f"{shift}.svm", "--tasks", 8, "--related", 0.95, "--shift", shift, "--every", 1000, "--angle", 1)
        mistakes[shift] = quorate.ok("simulate", "--data", f"{shift}.svm", "--in-order", "--learner", "cmtl", "--json").json()["mean"]["mistakes"]
    assert mistakes["together"] < 0.85 * mistakes["apart"]


@pytest.mark.parametrize("options, word", [(["--shift", "sideways"], "--shift"), (["--related", 2], "related"), (["--noise", 0.7], "noise"),
                                           (["--tasks", 0], "--tasks"), (["--features", 1], "--features")])
def test_a_bad_stream_is_bad_usage_and_writes_nothing(quorate, options, word):
    result = quorate("generate", "drift", "stream.svm", *options)
    assert result.code == 2 and word in result.err and not (quorate.folder / "stream.svm").exists()


@pytest.mark.parametrize("option", [["--train-per-task", 5], ["--test", "a.csv", "--train-per-task", 5]])
def test_in_order_means_all_examples(quorate, option):
    (quorate.folder / "a.csv").write_text(samples.csv(samples.rows(60)))
    assert quorate("simulate", "--data", "a.csv", "--in-order", *option).code == 2


def test_a_memory_limit_is_held_saved_and_said(quorate):
    (quorate.folder / "a.csv").write_text(samples.csv(samples.rows(400, seed=4, noise=2.0)))
    learner = "budget-projectron(budget=0)"
    document = quorate.ok("simulate", "--data", "a.csv", "--learner", learner, "--memory", "20KB", "--json").json()
    assert 0.8 * 20_000 < document["mean"]["peak_bytes"] <= 20_000
    quorate.ok("train", "--data", "a.csv", "--model", "m", "--learner", learner, "--memory", "20KiB")
    again = quorate.ok("train", "--data", "a.csv", "--model", "m", "--json").json()
    assert again["peak_bytes"] <= 20_480
    assert quorate.ok("inspect", "m", "--json").json()["memory_limit"] == 20_480
    assert "of at most 20,480" in quorate.ok("inspect", "m").out
    refused = quorate("train", "--data", "a.csv", "--model", "m", "--memory", "1MB")
    assert refused.code == 2 and "--memory" in refused.err


@pytest.mark.parametrize("size", ["8XB", "-1", "MB", "1.5.2KB"])
def test_a_bad_size_is_bad_usage(quorate, size):
    (quorate.folder / "a.csv").write_text(samples.csv(samples.rows(20)))
    result = quorate("simulate", "--data", "a.csv", "--memory", size)
    assert result.code == 2 and "--memory" in result.err


def test_a_limit_too_small_says_what_is_needed_and_leaves_no_model(quorate):
    (quorate.folder / "a.csv").write_text(samples.csv(samples.rows(200)))
    for learner in ("cmtl", "kernel-perceptron", "budget-projectron(budget=0)"):
        result = quorate("train", "--data", "a.csv", "--model", "m", "--learner", learner, "--memory", "600")
        assert result.code == 2 and "memory limit" in result.err and result.err.count("\n") == 1
        assert not (quorate.folder / "m").exists()


def test_tune_on_a_share_learns_from_less(quorate):
    (quorate.folder / "a.csv").write_text(samples.csv(samples.rows(400)))
    command = ["tune", "--data", "a.csv", "--learner", "perceptron(query=margin)", "--grid", "query.b=1,2", "--folds", 4, "--json"]
    whole, part = quorate.ok(*command).json(), quorate.ok(*command, "--share", 0.1).json()
    assert part["settings"][0]["labels"] < 0.2 * whole["settings"][0]["labels"]
    assert quorate(*command, "--share", 0).code == 2

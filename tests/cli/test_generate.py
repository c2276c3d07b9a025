"""quorate generate, data in order, and --memory from outside."""
import json

import pytest
import samples


def test_a_generated_stream_can_be_learned_from_in_order(quorate):
    quorate.ok("generate", "drift", "stream.svm", "--tasks", 3, "--features", 5, "--examples", 600, "--every", 200)
    once = quorate.ok("simulate", "--data", "stream.svm", "--in-order", "--runs", 2, "--learner", "perceptron",
                      "--json").json()
    assert (once["tasks"], once["features"], once["examples"]) == (3, 6, 600)
    assert once["runs"][0]["mistakes"] == once["runs"][1]["mistakes"], "no order is drawn"
    quorate.ok("simulate", "--data", "stream.svm", "--in-order", "--trace", "trace", "--quiet")
    lines = [json.loads(line) for line in (quorate.folder / "trace").read_text().splitlines()]
    assert [t["example"] for t in lines] == list(range(600))


def test_every_format_holds_the_same_stream(quorate):
    results = []
    for name in ("a.svm", "a.csv", "a.jsonl", "a.vw"):
        quorate.ok("generate", "drift", name, "--examples", 200, "--seed", 5, "--quiet")
        # Only a table says what is a number, so only scaled features differ.
        results.append(quorate.ok("simulate", "--data", name, "--in-order", "--learner", "cohort(scale=none)", "--json").json()["mean"]["mistakes"])
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


USERS = ["generate", "users"]


def mails(quorate, *options) -> list:
    return [json.loads(line) for line in quorate.ok(*USERS, "-", "--to", "jsonl", *options).out.splitlines()]


def test_a_mail_has_user_label_time_and_counts_of_words(quorate):
    made = mails(quorate, "--tasks", 30, "--examples", 200, "--days", 2, "--words", 50)
    assert [m["id"] for m in made] == [str(n) for n in range(1, 201)]
    assert [int(m["time"]) for m in made] == [1767225600 + 864 * n for n in range(200)]
    assert {m["task"] for m in made} <= {f"u{k}" for k in range(1, 31)} and {m["label"] for m in made} == {"1", "-1"}
    for m in made:
        assert list(m) == ["id", "task", "label", "time", "x"]
        assert 15 <= sum(m["x"].values()) <= 45 and all(name[0] == "w" and int(name[1:]) >= 1 for name in m["x"])


def test_users_come_again_the_same_with_the_same_seed(quorate):
    one, same, other = (quorate.ok(*USERS, "-", "--to", "jsonl", "--examples", 300, "--seed", seed).out for seed in (5, 5, 6))
    assert one == same != other


def test_every_format_that_can_holds_the_same_mails(quorate):
    options = ["--tasks", 20, "--examples", 400, "--every", 50, "--words", 300]
    quorate.ok(*USERS, "a.jsonl", *options)
    quorate.ok(*USERS, "a.vw", *options)
    quorate.ok(*USERS, "a.svm", *options)
    quorate.ok("convert", "a.vw", "b.jsonl", "--time-column", "time")
    quorate.ok("convert", "a.svm", "c.jsonl")
    read = lambda name: [json.loads(line) for line in (quorate.folder / name).read_text().splitlines()]  # noqa: E731
    words = read("a.jsonl")
    assert words == read("b.jsonl")
    assert [{**m, "x": {name[1:]: v for name, v in m["x"].items()}} for m in words] == read("c.jsonl")
    refused = quorate(*USERS, "a.csv")
    assert refused.code == 2 and "jsonl" in refused.err and not (quorate.folder / "a.csv").exists()


def first_five(quorate, learner, *options) -> float:
    """Accuracy on the first five mails of every user."""
    task = [json.loads(line)["task"] for line in (quorate.folder / "m.jsonl").read_text().splitlines()]
    trace = quorate.ok("simulate", "--data", "m.jsonl", "--in-order", "--learner", learner, "--trace", "-", *options).out
    seen: dict = {}
    right = []
    for step in map(json.loads, filter(lambda line: line.startswith("{"), trace.splitlines())):
        name = task[step["example"]]
        seen[name] = seen.get(name, 0) + 1
        if seen[name] <= 5:
            right.append((step["margin"] > 0) == (step["label"] > 0))
    return sum(right) / len(right)


def test_a_new_user_gains_from_what_the_others_taught(quorate):
    quorate.ok(*USERS, "m.jsonl", "--tasks", 200, "--examples", 8000)
    assert first_five(quorate, "cmtl") > first_five(quorate, "perceptron") + 0.1


def test_what_users_say_only_to_themselves_is_lost_on_one_learner_for_all(quorate):
    quorate.ok(*USERS, "m.jsonl", "--tasks", 50, "--examples", 10000, "--exponent", 0, "--words", 500, "--personal", 1)
    mistakes = lambda *options: quorate.ok("simulate", "--data", "m.jsonl", "--in-order", "--json", "--learner", "perceptron",  # noqa: E731
                                           *options).json()["mean"]["mistakes"]
    assert mistakes() < 0.8 * mistakes("--ignore-column", "task")


@pytest.mark.parametrize("options, word", [(["--tasks", 0], "--tasks"), (["--exponent", 5], "exponent"), (["--words", 5], "--words"),
                                           (["--length", 0], "--length"), (["--spam", 2], "spam"), (["--signal", -1], "signal"),
                                           (["--personal", "nan"], "personal"), (["--noise", 0.7], "noise"), (["--every", 0], "--every"),
                                           (["--replaced", 1.5], "replaced"), (["--days", 0], "--days"), (["--features", 5], "--features")])
def test_a_bad_stream_of_users_is_bad_usage_and_writes_nothing(quorate, options, word):
    result = quorate(*USERS, "m.jsonl", *options)
    assert result.code == 2 and word in result.err and result.err.count("\n") == 1
    assert not list(quorate.folder.iterdir())


@pytest.mark.parametrize("option", [["--train-per-task", 5], ["--test", "a.csv", "--train-per-task", 5]])
def test_in_order_means_all_examples(quorate, option):
    (quorate.folder / "a.csv").write_text(samples.csv(samples.rows(60)))
    assert quorate("simulate", "--data", "a.csv", "--in-order", *option).code == 2


def test_a_memory_limit_is_held_saved_and_said(quorate):
    (quorate.folder / "a.csv").write_text(samples.csv(samples.rows(400, seed=4, noise=2.0)))
    learner = "budget-projectron(budget=0)"
    document = quorate.ok("simulate", "--data", "a.csv", "--learner", learner, "--memory", "20KB", "--json").json()
    assert 0.75 * 20_000 < document["mean"]["peak_bytes"] <= 20_000
    quorate.ok("train", "--data", "a.csv", "--model", "m", "--learner", learner, "--memory", "20KiB")
    again = quorate.ok("train", "--data", "a.csv", "--model", "m", "--json").json()
    assert again["report"]["peak_bytes"] <= 20_480
    assert quorate.ok("inspect", "m", "--json").json()["memory_limit"] == 20_480
    assert "of at most 20,480" in quorate.ok("inspect", "m").out
    refused = quorate("train", "--data", "a.csv", "--model", "m", "--memory", "1MB")
    assert refused.code == 2 and "--memory" in refused.err


@pytest.mark.parametrize("size", ["8XB", "-1", "MB", "1.5.2KB"])
def test_a_bad_size_is_bad_usage(quorate, size):
    (quorate.folder / "a.csv").write_text(samples.csv(samples.rows(20)))
    result = quorate("simulate", "--data", "a.csv", "--memory", size)
    assert result.code == 2 and "--memory" in result.err


def test_a_limit_too_small_says_what_is_needed(quorate):
    (quorate.folder / "a.csv").write_text(samples.csv(samples.rows(200)))
    for learner in ("cmtl", "kernel-perceptron", "budget-projectron(budget=0)"):
        result = quorate("train", "--data", "a.csv", "--model", learner, "--learner", learner, "--memory", "600")
        assert result.code == 4 and "memory limit" in result.err and result.err.count("\n") == 1
        assert (quorate.folder / learner).exists() == ("is saved" in result.err)


def test_tune_on_a_share_learns_from_less(quorate):
    (quorate.folder / "a.csv").write_text(samples.csv(samples.rows(400)))
    command = ["tune", "--data", "a.csv", "--learner", "perceptron(query=margin)", "--grid", "query.b=1,2", "--folds", 4, "--json"]
    whole, part = quorate.ok(*command).json(), quorate.ok(*command, "--share", 0.1).json()
    assert part["settings"][0]["labels"] < 0.2 * whole["settings"][0]["labels"]
    assert quorate(*command, "--share", 0).code == 2

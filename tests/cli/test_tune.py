"""What `quorate tune` promises: the grid as written, every example tested on once, the first of the best, no test set."""
import random

import pytest
import samples

BAD = "name=value,value,... or name=lo..hi:n"
RANGE = "lo..hi:n with 0 < lo < hi"


@pytest.fixture
def tune(quorate):
    """Writes the data, runs `tune --json` on it, returns the document."""
    (quorate.folder / "a.csv").write_text(samples.csv(samples.rows(120, seed=3, noise=1.0)))
    return lambda learner, grid, *options, data="a.csv": quorate.ok(
        "tune", "--data", data, "--learner", learner, "--grid", grid, "--json", *options).json()


def learners(document):
    return [found["learner"] for found in document["settings"]]


def strangers(folder, n, positive, seed=1):
    """A file of n examples, each of a task of its own, so many of them positive: a learner predicts -1 for a task it has never
    seen, and is right on every one it has."""
    labels = ["1"] * positive + ["-1"] * (n - positive)
    random.Random(seed).shuffle(labels)
    (folder / "s.csv").write_text(samples.csv(
        [samples.Row(f"e{i}", f"task{i}", label, {"f1": 1.0 + i}) for i, label in enumerate(labels)]))
    return "s.csv"


# ---- the grid

@pytest.mark.parametrize("learner, grid, expected", [
    ("cmtl(query=margin)", "query.b=0.5,1", ["cmtl(graph=complete, query=margin(b=0.5), scale=none)",
                                             "cmtl(graph=complete, query=margin(b=1), scale=none)"]),
    ("perceptron", "query=margin(b=1),random(p=0.5),always",
     [f"perceptron(query={query}, scale=none)" for query in ("margin(b=1)", "random(p=0.5)", "always")]),
    ("perceptron", "query=margin,query.b=0.1..10:3",
     [f"perceptron(query=margin(b={b}), scale=none)" for b in ("0.1", "1", "10")]),
    ("perceptron(query=margin(b=3))", "query.b=2", ["perceptron(query=margin(b=2), scale=none)"])])
def test_a_grid_is_tried_as_written(tune, learner, grid, expected):
    assert learners(tune(learner, grid, "--folds", 2)) == expected


def test_a_range_has_equal_ratios_and_both_ends(tune):
    def values(grid):
        return [learner.split("c=")[1].split(",")[0] for learner in learners(tune("amlc", grid, "--folds", 2))]

    assert values("c=0.1..10:3") == ["0.1", "1", "10"]
    assert values("c=0.1..10:2") == ["0.1", "10"]
    assert values("c=5,0.25..4:5,7") == ["5", "0.25", "0.5", "1", "2", "4", "7"]
    found = [float(v) for v in values("c=0.3..70:20")]
    assert (found[0], found[-1], len(found)) == (0.3, 70, 20)
    assert [b / a for a, b in zip(found, found[1:])] == pytest.approx([(70 / 0.3) ** (1 / 19)] * 19, rel=1e-9)


def test_every_setting_tells_what_was_tried_numbers_as_numbers(tune):
    document = tune("perceptron(query=margin)", "scale=none,idf,query.b=2,1e1", "--folds", 2)
    assert [found["parameters"] for found in document["settings"]] == [
        {"scale": scale, "query.b": b} for scale in ("none", "idf") for b in (2, 10)]


def test_every_combination_is_tried_and_the_last_parameter_turns_fastest(tune):
    document = tune("amlc(rows=one)", "c=0.5,2,share=label,prediction,cap=1,3", "--folds", 2)
    assert learners(document) == [f"amlc(query=margin(b=1), c={c}, rows=one, share={share}, weigh=bought, cap={cap}, "
                                  "scale=none)"
                                  for c in ("0.5", "2") for share in ("label", "prediction") for cap in ("1", "3")]


@pytest.mark.parametrize("grid, word, expected", [
    ("", "''", BAD), ("c", "'c'", BAD), ("c=", "'c='", BAD), ("c=1,,2", "''", BAD), ("c=1,", "''", BAD), ("1,2", "'1'", BAD),
    ("c=1..2", "'c=1..2'", RANGE), ("c=1..2:1", "'c=1..2:1'", RANGE), ("c=2..1:3", "'c=2..1:3'", RANGE),
    ("c=0..1:3", "'c=0..1:3'", RANGE), ("c=-1..1:3", "'c=-1..1:3'", RANGE), ("c=1..2:3x", "'c=1..2:3x'", RANGE),
    ("c=1..2:1001", "'c=1..2:1001'", RANGE), ("c=1..inf:3", "'c=1..inf:3'", RANGE), ("c=a..b:3", "'c=a..b:3'", RANGE),
    ("c=x", "c=x", "expected a number"), ("c=-1", "c=-1", "expected a number"), ("share=some", "some", "label"),
    ("share=label(b=1)", "'b'", "label"), ("d=1", "'d'", "query, c, rows"), ("share.b=1", "'b'", "label"),
    ("c=margin(b=1", "margin(b=1", "expected"), ("c=1..2:400,cap=1..2:400", "100,000", "combinations")])
def test_a_bad_grid_is_bad_usage_before_anything_is_read(quorate, grid, word, expected):
    result = quorate("tune", "--data", "none.csv", "--learner", "amlc", "--grid", grid)
    assert (result.code, result.out) == (2, "") and result.err.count("\n") == 1
    assert word in result.err and expected in result.err


# ---- folds

@pytest.mark.parametrize("folds", [2, 3, 4, 6, 12])
def test_every_example_is_tested_on_once_by_a_learner_that_has_not_seen_it(tune, quorate, folds):
    data = strangers(quorate.folder, 12, positive=5)
    for seed in range(1, 6):
        found, = tune("perceptron", "query=always", "--folds", folds, "--seed", seed, data=data)["settings"]
        assert found["mean"] == pytest.approx(7 / 12, rel=1e-12)  # 1 were it seen, another share were one tested on twice
        assert found["labels"] == 12 - 12 / folds
    assert folds < 12 or found["std"] == pytest.approx((35 / 132) ** 0.5, rel=1e-12)  # seven ones and five zeros


def test_what_is_left_out_is_learned_in_the_other_folds(tune, quorate):
    twins = [samples.Row(f"e{i}", f"task{i // 2}", "1", {"f1": 1.0}) for i in range(12)]
    (quorate.folder / "twins.csv").write_text(samples.csv(twins))
    found, = tune("perceptron", "query=always", "--folds", 12, data="twins.csv")["settings"]
    assert (found["mean"], found["std"], found["labels"]) == (1, 0, 11)


def test_folds_that_do_not_come_out_even_differ_by_one_example(tune, quorate):
    data = strangers(quorate.folder, 11, positive=0)
    found, = tune("perceptron", "query=always", "--folds", 3, data=data)["settings"]
    assert (found["mean"], found["labels"]) == (1, pytest.approx((7 + 7 + 8) / 3))
    data = strangers(quorate.folder, 7, positive=7)
    found, = tune("perceptron", "query=always", "--folds", 7, data=data)["settings"]
    assert (found["mean"], found["labels"]) == (0, 6)


def test_the_label_limit_holds_in_every_fold(tune):
    document = tune("amlc(query=margin)", "query.b=1,1000", "--labels", 9, "--folds", 4)
    assert [found["labels"] for found in document["settings"]] == [9, 9]


@pytest.mark.parametrize("folds, message", [(0, "from 2"), (1, "from 2"), (121, "number of examples"), ("x", "'x'")])
def test_a_wrong_number_of_folds_is_bad_usage(tune, quorate, folds, message):
    result = quorate("tune", "--data", "a.csv", "--learner", "amlc", "--grid", "c=1", "--folds", folds)
    assert (result.code, result.out) == (2, "") and message in result.err and "expected" in result.err


# ---- the best

@pytest.mark.parametrize("measure", ["accuracy", "balanced_accuracy", "f1", "auc", "average_precision", "recall@0.9", "lift", "progressive_f1"])
def test_the_best_has_the_greatest_mean(tune, measure):
    document = tune("amlc(query=margin)", "query.b=0.01,0.3,3,c=0.1..30:3,share=label,none", "--folds", 5, "--measure", measure)
    means = [found["mean"] for found in document["settings"]]
    assert (document["measure"], document["folds"], len(means)) == (measure, 5, 18)
    assert means.count(max(means)) >= 1 and means.index(max(means)) > 0 and len(set(means)) > 5
    assert document["best"] == learners(document)[means.index(max(means))]


def test_a_tie_goes_to_the_setting_that_comes_first(tune, quorate):
    data = strangers(quorate.folder, 12, positive=5)  # every setting scores the same
    for first, second in [("0.5", "1000"), ("1000", "0.5")]:
        document = tune("perceptron(query=margin)", f"query.b={first},{second}", "--folds", 3, data=data)
        one, two = document["settings"]
        assert one["mean"] == two["mean"] and document["best"] == f"perceptron(query=margin(b={first}), scale=none)"


def test_the_table_shows_the_numbers_of_the_document_and_marks_one_best(tune, quorate):
    options = ["amlc(query=margin)", "query.b=0.01,1,share=label,none", "--folds", 5]
    document = tune(*options)
    text = quorate.ok("tune", "--data", "a.csv", "--learner", options[0], "--grid", options[1], *options[2:]).out
    lines = text.splitlines()
    assert lines[0].split() == ["learner", "accuracy", "std", "labels"]
    for line, found in zip(lines[1:], document["settings"]):
        numbers = [f"{found['mean']:.4f}", f"{found['std']:.4f}", f"{found['labels']:.1f}"]
        assert line.startswith(found["learner"] + " ")
        assert line[len(found["learner"]):].split() == numbers + ["best"] * (found["learner"] == document["best"])
    assert sum(line.split()[-1:] == ["best"] for line in lines) == 1
    assert "5-fold" in lines[-1] and lines[-1].endswith(document["best"])


# ---- what it does not depend on

def test_the_same_seed_gives_the_same_result_whatever_the_threads(tune):
    options = ["cmtl", "query=margin(b=0.3),random(p=0.5),graph=complete,disconnected", "--folds", 5]
    one = tune(*options, "--seed", 4, "--threads", 1)
    assert one == tune(*options, "--seed", 4, "--threads", 2) == tune(*options, "--seed", 4)
    assert one["settings"] != tune(*options, "--seed", 5)["settings"]


@pytest.mark.parametrize("option", [["--test", "a.csv"], ["--train-per-task", "10"]])
def test_it_cannot_be_shown_a_test_set(tune, quorate, option):
    result = quorate("tune", "--data", "a.csv", "--learner", "amlc", "--grid", "c=1", *option)
    assert (result.code, result.out) == (2, "") and option[0] in result.err
    assert option[0] not in quorate.ok("tune", "--help").out

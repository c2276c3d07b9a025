"""What `quorate simulate` promises: the JSON document, its measures, runs, passes, splits, label limits, traces."""
import json
import statistics

import pytest
import samples
from samples import without_seconds

from reference import common
from reference.cmtl import Cmtl
from reference.perceptron import Perceptron
from reference.replay import replay

TESTED = ["accuracy", "balanced_accuracy", "f1", "auc", "average_precision", "recall@0.9", "lift"]
MEASURES = [*TESTED, "progressive_f1", "mistakes", "labels", "updates"]
RUN = ["seed", *MEASURES, "seconds", "model_bytes", "peak_bytes"]
COUNTS = {"mistakes", "labels", "updates", "model_bytes", "peak_bytes"}
LEARNERS = ["perceptron", "perceptron(query=margin(b=1))", "cmtl", "cmtl(graph=disconnected, query=random(p=0.5))", "amtl",
            "amtl(query=similarity)"]

TRAIN = samples.rows(120, seed=3, noise=1.0)
TEST = samples.rows(200, seed=3, noise=1.0)[120:]  # the same tasks, other examples


@pytest.fixture
def run(quorate):
    """Writes the data, runs `simulate --json` on it, returns the document."""
    (quorate.folder / "train.csv").write_text(samples.csv(TRAIN))
    (quorate.folder / "test.csv").write_text(samples.csv(TEST))
    return lambda *options: quorate.ok("simulate", "--data", "train.csv", "--json", *options).json()


def trace_of(quorate):
    return [json.loads(line) for line in (quorate.folder / "trace").read_text().splitlines()]


def measures(truth, margins):
    """Accuracy, balanced accuracy, F1, AUC and the measures of a ranking, from their definitions."""
    right = [common.predict(m) == y for y, m in zip(truth, margins)]
    recall = [statistics.mean(r for r, y in zip(right, truth) if y == c) for c in (1, -1)]
    called = sum(common.predict(m) == 1 for m in margins)
    f1 = 2 * sum(r for r, y in zip(right, truth) if y == 1) / (called + truth.count(1))
    pairs = [(a, b) for a, y in zip(margins, truth) if y == 1 for b, z in zip(margins, truth) if z == -1]
    auc = statistics.mean((a > b) + (a == b) / 2 for a, b in pairs)
    precision, best, before = 0, 0, 0
    for threshold in sorted(set(margins), reverse=True):
        above = [y for m, y in zip(margins, truth) if m >= threshold]
        share, found = above.count(1) / len(above), above.count(1)
        precision += share * (found - before) / truth.count(1)
        if share >= 0.9:
            best = found / truth.count(1)
        before = found
    tenth, found = len(truth) / 10, 0  # of equal margins at its border, a fair part
    for threshold in sorted(set(margins), reverse=True):
        tied = [y for m, y in zip(margins, truth) if m == threshold]
        found += tied.count(1) * min(1, tenth / len(tied))
        tenth -= min(tenth, len(tied))
    lift = found / truth.count(1) * 10
    return dict(zip(TESTED, [statistics.mean(right), statistics.mean(recall), f1, auc, precision, best, lift]))


def x_of(row):
    return common.prepare(list(row.x.values()))


def task_of(row):
    return int(row.task[1:])


# ---- the document

@pytest.mark.parametrize("given, canonical", [
    ("perceptron", "perceptron(query=always, scale=none)"),
    (" perceptron( query = margin ) ", "perceptron(query=margin(b=1), scale=none)"),
    ("cmtl(query=margin(b=0.50))", "cmtl(graph=complete, query=margin(b=0.5), scale=none)"),
    ("cmtl(query=random, graph=disconnected)", "cmtl(graph=disconnected, query=random(p=0.5), scale=none)"),
    ("amtl(query=similarity)", "amtl(graph=complete, query=similarity, scale=none)")])
def test_the_document_names_the_learner_with_all_its_parameters(run, given, canonical):
    document = run("--learner", given)
    assert document["learner"] == canonical
    assert without_seconds(run("--learner", canonical)) == without_seconds(document)


def test_the_document_has_every_promised_key_and_type(run):
    document = run("--learner", "perceptron", "--test", "test.csv", "--runs", 3)
    assert list(document) == ["learner", "rounds", "limits", "tasks", "features", "examples", "runs", "mean", "std"]
    assert document["limits"] == {"total": None, "rate": None, "per_task": None, "pace": None}
    assert (document["tasks"], document["features"], document["examples"]) == (4, 7, 120)  # six and the constant one
    assert len(document["runs"]) == 3
    for one in document["runs"]:
        assert list(one) == RUN
        for key, value in one.items():
            assert isinstance(value, int if key in COUNTS | {"seed"} else float), key
        assert all(0 <= one[key] <= 1 for key in [*TESTED, "progressive_f1"] if key != "lift")
        assert 0 <= one["lift"] <= 10
        assert 0 < one["model_bytes"] <= one["peak_bytes"] and one["seconds"] > 0
        assert 0 < one["mistakes"] < one["labels"] == 120 and 0 < one["updates"] < 120
    for summary in (document["mean"], document["std"]):
        assert list(summary) == RUN[1:] and all(isinstance(v, (int, float)) for v in summary.values())


def test_without_a_learner_it_is_cohort_whose_chances_are_judged_too(run):
    document = run("--test", "test.csv", "--runs", 3)
    assert document["learner"].startswith("cohort(")
    assert without_seconds(run("--test", "test.csv", "--runs", 3, "--learner", "cohort")) == without_seconds(document)
    for one in document["runs"]:
        assert [key for key in one if key not in RUN] == ["brier", "calibration_error"]
        assert 0 < one["brier"] < 0.5 and 0 <= one["calibration_error"] < 0.5 and one["labels"] < 120
    assert "brier" not in run()["mean"]  # nothing to judge them by


def test_without_a_test_set_its_measures_are_null(run):
    document = run("--runs", 2)
    for part in (*document["runs"], document["mean"], document["std"]):
        assert [part[key] for key in TESTED] == [None] * len(TESTED)
        assert part["progressive_f1"] is not None


def test_mean_and_standard_deviation_are_those_of_the_runs(run):
    document = run("--test", "test.csv", "--runs", 5, "--learner", "cmtl(query=margin(b=0.3))")
    assert len({one["labels"] for one in document["runs"]}) > 1
    for key in RUN[1:]:
        values = [one[key] for one in document["runs"]]
        assert document["mean"][key] == pytest.approx(statistics.mean(values), rel=1e-12), key
        assert document["std"][key] == pytest.approx(statistics.stdev(values), rel=1e-9, abs=1e-12), key
    assert set(run()["std"].values()) == {None}  # one run has no spread


@pytest.mark.parametrize("learner, twin", [("perceptron", Perceptron), ("cmtl", Cmtl)])
def test_the_measures_are_what_their_names_say(run, quorate, learner, twin):
    document = run("--learner", f"{learner}(query=margin(b=0.3))", "--test", "test.csv", "--trace", "trace", "--per-task")
    lines = trace_of(quorate)
    model = twin(4, 7, query=common.margin(0.3))
    steps = [{"task": task_of(r), "x": x_of(r), "label": int(r.label), "draw": t["draw"]}
             for t in lines for r in [TRAIN[t["example"]]]]
    rounds = replay(model, steps)
    one = document["runs"][0]

    def expected(online, tested):
        """Of the steps and test examples of these places."""
        truth, guess = [steps[n]["label"] for n in online], [rounds[n]["margin"] for n in online]
        finished = [model.margin(task_of(TEST[n]), x_of(TEST[n])) for n in tested]
        return {**measures([int(TEST[n].label) for n in tested], finished),
                "progressive_f1": measures(truth, guess)["f1"],
                "mistakes": sum(common.predict(m) != y for m, y in zip(guess, truth)),
                "labels": sum(rounds[n]["asked"] for n in online), "updates": sum(rounds[n]["updated"] for n in online)}

    everything = expected(range(len(TRAIN)), range(len(TEST)))
    assert {key: one[key] for key in MEASURES} == pytest.approx(everything, rel=1e-12)
    assert everything["updates"] < everything["mistakes"] < everything["labels"] < 120  # unasked mistakes count too
    assert list(one["per_task"]) == ["t0", "t1", "t2", "t3"]
    for task, found in one["per_task"].items():
        online = [n for n, t in enumerate(lines) if t["task"] == task]
        tested = [n for n, r in enumerate(TEST) if r.task == task]
        assert list(found) == [*MEASURES, "examples"]
        assert found == pytest.approx({**expected(online, tested), "examples": len(online)}, rel=1e-12)
    for key in ("mistakes", "labels", "updates"):
        assert sum(found[key] for found in one["per_task"].values()) == one[key]


def test_tasks_that_only_the_test_set_has_are_counted_and_tested(run, quorate):
    (quorate.folder / "new.csv").write_text(samples.csv([samples.Row("n", "t9", r.label, r.x) for r in TEST]))
    document = run("--learner", "cmtl", "--test", "new.csv", "--per-task")
    assert document["tasks"] == 5
    found = document["runs"][0]["per_task"]["t9"]
    assert (found["examples"], found["labels"], found["progressive_f1"]) == (0, 0, None)
    assert found["accuracy"] == document["runs"][0]["accuracy"] > 0.6  # from what the other tasks share


# ---- runs, seeds, threads

@pytest.mark.parametrize("learner", LEARNERS)
def test_run_r_is_the_run_of_seed_plus_r(run, learner):
    options = ["--learner", learner, "--test", "test.csv", "--per-task"]
    many = run(*options, "--seed", 7, "--runs", 3)["runs"]
    assert [one["seed"] for one in many] == [7, 8, 9]
    assert [without_seconds(one) for one in many] == [
        without_seconds(run(*options, "--seed", seed)["runs"][0]) for seed in (7, 8, 9)]
    assert len({one["mistakes"] for one in many}) > 1


@pytest.mark.parametrize("split", [["--test", "test.csv"], ["--train-per-task", 9], []])
@pytest.mark.parametrize("learner", ["cmtl(query=margin(b=1))", "amtl(query=similarity)"])
def test_the_result_does_not_depend_on_the_number_of_threads(run, learner, split):
    options = ["--learner", learner, *split, "--runs", 7, "--labels", 30, "--passes", 2, "--per-task"]
    one, two = run(*options, "--threads", 1), run(*options, "--threads", 2)
    assert len(one["runs"]) == 7 and without_seconds(one) == without_seconds(two)


# ---- label limits, passes, unlabelled examples

@pytest.mark.parametrize("learner", LEARNERS)
def test_no_learner_buys_more_labels_than_the_limit_and_the_stream_goes_on(run, quorate, learner):
    none = run("--learner", learner, "--labels", 0, "--trace", "trace")["runs"][0]
    assert (none["labels"], none["updates"]) == (0, 0)
    assert none["mistakes"] == sum(r.label == "1" for r in TRAIN)  # a margin of 0 predicts -1
    assert not any(t["asked"] for t in trace_of(quorate))
    document = run("--learner", learner, "--labels", 7, "--passes", 2, "--runs", 3, "--trace", "trace")
    lines = trace_of(quorate)
    assert [one["labels"] for one in document["runs"]] == [7, 7, 7]
    assert len(lines) == 3 * 2 * 120
    for r in range(3):
        mine = [t for t in lines if t["run"] == r]
        assert sum(t["asked"] for t in mine) == 7 and any(t["margin"] != 0 for t in mine[-50:])


def test_passes_go_through_the_data_again(run):
    one, three = (run("--learner", "perceptron", "--passes", n) for n in (1, 3))
    assert (one["examples"], three["examples"]) == (120, 120)
    assert (one["runs"][0]["labels"], three["runs"][0]["labels"]) == (120, 360)
    assert one["runs"][0]["mistakes"] < three["runs"][0]["mistakes"] < 3 * one["runs"][0]["mistakes"]


@pytest.mark.parametrize("missing", ["", "?"])
def test_examples_without_a_label_cost_nothing_and_are_not_judged(quorate, missing):
    rows = samples.rows(90, seed=5)
    for r in rows[::3]:
        r.label = missing
    (quorate.folder / "a.csv").write_text(samples.csv(rows))
    command = ["simulate", "--data", "a.csv", "--test", "a.csv", "--learner", "perceptron", "--json", "--per-task",
               "--trace", "trace"]
    document = quorate.ok(*command).json()
    one, lines = document["runs"][0], trace_of(quorate)
    assert document["examples"] == 90 and one["labels"] == 60 and len(lines) == 90
    for t in lines:
        known = int(rows[t["example"]].label) if rows[t["example"]].label not in ("", "?") else None
        assert t["asked"] and t["label"] == known and (known or not t["updated"])
    assert one["mistakes"] == sum(common.predict(t["margin"]) != t["label"] for t in lines if t["label"])
    assert sum(found["examples"] for found in one["per_task"].values()) == 90
    steps = [{"task": task_of(r), "x": x_of(r), "label": t["label"], "draw": None}
             for t in lines if t["label"] for r in [rows[t["example"]]]]
    model = Perceptron(4, 7)
    replay(model, steps)
    known = [r for r in rows if r.label not in ("", "?")]
    expected = measures([int(r.label) for r in known], [model.margin(task_of(r), x_of(r)) for r in known])
    assert {key: one[key] for key in TESTED} == pytest.approx(expected, rel=1e-12)
    assert quorate.ok(*command, "--labels", 7).json()["runs"][0]["labels"] == 7  # what nobody knows is not bought


def test_data_without_any_label_are_refused(quorate):
    (quorate.folder / "a.csv").write_text("task,label,f1\na,,1\nb,,2\n")
    result = quorate("simulate", "--data", "a.csv")
    assert (result.code, result.out) == (1, "") and "label" in result.err


# ---- splits

def test_train_per_task_learns_from_that_many_of_each_task_anew_in_each_run(run, quorate):
    size = {t: sum(r.task == t for r in TRAIN) for t in ("t0", "t1", "t2", "t3")}
    n = min(size.values())
    document = run("--train-per-task", n, "--runs", 3, "--trace", "trace", "--per-task", "--learner", "cmtl")
    lines = trace_of(quorate)
    assert document["examples"] == 4 * n
    splits = []
    for r, one in enumerate(document["runs"]):
        mine = [t for t in lines if t["run"] == r]
        splits.append(frozenset(t["example"] for t in mine))
        assert len(mine) == len(splits[-1]) == 4 * n == one["labels"]
        assert all(found["examples"] == n for found in one["per_task"].values())
        # Tested on exactly what is left.
        model = Cmtl(4, 7)
        replay(model, [{"task": task_of(w), "x": x_of(w), "label": int(w.label), "draw": None}
                       for t in mine for w in [TRAIN[t["example"]]]])
        rest = [r for i, r in enumerate(TRAIN) if i not in splits[-1]]
        expected = measures([int(w.label) for w in rest], [model.margin(task_of(w), x_of(w)) for w in rest])
        assert {key: one[key] for key in TESTED} == pytest.approx(expected, rel=1e-12)
        for task, found in one["per_task"].items():  # the smallest task has nothing left to test on
            assert (found["accuracy"] is None) == (size[task] == n)
    assert len(set(splits)) == 3


def test_train_per_task_with_too_few_examples_says_which_task_and_how_many(run, quorate):
    rows = [r for r in TRAIN if r.task != "t2"] + [r for r in TRAIN if r.task == "t2"][:5]
    (quorate.folder / "few.csv").write_text(samples.csv(rows))
    quorate.ok("simulate", "--data", "few.csv", "--train-per-task", 5)
    result = quorate("simulate", "--data", "few.csv", "--train-per-task", 6, "--trace", "trace")
    assert (result.code, result.out) == (1, "")
    assert result.err.count("\n") == 1 and "'t2' has 5" in result.err and "expected at least the 6" in result.err
    assert sorted(p.name for p in quorate.folder.iterdir()) == ["few.csv", "test.csv", "train.csv"]  # no trace left


def test_train_per_task_and_a_test_set_are_not_asked_together(run, quorate):
    assert quorate("simulate", "--data", "train.csv", "--test", "test.csv", "--train-per-task", 5).code == 2


# ---- text output and traces

def test_the_table_shows_every_measure_of_the_document(run, quorate):
    options = ["--test", "test.csv", "--runs", 3, "--learner", "cmtl(query=margin(b=0.3))"]
    document = run(*options)
    text = quorate.ok("simulate", "--data", "train.csv", *options).out
    assert document["learner"] in text and "4 tasks" in text and "120 examples" in text and "3 runs" in text
    shown = {line.split()[0]: line.split()[1:] for line in text.splitlines() if len(line.split()) == 3}
    for key in RUN[1:]:
        digits = ".1f" if key in COUNTS else ".4f"
        assert len(shown[key]) == 2
        if key != "seconds":
            assert shown[key] == [format(document[part][key], digits) for part in ("mean", "std")]


def test_the_table_has_a_line_for_each_task(run, quorate):
    document = run("--test", "test.csv", "--per-task")
    text = quorate.ok("simulate", "--data", "train.csv", "--test", "test.csv", "--per-task").out
    for task, found in document["runs"][0]["per_task"].items():
        line = next(line for line in text.splitlines() if line.startswith(task))
        assert line.split() == [task, f"{100 * found['accuracy']:.1f}", "%", str(found["examples"]), str(found["labels"]),
                                str(found["mistakes"])]


def test_a_trace_is_written_whole_and_changes_no_result(run, quorate):
    options = ["--learner", "amtl(query=similarity)", "--runs", 3, "--passes", 2, "--threads", 2]
    traced = run(*options, "--trace", "trace")
    assert without_seconds(traced) == without_seconds(run(*options))
    assert sorted(p.name for p in quorate.folder.iterdir()) == ["test.csv", "trace", "train.csv"]
    text = (quorate.folder / "trace").read_text()
    assert text.count("\n") == 3 * 2 * 120 and text.endswith("}\n")
    lines = trace_of(quorate)
    assert all(list(t) == ["run", "pass", "round", "example", "task", "margin", "probability", "draw", "asked", "label", "updated"]
               for t in lines)
    for r, one in enumerate(traced["runs"]):
        mine = [t for t in lines if t["run"] == r]
        assert (sum(t["asked"] for t in mine), sum(t["updated"] for t in mine)) == (one["labels"], one["updates"])


def test_a_run_that_fails_leaves_the_old_trace_as_it_was(run, quorate):
    (quorate.folder / "trace").write_text("old\n")
    result = quorate("simulate", "--data", "train.csv", "--learner", "cmtl(graph=cliques(file=none.csv))", "--trace", "trace")
    assert result.code == 3
    assert (quorate.folder / "trace").read_text() == "old\n"
    assert sorted(p.name for p in quorate.folder.iterdir()) == ["test.csv", "trace", "train.csv"]


def test_a_share_is_held_out_anew_in_each_run(quorate):
    (quorate.folder / "a.csv").write_text(samples.csv(samples.rows(200)))
    options = ["simulate", "--data", "a.csv", "--learner", "cmtl", "--json"]
    found = quorate.ok(*options, "--test-share", 0.25, "--runs", 3).json()
    assert found["examples"] == 150 and all(0 <= run["accuracy"] <= 1 for run in found["runs"])
    assert len({run["accuracy"] for run in found["runs"]} | {run["mistakes"] for run in found["runs"]}) > 1
    threads = quorate.ok(*options, "--test-share", 0.25, "--runs", 3, "--threads", 2).json()
    assert samples.without_seconds(threads) == samples.without_seconds(found)
    plain = quorate.ok("simulate", "--data", "a.csv").out
    assert "--test-share 0.2" in plain and "--test FILE" in plain
    assert "--test-share" not in quorate.ok("simulate", "--data", "a.csv", "--test-share", 0.2).out
    for bad in ([0], [1], [-1], [0.2, "--train-per-task", 5], [0.2, "--test", "a.csv"]):
        assert quorate("simulate", "--data", "a.csv", "--test-share", *bad).code == 2


# ---- workers

@pytest.fixture
def workers(quorate):
    """Writes the data; `simulate --workers` on them, as a finished run."""
    (quorate.folder / "a.csv").write_text(samples.csv(samples.rows(200, noise=1.0)))
    return lambda *options: quorate("simulate", "--data", "a.csv", "--test-share", 0.3, "--workers", *options)


def test_workers_are_compared_with_one_desk(workers):
    options = [4, "--delay", 20, "--labels", "25%", "--runs", 3]
    found = workers(*options, "--json").json()
    assert [found[key] for key in ("workers", "delay", "share_examples", "tasks", "examples")] == [4, 20, 64, 4, 140]
    assert found["limits"]["total"] == 35 and [run["seed"] for run in found["runs"]] == [1, 2, 3]
    for side in ("one_desk", "with_workers"):
        assert all(run[side]["labels"] <= 35 and run[side]["shared"] <= 140 for run in found["runs"])
        assert all(list(run[side]) == [*TESTED, "labels", "shared", "refused"] for run in found["runs"])
        for name, mean in found["mean"][side].items():
            assert mean == pytest.approx(statistics.mean(run[side][name] for run in found["runs"]))
    for name, difference in found["difference"].items():
        more = [run["with_workers"][name] - run["one_desk"][name] for run in found["runs"]]
        assert difference["mean"] == pytest.approx(statistics.mean(more), abs=1e-12)
        assert difference["standard_error"] == pytest.approx(statistics.stdev(more) / 3 ** 0.5, abs=1e-12)
    assert workers(*options, "--json", "--threads", 2).json() == found
    table = [line.split() for line in workers(*options).out.splitlines()]
    assert table[3] == ["one", "desk", "4", "workers", "difference", "+-", "standard", "error"]
    assert table[4][:3] == ["accuracy", f"{found['mean']['one_desk']['accuracy']:.4f}",
                            f"{found['mean']['with_workers']['accuracy']:.4f}"]


def test_the_files_format_does_not_matter_to_workers(quorate):
    rows = samples.rows(120)
    found = []
    for ending, write in samples.WRITERS.items():
        if ending != "svm":  # whose features have numbers, not names
            (quorate.folder / f"a.{ending}").write_text(write(rows))
            found.append(quorate.ok("simulate", "--data", f"a.{ending}", "--test-share", 0.3, "--workers", 2, "--json").json())
    assert found[0] == found[1] == found[2]


def test_workers_judge_classes(quorate):
    rows = samples.rows(300, noise=1.0)
    for n, row in enumerate(rows):
        row.label = "abc"[n % 3]
    (quorate.folder / "a.csv").write_text(samples.csv(rows))
    found = quorate.ok("simulate", "--data", "a.csv", "--test-share", 0.3, "--workers", 3, "--classes", "one-vs-rest", "--labels", 60,
                       "--json").json()
    assert found["tasks"] == 4 and all(run["with_workers"]["labels"] <= 60 for run in found["runs"])
    assert 0 < found["mean"]["one_desk"]["accuracy"] < 1


@pytest.mark.parametrize("options", [
    ["--no-users"], ["--passes", 2], ["--audit", 0.1], ["--audit-floor", 0.1], ["--lost", 0.1], ["--cache", "c"],
    ["--rounds", "per-task"], ["--labels-per-round", 2], ["--stop-when", "accuracy>=0.9"], ["--forecast", 0.9], ["--per-task"],
    ["--trace", "t"], ["--delay", "lognormal(5)"], ["--labels", "5/100"], ["--labels", "5/day"]], ids=lambda o: o[0])
def test_options_without_effect_on_workers_are_refused(workers, quorate, options):
    refused = workers(2, *options)
    assert refused.code == 2 and options[0] in refused.err and refused.err.count("\n") == 1
    assert "leave one of them out" in refused.err or "expected --delay N" in refused.err or "as --labels 100" in refused.err
    assert [path.name for path in quorate.folder.iterdir()] == ["a.csv"]


def test_what_workers_lack_is_named(workers, quorate):
    assert "judges, as cohort" in workers(2, "--learner", "shampo").err
    assert "expected a whole number from 1" in workers(0).err
    unseen = quorate("simulate", "--data", "a.csv", "--workers", 2)
    assert unseen.code == 2 and "--test-share 0.2" in unseen.err
    alone = quorate("simulate", "--data", "a.csv", "--share-examples", 2)
    assert alone.code == 2 and "--workers N" in alone.err
    (quorate.folder / "b.csv").write_text("label,n\n1,2\n,3\n-1,4\n")
    unlabelled = quorate("simulate", "--data", "b.csv", "--test-share", 0.3, "--workers", 2)
    assert unlabelled.code == 1 and "b.csv: 1 example of 3 without a label" in unlabelled.err

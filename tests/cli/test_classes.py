"""What --classes and --rounds promise: multi-class measures, label budgets of rounds, errors, models of classes."""
import itertools
import json
import statistics

import numpy as np
import pytest
import samples
from samples import without_seconds

from reference import classes as reference
from reference import common
from reference.perceptron import Perceptron
from reference.shampo import SecondOrder, Shampo

D = 5
NAMES = ["ash", "beech", "elm", "oak"]
REDUCTIONS = {"one-vs-rest": reference.OneVsRest, "one-vs-one": reference.OneVsOne}


def trees(n, seed, names=NAMES, noise=0.8):
    """Examples of classes around centers, told apart with errors; the first class is twice as frequent."""
    centers = np.random.default_rng(5).normal(size=(len(names), D))
    rng = np.random.default_rng(seed)
    out = []
    for i in range(n):
        c = i % (len(names) + 1) % len(names)
        x = centers[c] + noise * rng.normal(size=D)
        out.append(samples.Row(f"e{i}", "", names[c], {f"f{j}": float(v) for j, v in enumerate(x)}))
    return out


TRAIN, TEST = trees(80, 1), trees(60, 2)


def text(rows):
    return samples.csv(rows, ["id", "label", *rows[0].x])


@pytest.fixture
def run(quorate):
    """Writes the data, runs `simulate --json` on it, returns the document."""
    (quorate.folder / "train.csv").write_text(text(TRAIN))
    (quorate.folder / "test.csv").write_text(text(TEST))
    return lambda *options: quorate.ok("simulate", "--data", "train.csv", "--json", *options).json()


def trace_of(quorate):
    return [json.loads(line) for line in (quorate.folder / "trace").read_text().splitlines()]


def rounds_of(lines):
    key = lambda t: (t["run"], t["pass"], t["round"])  # noqa: E731
    return [list(group) for _, group in itertools.groupby(lines, key=key)]


def x_of(row):
    return common.prepare(list(row.x.values()))


def bad(result, code, *said):
    assert (result.code, samples.without_progress(result.out)) == (code, ""), result.err
    errors = [line for line in result.err.splitlines() if not line.startswith("  ") and not line.endswith("(quorate look says more):")]
    assert len(errors) == 1 and errors[0].startswith("quorate: "), result.err
    for part in said:
        assert part in result.err, result.err


# ---- measures

LEARNERS = {
    "shampo(b=0.1)": lambda K: Shampo(K, D + 1, b=0.1),
    "shampo-second-order(b=0.1, aggressive=true)": lambda K: SecondOrder(K, D + 1, b=0.1, aggressive=True),
    "perceptron": lambda K: Perceptron(K, D + 1),
}


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_the_measures_are_what_their_names_say(run, quorate, reduction, learner):
    document = run("--learner", learner, "--classes", reduction, "--test", "test.csv", "--trace", "trace")
    one, rounds = document["runs"][0], rounds_of(trace_of(quorate))
    scheme = REDUCTIONS[reduction](4)
    model = LEARNERS[learner](scheme.K)
    assert (document["classes"], document["tasks"], document["examples"]) == (NAMES, scheme.K, 80)
    assert document["rounds"] == "all-tasks" and len(rounds) == 80
    # Online: what the margins of the trace say before the label is known.
    truths = [NAMES.index(TRAIN[r[0]["example"]].label) for r in rounds]
    guesses = [scheme.predict([t["margin"] for t in r]) for r in rounds]
    wrong = sum(t != g for t, g in zip(truths, guesses))
    assert one["progressive_error"] == pytest.approx(reference.error(truths, guesses), rel=1e-12)
    assert one["progressive_confusion"] == reference.confusion(truths, guesses, 4).tolist()
    assert one["mistakes"] == wrong and 0 < wrong < 80
    asked = [t for r in rounds for t in r if t["asked"]]
    assert (one["labels"], one["updates"]) == (len(asked), sum(t["updated"] for t in asked))
    # The finished model, on the test set.
    for t in asked:
        if t["label"] != 0:
            model.learn([q["task"] for q in rounds[0]].index(t["task"]), x_of(TRAIN[t["example"]]), t["label"])
    truths = [NAMES.index(r.label) for r in TEST]
    guesses = [scheme.predict([model.margin(k, x_of(r)) for k in range(scheme.K)]) for r in TEST]
    recalls = reference.recalls(truths, guesses, 4)
    assert one["error"] == pytest.approx(reference.error(truths, guesses), rel=1e-12)
    assert one["confusion"] == reference.confusion(truths, guesses, 4).tolist()
    assert list(one["recall"]) == NAMES and list(one["recall"].values()) == pytest.approx(recalls, rel=1e-12)
    assert one["accuracy"] == pytest.approx(1 - one["error"], rel=1e-12)
    assert one["balanced_accuracy"] == pytest.approx(statistics.mean(recalls), rel=1e-12)
    assert 0 < one["error"] < 0.7 and len(set(recalls)) > 1  # not by chance


def test_before_anything_is_learned_votes_go_to_the_last_class_and_the_argmax_to_the_first(run, quorate):
    """At first all margins are 0: every vote goes to the second of its pair, so the last class has the most."""
    run("--learner", "shampo(b=0.1)", "--classes", "one-vs-one", "--trace", "trace")
    first = rounds_of(trace_of(quorate))[0]
    assert {t["margin"] for t in first} == {0}
    none = run("--learner", "shampo(b=0.1)", "--classes", "one-vs-one", "--labels", 0, "--test", "test.csv")["runs"][0]
    assert all(row[:3] == [0, 0, 0] for row in none["confusion"] + none["progressive_confusion"])
    rest = run("--learner", "shampo(b=0.1)", "--classes", "one-vs-rest", "--labels", 0, "--test", "test.csv")["runs"][0]
    assert all(row[1:] == [0, 0, 0] for row in rest["confusion"])  # a tie of the argmax goes to the first


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_mean_and_standard_deviation_of_the_errors_are_those_of_the_runs(run, reduction):
    document = run("--learner", "shampo(b=0.1)", "--classes", reduction, "--test", "test.csv", "--runs", 4)
    assert len({one["error"] for one in document["runs"]}) > 1
    for key in ("error", "progressive_error"):
        values = [one[key] for one in document["runs"]]
        assert document["mean"][key] == pytest.approx(statistics.mean(values), rel=1e-12)
        assert document["std"][key] == pytest.approx(statistics.stdev(values), rel=1e-9)


def test_without_a_test_set_its_measures_are_null_and_the_progressive_ones_are_not(run):
    one = run("--learner", "shampo", "--classes", "one-vs-one")["runs"][0]
    assert one["error"] is None and one["progressive_error"] is not None
    assert sum(map(sum, one["progressive_confusion"])) == 80


def test_numbers_are_classes_in_numeric_order_and_words_in_order_of_the_alphabet(quorate):
    for names, order in [(["10", "2", "1", "30"], ["1", "2", "10", "30"]), (["1", "-1", "0", "-10"], ["-10", "-1", "0", "1"]),
                         (["10", "2", "x", "30"], ["10", "2", "30", "x"]),
                         (["b 1", "b", "a,c", 'a"'], ['a"', "a,c", "b", "b 1"])]:
        (quorate.folder / "a.jsonl").write_text(samples.jsonl(trees(50, 3, names)))
        command = ["simulate", "--data", "a.jsonl", "--learner", "shampo", "--json", "--trace", "trace"]
        assert quorate.ok(*command, "--classes", "one-vs-rest").json()["classes"] == order
        assert [t["task"] for t in rounds_of(trace_of(quorate))[0]] == order
        quorate.ok(*command, "--classes", "one-vs-one")
        pairs = [f"{a} or {b}" for a, b in itertools.combinations(order, 2)]
        assert [t["task"] for t in rounds_of(trace_of(quorate))[0]] == pairs


@pytest.mark.parametrize("kind", ["svm", "jsonl", "vw"])
def test_every_format_gives_the_same_classes_and_results(quorate, kind):
    if kind in ("svm", "vw"):  # their labels are numbers
        rows = [samples.Row(r.id, "same", str(NAMES.index(r.label)), {k.replace("f", "f1"): v for k, v in r.x.items()})
                for r in TRAIN]
    else:
        rows = TRAIN
    (quorate.folder / "a.csv").write_text(text(rows))
    (quorate.folder / f"a.{kind}").write_text(samples.WRITERS[kind](rows))
    results = [quorate.ok("simulate", "--data", name, "--classes", "one-vs-one", "--learner", "shampo", "--json").json()
               for name in ("a.csv", f"a.{kind}")]
    assert results[0]["classes"] == results[1]["classes"] and len(results[0]["classes"]) == 4
    assert results[0]["runs"][0]["progressive_confusion"] == results[1]["runs"][0]["progressive_confusion"]


def test_tasks_that_the_data_name_are_not_looked_at_with_no_users(run, quorate):
    rows = [samples.Row(r.id, f"t{i % 7}", r.label, r.x) for i, r in enumerate(TRAIN)]
    (quorate.folder / "tasks.csv").write_text(samples.csv(rows))
    options = ["--learner", "shampo", "--classes", "one-vs-one", "--json", "--no-users"]
    named = quorate.ok("simulate", "--data", "tasks.csv", *options).json()
    assert named["tasks"] == 6 and without_seconds(named) == without_seconds(run(*options))


@pytest.mark.parametrize("missing", ["", "?"])
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_instances_without_a_label_are_not_judged_teach_nothing_and_cost_nothing(quorate, reduction, missing):
    rows = trees(60, 4)
    for r in rows[::4]:
        r.label = missing
    (quorate.folder / "a.csv").write_text(text(rows))
    command = ["simulate", "--data", "a.csv", "--test", "a.csv", "--classes", reduction, "--learner", "shampo(b=0.1)", "--json",
               "--trace", "trace"]
    document = quorate.ok(*command).json()
    one, rounds = document["runs"][0], rounds_of(trace_of(quorate))
    assert (document["examples"], document["classes"], len(rounds), one["labels"]) == (60, NAMES, 60, 45)
    for r in rounds:
        known = rows[r[0]["example"]].label in NAMES
        asked = [t for t in r if t["asked"]]
        assert len(asked) == 1 and (asked[0]["label"] is not None) == known and (known or not asked[0]["updated"])
    assert sum(map(sum, one["confusion"])) == sum(map(sum, one["progressive_confusion"])) == 45
    scheme = REDUCTIONS[reduction](4)
    judged = [r for r in rounds if rows[r[0]["example"]].label in NAMES]
    wrong = sum(NAMES[scheme.predict([t["margin"] for t in r])] != rows[r[0]["example"]].label for r in judged)
    assert one["mistakes"] == wrong and one["progressive_error"] == pytest.approx(wrong / 45, rel=1e-12)
    limited = quorate.ok(*command, "--labels", 20).json()["runs"][0]
    assert limited["labels"] == 20  # what nobody knows is not bought


def test_a_class_that_only_the_test_set_has_is_judged_too(quorate):
    (quorate.folder / "a.csv").write_text(text([r for r in TRAIN if r.label != "elm"]))
    (quorate.folder / "b.csv").write_text(text(TEST))
    one = quorate.ok("simulate", "--data", "a.csv", "--test", "b.csv", "--classes", "one-vs-rest", "--learner", "shampo",
                     "--json").json()
    found = one["runs"][0]
    assert one["classes"] == NAMES and sum(map(sum, found["confusion"])) == 60
    assert sum(found["confusion"][2]) == sum(r.label == "elm" for r in TEST) and found["progressive_confusion"][2] == [0] * 4


def test_a_class_that_the_test_set_lacks_has_no_recall(run, quorate):
    (quorate.folder / "less.csv").write_text(text([r for r in TEST if r.label != "elm"]))
    one = run("--test", "less.csv", "--classes", "one-vs-rest", "--learner", "shampo")["runs"][0]
    assert one["recall"]["elm"] is None and all(one["recall"][name] is not None for name in ("ash", "beech", "oak"))


# ---- what is refused

@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_fewer_than_two_classes_are_refused(quorate, reduction):
    for rows in (["ash"] * 5, ["ash", "", "?"]):
        (quorate.folder / "a.csv").write_text("label,f\n" + "".join(f"{label},{i}\n" for i, label in enumerate(rows)))
        bad(quorate("simulate", "--data", "a.csv", "--classes", reduction, "--learner", "shampo"), 1, "1", "two", "label")
    (quorate.folder / "a.csv").write_text("label,f\n,1\n?,2\n")
    bad(quorate("simulate", "--data", "a.csv", "--classes", reduction, "--learner", "shampo"), 1, "label")


def test_more_than_a_thousand_classes_are_refused_where_the_first_too_many_stands(quorate):
    lines = ["label,f\n", *(f"c{i},{i}\n" for i in range(1001)), "c3,5\n"]
    (quorate.folder / "many.csv").write_text("".join(lines))
    command = ["simulate", "--data", "many.csv", "--classes", "one-vs-rest", "--learner", "shampo", "--json"]
    bad(quorate(*command), 1, "many.csv:1002:", "'c1000'", "1000", "class")
    (quorate.folder / "many.csv").write_text("".join(lines[:1001] + lines[-1:]))
    document = quorate.ok(*command).json()
    assert (len(document["classes"]), document["tasks"], document["runs"][0]["labels"]) == (1000, 1000, 1001)


def test_options_that_contradict_each_other_are_bad_usage(run, quorate):
    (quorate.folder / "tasks.csv").write_text(samples.csv(samples.rows(20)))
    classes = ["simulate", "--data", "train.csv", "--learner", "shampo", "--classes", "one-vs-rest"]
    run("--classes", "one-vs-rest", "--learner", "shampo")  # the data are there and good
    bad(quorate(*classes, "--positive", "oak"), 2, "--classes", "--positive")
    bad(quorate(*classes, "--rounds", "each"), 2, "rounds", "all-tasks")
    bad(quorate(*classes, "--rounds", "per-task"), 2, "rounds", "all-tasks")
    assert quorate(*classes, "--rounds", "all-tasks").code == 0
    tasks = ["simulate", "--data", "tasks.csv"]
    bad(quorate(*tasks, "--learner", "shampo", "--rounds", "all-tasks"), 2, "all-tasks", "classes")
    assert quorate(*tasks, "--learner", "shampo", "--rounds", "per-task").code == 0
    bad(quorate(*tasks, "--learner", "shampo", "--labels-per-round", 0), 2, "--labels-per-round", "'0'")
    for learner in ("perceptron", "cmtl(query=margin(b=1))", "amtl(query=similarity)", "peer", "amlc"):
        for options in ([], ["--rounds", "per-task"]):
            bad(quorate(*tasks, "--learner", learner, "--labels-per-round", 2, *options), 2, "--labels-per-round 2", "select")
    for learner in ("shampo(choose=all)", "cmtl(query=shared(choose=all))"):  # all of them is no number
        bad(quorate(*tasks, "--learner", learner, "--labels-per-round", 2), 2, "--labels-per-round 2")


@pytest.mark.parametrize("command", ["simulate", "compare", "tune"])
@pytest.mark.parametrize("option", ["--classes", "--rounds"])
def test_an_unknown_word_is_bad_usage_and_the_known_ones_are_named(run, quorate, command, option):
    more = ["--grid", "b=1"] if command == "tune" else []
    run("--classes", "one-vs-rest", "--learner", "shampo")
    known = {"--classes": ["one-vs-rest", "one-vs-one"], "--rounds": ["each", "per-task", "all-tasks"]}[option]
    bad(quorate(command, "--data", "train.csv", "--learner", "shampo", *more, option, "some"), 2, option, "some", *known)


# ---- rounds and budgets

ROUNDS = {"classes": ["--data", "train.csv", "--classes", "one-vs-one"], "tasks": ["--data", "tasks.csv"]}


@pytest.mark.parametrize("stream", ROUNDS)
@pytest.mark.parametrize("learner", ["shampo(b=0.1)", "shampo-second-order(b=0.1, aggressive=true)", "shampo(choose=smallest)",
                                     "shampo(choose=uniform)", "perceptron(query=shared(b=0.1))"])
def test_a_budget_is_never_exceeded_and_is_spent_to_the_last_label(run, quorate, stream, learner):
    (quorate.folder / "tasks.csv").write_text(samples.csv(samples.rows(80, 4, seed=6)))
    (quorate.folder / "train.csv").write_text(text(TRAIN))
    one = quorate.ok("simulate", *ROUNDS[stream], "--learner", learner, "--labels", 7, "--labels-per-round", 3, "--passes", 2,
                     "--json", "--trace", "trace").json()["runs"][0]
    lines = trace_of(quorate)
    counts = [sum(t["asked"] for t in r) for r in rounds_of(lines)]
    assert counts[:3] == [3, 3, 1] and not any(counts[3:]) and len(counts) >= 40
    assert one["labels"] == sum(counts) == 7
    assert all(t["margin"] == 0 for t in lines[:4]) and any(t["margin"] != 0 for t in lines[-50:])  # it goes on predicting


def test_watching_all_keeps_to_the_budget_too(run, quorate):
    """The last round that can be paid in part is."""
    one = run("--classes", "one-vs-one", "--learner", "shampo(choose=all)", "--labels", 8, "--trace", "trace")["runs"][0]
    counts = [sum(t["asked"] for t in r) for r in rounds_of(trace_of(quorate))]
    assert one["labels"] == sum(counts) == 8 and counts[:2] == [6, 2]
    assert run("--classes", "one-vs-one", "--learner", "shampo(choose=all)")["runs"][0]["labels"] == 6 * 80


def test_every_budget_up_to_the_need_is_kept_exactly(run):
    for budget in (0, 1, 2, 79, 80, 81):
        one = run("--classes", "one-vs-rest", "--learner", "shampo(b=0.1)", "--labels", budget)["runs"][0]
        assert one["labels"] == min(budget, 80)


@pytest.mark.parametrize("stream", ROUNDS)
@pytest.mark.parametrize("learner", ["shampo(b=0.1, prior=counts)", "shampo-second-order(b=0.1)", "shampo(zero=random)"])
def test_the_result_does_not_depend_on_the_number_of_threads(quorate, stream, learner):
    (quorate.folder / "tasks.csv").write_text(samples.csv(samples.rows(80, 4, seed=6)))
    (quorate.folder / "train.csv").write_text(text(TRAIN))
    results = []
    for threads in (1, 2):
        document = quorate.ok("simulate", *ROUNDS[stream], "--learner", learner, "--runs", 5, "--labels", 60, "--json",
                              "--per-task", "--threads", threads, "--trace", "trace").json()
        results.append((without_seconds(document), trace_of(quorate)))
    assert results[0] == results[1] and len({json.dumps(one["per_task"]) for one in results[0][0]["runs"]}) > 1


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_the_measures_of_a_task_are_those_of_its_question(run, quorate, reduction):
    one = run("--classes", reduction, "--learner", "shampo(b=0.1)", "--trace", "trace", "--per-task")["runs"][0]
    rounds = rounds_of(trace_of(quorate))
    scheme = REDUCTIONS[reduction](4)
    tasks = [t["task"] for t in rounds[0]]
    assert list(one["per_task"]) == tasks
    for k, task in enumerate(tasks):
        mine = [r[k] for r in rounds]
        truths = [scheme.feedback(k, NAMES.index(TRAIN[t["example"]].label)) for t in mine]
        found = one["per_task"][task]
        assert found["labels"] == sum(t["asked"] for t in mine) and found["updates"] == sum(t["updated"] for t in mine)
        # An instance of neither class is no mistake of the pair, whatever it says.
        assert found["mistakes"] == sum(y != 0 and common.predict(t["margin"]) != y for t, y in zip(mine, truths))
    assert sum(found["labels"] for found in one["per_task"].values()) == one["labels"] == 80


def test_the_table_shows_classes_recalls_and_the_confusion_matrix(run, quorate):
    options = ["--classes", "one-vs-one", "--learner", "shampo(b=0.1)", "--test", "test.csv"]
    one = run(*options)["runs"][0]
    lines = [line.split() for line in quorate.ok("simulate", "--data", "train.csv", *options).out.splitlines()]
    assert ["error", f"{one['error']:.4f}", "-"] in lines and ["progressive_error", f"{one['progressive_error']:.4f}", "-"] in lines
    for name, row in zip(NAMES, one["confusion"]):
        assert [name, f"{100 * one['recall'][name]:.1f}", "%", *map(str, row)] in lines


def test_train_per_task_takes_that_many_of_each_class_and_tests_on_the_others(run, quorate):
    document = run("--classes", "one-vs-one", "--learner", "shampo", "--train-per-task", 6, "--runs", 3, "--trace", "trace")
    splits = []
    for r, one in enumerate(document["runs"]):
        taken = {t["example"] for t in trace_of(quorate) if t["run"] == r}
        assert [sum(TRAIN[i].label == name for i in taken) for name in NAMES] == [6] * 4
        assert [sum(row) for row in one["progressive_confusion"]] == [6] * 4
        assert [sum(row) for row in one["confusion"]] == [sum(r.label == name for r in TRAIN) - 6 for name in NAMES]
        splits.append(frozenset(taken))
    assert len(set(splits)) == 3


# ---- compare and tune

@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_compare_gives_the_numbers_of_simulate(run, quorate, reduction):
    learners = ["shampo(b=0.1)", "shampo-second-order(b=0.1)", "perceptron"]
    options = ["--classes", reduction, "--test", "test.csv", "--runs", 3, "--json"]
    single = [run("--learner", learner, *options) for learner in learners]
    document = quorate.ok("compare", "--data", "train.csv", *options, *[w for x in learners for w in ("--learner", x)]).json()
    assert len(document["learners"]) == 3
    for found, alone in zip(document["learners"], single):
        for part in ("mean", "std"):
            assert without_seconds(found[part]) == without_seconds(alone[part])
        assert found["mean"]["error"] > 0 and found["std"]["error"] > 0


def test_compare_takes_rounds_and_labels_per_round(quorate):
    (quorate.folder / "tasks.csv").write_text(samples.csv(samples.rows(80, 4, seed=6)))
    common_options = ["--data", "tasks.csv", "--learner", "shampo(b=0.1)", "--json"]
    expected = {}
    for options in (["--rounds", "each"], ["--rounds", "per-task"], ["--rounds", "per-task", "--labels-per-round", 2]):
        alone = quorate.ok("simulate", *common_options, *options).json()["mean"]
        compared = quorate.ok("compare", *common_options, *options).json()["learners"][0]["mean"]
        assert without_seconds(compared) == without_seconds(alone)
        expected[str(options)] = alone["labels"]
    assert len(set(expected.values())) == 3 and max(expected.values()) == 80


def test_tune_takes_classes_and_rounds(run, quorate):
    run("--classes", "one-vs-one", "--learner", "shampo")
    (quorate.folder / "tasks.csv").write_text(samples.csv(samples.rows(80, 4, seed=6)))

    def labels(*options):
        document = quorate.ok("tune", "--learner", "shampo", "--grid", "b=0.1,10", "--folds", 4, "--json", *options).json()
        assert len(document["settings"]) == 2
        # b is looked at, but by an example on its own, which is always asked for.
        assert len({(s["mean"], s["std"]) for s in document["settings"]}) == (1 if "each" in options else 2)
        return [s["labels"] for s in document["settings"]]

    classes = ["--data", "train.csv", "--classes", "one-vs-one"]
    assert labels(*classes) == [60, 60]  # a label for each instance of three folds
    assert labels(*classes, "--labels-per-round", 2) == [120, 120]
    assert labels(*classes, "--labels", 30) == [30, 30]
    tasks = ["--data", "tasks.csv"]
    assert labels(*tasks, "--rounds", "each") == [60, 60]
    assert labels(*tasks)[0] == labels(*tasks, "--rounds", "per-task")[0] < 60


# ---- models: train, predict, inspect

@pytest.fixture
def folder(quorate):
    for name, rows in {"all": TRAIN, "first": TRAIN[:40], "second": TRAIN[40:], "new": TEST}.items():
        (quorate.folder / f"{name}.csv").write_text(text(rows))
    return quorate.folder


def train(quorate, data, model, *options, **kwargs):
    return quorate.ok("train", "--data", data, "--model", model, *options, **kwargs)


def predict(quorate, data, model, *options):
    return quorate.ok("predict", "--data", data, "--model", model, *options).lines()


def inspect(quorate, model):
    return quorate.ok("inspect", model, "--json").json()


@pytest.mark.parametrize("learner", ["perceptron", "shampo(choose=all)", "shampo-second-order(choose=all, diagonal=true)"])
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_a_prediction_has_id_class_and_margin_and_no_task(quorate, folder, reduction, learner):
    train(quorate, "all.csv", "m", "--classes", reduction, "--learner", learner)
    scheme = REDUCTIONS[reduction](4)
    model = SecondOrder(scheme.K, D + 1, diagonal=True) if "second" in learner else Perceptron(scheme.K, D + 1)
    for r in TRAIN:
        for k in range(scheme.K):
            answer = scheme.feedback(k, NAMES.index(r.label))
            if answer != 0:
                model.learn(k, x_of(r), answer)
    lines = predict(quorate, "new.csv", "m")
    assert [line["id"] for line in lines] == [r.id for r in TEST]
    for line, r in zip(lines, TEST):
        assert set(line) == {"id", "label", "margin"} and isinstance(line["margin"], float)
        margins = [model.margin(k, x_of(r)) for k in range(scheme.K)]
        assert line["label"] == NAMES[scheme.predict(margins)], r.id
        if reduction == "one-vs-rest":
            assert line["margin"] == pytest.approx(max(margins), rel=1e-5, abs=1e-6)
    assert sum(line["label"] == r.label for line, r in zip(lines, TEST)) > 0.5 * len(TEST)
    assert {line["label"] for line in lines} == set(NAMES)
    rows = quorate.ok("predict", "--data", "new.csv", "--model", "m", "--to", "csv").out.splitlines()
    assert sorted(rows[0].split(",")) == ["id", "label", "margin"]
    assert [dict(zip(rows[0].split(","), row.split(",")))["label"] for row in rows[1:]] == [line["label"] for line in lines]


def test_predictions_need_no_label_and_do_not_look_at_it(quorate, folder):
    train(quorate, "all.csv", "m", "--classes", "one-vs-one", "--learner", "shampo")
    before = (folder / "m").read_bytes()
    lines = predict(quorate, "new.csv", "m")
    (folder / "strange.csv").write_text(text([samples.Row(r.id, "", "maple", r.x) for r in TEST]))
    (folder / "bare.csv").write_text(samples.csv(TEST, ["id", *TEST[0].x]))
    assert predict(quorate, "strange.csv", "m") == predict(quorate, "bare.csv", "m") == lines
    assert (folder / "m").read_bytes() == before


@pytest.mark.parametrize("learner", ["perceptron", "shampo(b=0.1, prior=counts)", "shampo-second-order(b=0.1, zero=random)",
                                     "shampo-second-order(diagonal=true)", "cmtl(query=shared(b=0.5))"])
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_going_on_with_a_model_needs_no_classes_and_equals_never_stopping(quorate, folder, reduction, learner):
    train(quorate, "all.csv", "whole", "--classes", reduction, "--learner", learner)
    train(quorate, "first.csv", "parts", "--classes", reduction, "--learner", learner)
    half = inspect(quorate, "parts")["labels"]["bought"]
    train(quorate, "second.csv", "parts")
    assert 0 < half < inspect(quorate, "parts")["labels"]["bought"]
    assert (folder / "parts").read_bytes() == (folder / "whole").read_bytes()
    assert predict(quorate, "new.csv", "parts") == predict(quorate, "new.csv", "whole")


def test_standard_input_is_refused_for_a_new_model_and_read_for_one_that_exists(quorate, folder):
    whole = (folder / "second.csv").read_bytes()
    options = ["--format", "csv", "--model", "m"]
    new = ["--classes", "one-vs-one", "--learner", "shampo"]
    bad(quorate("train", "--data", "-", *options, *new, stdin=whole), 2, "--classes", "twice", "expected a file")
    assert not (folder / "m").exists()
    train(quorate, "first.csv", "m", *new)
    train(quorate, "first.csv", "n", *new)
    quorate.ok("train", "--data", "-", *options, stdin=whole)
    train(quorate, "second.csv", "n")
    assert (folder / "m").read_bytes() == (folder / "n").read_bytes()


def test_a_label_that_is_none_of_the_classes_is_named_with_them_and_changes_nothing(quorate, folder):
    train(quorate, "all.csv", "m", "--classes", "one-vs-one", "--learner", "shampo")
    before = (folder / "m").read_bytes()
    rows = text(TEST[:5]).splitlines() + text([samples.Row("e", "", "maple", TEST[0].x)]).splitlines()[1:]
    (folder / "bad.csv").write_text("\n".join(rows) + "\n")
    bad(quorate("train", "--data", "bad.csv", "--model", "m"), 1, "bad.csv:7:", "'maple'", "expected", *NAMES)
    assert (folder / "m").read_bytes() == before
    result = quorate("train", "--data", "bad.csv", "--model", "m", "--on-error", "skip", "--json")
    assert result.code == 0 and result.json()["skipped_lines"] == 1 and result.json()["examples"] == 5


def test_a_model_of_classes_is_made_of_at_least_two_and_not_with_positive(quorate, folder):
    (folder / "one.csv").write_text(text([r for r in TRAIN if r.label == "oak"]))
    new = ["--model", "m", "--learner", "shampo", "--classes", "one-vs-rest"]
    bad(quorate("train", "--data", "one.csv", *new), 1, "two", "label")
    bad(quorate("train", "--data", "all.csv", *new, "--positive", "oak"), 2, "--classes", "--positive")
    bad(quorate("train", "--data", "all.csv", *new, "--rounds", "each"), 2, "rounds", "all-tasks")
    assert not (folder / "m").exists()
    train(quorate, "all.csv", *new[1:2], *new[2:])
    bad(quorate("train", "--data", "all.csv", "--model", "m", "--classes", "one-vs-one"), 2, "--classes")
    bad(quorate("train", "--data", "all.csv", "--model", "m", "--positive", "oak"), 2, "--positive")


def test_a_model_keeps_its_budget_over_rounds(quorate, folder):
    train(quorate, "first.csv", "m", "--classes", "one-vs-one", "--learner", "shampo", "--labels", 47, "--labels-per-round", 3)
    assert inspect(quorate, "m")["labels"]["bought"] == 47
    train(quorate, "second.csv", "m")
    assert inspect(quorate, "m")["labels"]["bought"] == 47
    train(quorate, "second.csv", "m", "--labels", 48)
    assert inspect(quorate, "m")["labels"]["bought"] == 48


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_inspect_tells_classes_reduction_and_the_question_of_every_task(quorate, folder, reduction):
    train(quorate, "all.csv", "m", "--classes", reduction, "--learner", "shampo(b=0.1)")
    document = inspect(quorate, "m")
    assert (document["classes"], document["reduction"]) == (NAMES, reduction)
    if reduction == "one-vs-rest":
        tasks, questions = NAMES, [f"class = {name}?" for name in NAMES]
    else:
        tasks = [f"{a} or {b}" for a, b in itertools.combinations(NAMES, 2)]
        questions = [task + "?" for task in tasks]
    assert [t["task"] for t in document["tasks"]] == tasks
    assert [t["question"] for t in document["tasks"]] == questions
    assert sum(t["labels"] for t in document["tasks"]) == document["labels"]["bought"] == 80
    shown = quorate.ok("inspect", "m").out
    assert all(question in shown for question in questions) and reduction in shown
    train(quorate, "all.csv", "plain", "--learner", "shampo", "--positive", "oak")
    plain = inspect(quorate, "plain")
    assert (plain["classes"], plain["reduction"]) == (["not-oak", "oak"], None)
    assert all(t.get("question") is None for t in plain["tasks"])


def test_costs_are_refused_where_they_would_have_no_effect(quorate):
    (quorate.folder / "three.csv").write_text("label,x\n" + "".join(f"{c},{n}\n" for n, c in enumerate("abcabc")))
    run = quorate("train", "--data", "three.csv", "--model", "m", "--classes", "one-vs-rest", "--learner", "cohort(cost=balanced)")
    assert run.code == 2 and "no effect" in run.err and "one-vs-one" in run.err and not (quorate.folder / "m").exists()
    quorate.ok("train", "--data", "three.csv", "--model", "m", "--classes", "one-vs-one", "--learner", "cohort(cost=balanced)")
